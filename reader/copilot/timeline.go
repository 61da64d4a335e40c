package copilot

import (
	"strings"

	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/reader/linelog"
)

// shown is an entry of a document's timeline.
type shown struct {
	kind   string
	text   []byte
	time   int64 // epoch milliseconds; 0: not known
	number int64 // of its block
}

// timeline tells when a message of a document was, for messages bear no times. Both
// are in the order in which they came, but not every message is shown.
type timeline struct {
	list   []shown
	calls  map[uint64]int // where each call is shown
	failed map[uint64]bool
	next   int   // behind what was reached
	told   int   // behind what was told of failures
	time   int64 // of what was reached
}

func timelineOf(x *jsonl.Index, list []byte) timeline {
	t := timeline{calls: map[uint64]int{}, failed: map[uint64]bool{}}
	c := x.Enter(list)
	number := int64(shownBlock - 1)
	for v, ok := c.Element(); ok; v, ok = c.Element() {
		number++
		if !jsonl.IsObject(v) {
			continue
		}
		s := shown{number: number}
		var id, result []byte
		in := x.Enter(v)
		for name, m, ok := in.Member(); ok; name, m, ok = in.Member() {
			switch string(name) {
			case "type":
				s.kind = x.Name(m)
			case "text":
				s.text = m
			case "timestamp":
				if at, ok := jsonl.Instant(m); ok {
					s.time = max(0, at.UnixMilli())
				}
			case "callId":
				id = m
			case "result":
				result = m
			}
		}
		if key := linelog.Key(id); key != 0 {
			t.calls[key] = len(t.list)
			if jsonl.IsObject(result) && !jsonl.Is(x.Field(result, "type"), "success") {
				t.failed[key] = true
			}
		}
		t.list = append(t.list, s)
	}
	return t
}

// lookAhead is how far the entry of a message is looked for.
const lookAhead = 64

// reach goes on to the entry of a message; failures that were shown before it are
// told. A message that was not shown stays at the time of the one before.
func (t *timeline) reach(x *jsonl.Index, m *chatMessage, tell func(*shown)) {
	at := -1
	switch x.Name(m.role) {
	case "tool":
		if i, ok := t.calls[linelog.Key(m.callID)]; ok {
			at = i
		}
	case "user":
		at = t.find(x, "user", contentText(x, m.content))
	case "assistant":
		if at = t.find(x, "copilot", contentText(x, m.content)); at < 0 {
			eachCall(x, m.calls, func(q *request) {
				if i, ok := t.calls[linelog.Key(q.id)]; ok && at < 0 {
					at = i
				}
			})
		}
	}
	if at < 0 {
		return
	}
	t.tell(at, tell)
	t.next = max(t.next, at+1)
	t.time = max(t.time, t.list[at].time)
}

// find looks for the entry with which a text begins.
func (t *timeline) find(x *jsonl.Index, kind, text string) int {
	if text == "" {
		return -1
	}
	for i := t.next; i < len(t.list) && i < t.next+lookAhead; i++ {
		if s := &t.list[i]; s.kind == kind && jsonl.Filled(s.text) && strings.HasPrefix(text, strings.TrimSpace(x.Text(s.text))) {
			return i
		}
	}
	return -1
}

func (t *timeline) tell(until int, tell func(*shown)) {
	for ; t.told < until; t.told++ {
		if t.list[t.told].kind == "error" {
			tell(&t.list[t.told])
		}
	}
}

// rest tells the failures behind the latest message.
func (t *timeline) rest(tell func(*shown)) { t.tell(len(t.list), tell) }
