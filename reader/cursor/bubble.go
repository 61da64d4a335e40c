package cursor

import (
	"fmt"
	"strings"

	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/session"
)

const unparsed = "x/unparsed"

// user is the type of a bubble that holds a prompt; the others are the model's.
const user = 1

// bubble is one entry of a composer.
type bubble struct {
	index   int
	id, key string
	native  []byte // of one that has no key of its own
	there   bool
	clipped bool
	size    int64

	bad     bool
	kind    int64
	at      int64 // epoch milliseconds; 0: it says nothing of that
	text    string
	thought bool
	call    *call
}

// call is a tool call with its result.
type call struct {
	id, name, args, result, status string
	returned                       bool
}

func parseBubble(data []byte) bubble {
	b := bubble{size: int64(len(data)), bad: data == nil}
	b.kind, _ = jsonl.Natural(jsonl.Field(data, "type"))
	b.text = jsonl.Text(jsonl.Field(data, "text"))
	thinking := jsonl.Field(data, "thinking")
	b.thought = jsonl.Filled(thinking) || jsonl.Filled(jsonl.Field(thinking, "text"))
	b.at = timeOf(data)
	tool := jsonl.Field(data, "toolFormerData")
	if !jsonl.IsObject(tool) || !jsonl.Filled(jsonl.Field(tool, "name")) {
		return b
	}
	c := &call{id: jsonl.Text(jsonl.Field(tool, "toolCallId")), name: jsonl.Text(jsonl.Field(tool, "name")), status: jsonl.Text(jsonl.Field(tool, "status"))}
	for _, name := range []string{"rawArgs", "params"} {
		if c.args = said(jsonl.Field(tool, name)); c.args != "" && c.args != "{}" {
			break
		}
	}
	result := jsonl.Field(tool, "result")
	c.result, c.returned = said(result), jsonl.Filled(result) || jsonl.IsObject(result) || jsonl.IsArray(result)
	if failed := said(jsonl.Field(tool, "error")); c.result == "" && failed != "" {
		c.result, c.returned = failed, true
	}
	b.call = c
	return b
}

// said is a text, or the JSON of anything else.
func said(v []byte) string {
	if jsonl.IsString(v) {
		return jsonl.Text(v)
	}
	if string(v) == "null" {
		return ""
	}
	return string(v)
}

// timeOf returns when a bubble was made: what it states, else what it notes of its
// request, where that is a time and no number of milliseconds since a start.
func timeOf(data []byte) int64 {
	if at, ok := moment(jsonl.Field(data, "createdAt")); ok {
		return at
	}
	const since = 1_000_000_000_000 // 2001
	timing := jsonl.Field(data, "timingInfo")
	for _, name := range []string{"clientRpcSendTime", "clientSettleTime", "clientEndTime"} {
		if at, ok := moment(jsonl.Field(timing, name)); ok && at > since {
			return at
		}
	}
	return 0
}

// terminal are the states in which nothing more comes of a call.
func terminal(status string) bool {
	switch status {
	case "completed", "error", "errored", "failed", "cancelled", "canceled", "aborted", "rejected", "done", "success", "skipped":
		return true
	}
	return false
}

// finished reports whether a bubble is as it will stay, as far as it tells.
func (b *bubble) finished() bool {
	if !b.there {
		return false
	}
	return b.call == nil || terminal(b.call.status) || b.call.status == "" && b.call.returned
}

// digest sums up what a bubble says: the editor also writes bubbles anew for
// reasons of its own.
func (b *bubble) digest(sum uint64) uint64 {
	sum = jsonl.Hash(sum, fmt.Appendf(nil, "%s %t %t %d %d %t %d", b.id, b.there, b.bad, b.kind, b.at, b.thought, len(b.text)))
	sum = jsonl.Hash(sum, []byte(b.text))
	if c := b.call; c != nil {
		sum = jsonl.Hash(sum, fmt.Appendf(nil, "%q %q %q %t %d %d", c.id, c.name, c.status, c.returned, len(c.args), len(c.result)))
		sum = jsonl.Hash(jsonl.Hash(sum, []byte(c.args)), []byte(c.result))
	}
	return sum
}

// take gives the events of a bubble.
func (w *walk) take(b *bubble) error {
	if b.at > 0 {
		w.time = b.at
	}
	k := int64(0)
	put := func(ev session.Event) error {
		ev.Time, ev.Place = w.time, session.Place{Part: inBubble, Offset: int64(b.index), Inner: k}
		ev.Body.Clipped = b.clipped
		if b.there && b.id != "" {
			ev.NativeID = fmt.Sprintf("%s/%d", b.id, k)
		}
		k++
		return w.give(&made{event: ev, key: b.key, native: b.native})
	}
	switch {
	case !b.there:
		return put(session.Event{Type: "cursor/missing", Reconstructed: true})
	case b.bad:
		return put(session.Event{Type: unparsed})
	case b.kind == user:
		ev := session.Event{Type: session.UserMessage, Op: appended, Body: session.Body{Speaker: session.Human, Blocks: typed([]session.Block{{Text: b.text}})}}
		if line := titleOf(ev.Body.Blocks[0].Text); line != "" && !w.named {
			ev.Body.Title, ev.Body.Makeshift, w.named = &line, true, true
		}
		w.asked = true
		return put(ev)
	case b.kind == 0:
		return put(session.Event{Type: "cursor/unknown"})
	}
	if strings.TrimSpace(b.text) == "" && b.call == nil {
		ev := session.Event{Type: "cursor/bubble"}
		if b.thought {
			ev.Type = "cursor/thinking"
		}
		return put(ev)
	}
	step := w.asked
	w.asked = false
	if strings.TrimSpace(b.text) != "" {
		ev := session.Event{Type: session.AssistantMessage, Op: appended, Step: step}
		ev.Body = session.Body{Speaker: session.Assistant, Blocks: []session.Block{{Text: b.text}}}
		if err := put(ev); err != nil {
			return err
		}
		step = false
	}
	if b.call == nil {
		return nil
	}
	return b.tool(step, put)
}

// tool gives a call, and its result where there is one.
func (b *bubble) tool(step bool, put func(session.Event) error) error {
	c := b.call
	id := c.id
	if id == "" {
		id = b.id
	}
	err := put(session.Event{Type: session.ToolCall, Step: step, Body: session.Body{
		Speaker: session.Action, CallID: id, Blocks: []session.Block{{Kind: session.CallBlock, Name: c.name, Text: c.args}},
	}})
	if err != nil || !c.returned && !terminal(c.status) {
		return err
	}
	ev := session.Event{Type: session.ToolResult, Op: appended, Body: session.Body{Speaker: session.Tool, CallID: id}}
	var content []session.Block
	if c.result != "" {
		content = []session.Block{{Text: c.result}}
	}
	ev.Body.Blocks = []session.Block{{Kind: session.ResultBlock, Content: content}}
	switch c.status {
	case "completed", "done", "success", "":
	default:
		ev.Body.ErrorName = c.status
	}
	return put(ev)
}
