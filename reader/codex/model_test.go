package codex

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/reader"
)

// thread simulation: an agent that keeps its context as a plain list of items,
// and writes its log as it goes. After any number of turns, compactions,
// rollbacks, reverts and forks, the surface that is read from the log must be
// the list that the agent holds. The simulation shares no code with the reader.

// context entry: the item as JSON, and how the surface shows it.
type held struct {
	item, shown string
	typed       bool
}

// turn reports whether a rollback counts an entry.
func (h held) turn() bool { return h.typed || strings.HasPrefix(h.shown, "summary: ") }

// step is what a client finds in its own log when it makes its context anew.
type step struct {
	begins bool // a turn
	item   held
	list   []held // of a compaction; nil: none
	back   int    // turns taken back
}

// agent is one thread of a simulated client.
type agent struct {
	*world
	id, seg   string
	paginated bool
	old       bool // its compactions state no list
	ordinal   int
	context   []held
	at        map[int][]held // paginated: the context before each ordinal
	log       []string
	steps     []step
}

// world is a home folder with its threads.
type world struct {
	*rand.Rand
	files map[string]string
	ids   int
	words int
	clock int
}

// uuid makes ids that grow, as version 7 does.
func (w *world) uuid() string {
	w.ids++
	return fmt.Sprintf("01a22bac-%04x-7000-8000-%012x", w.ids, w.ids)
}

func (w *world) word() string {
	w.words++
	return fmt.Sprint("w", w.words)
}

func (w *world) start(paginated bool) *agent {
	id := w.uuid()
	a := &agent{world: w, id: id, seg: id, paginated: paginated, at: map[int][]held{}}
	a.old = !paginated && w.IntN(3) == 0
	a.write(entry(w.clock, "session_meta", a.meta("")))
	return a
}

func (a *agent) meta(more string) string {
	mode := "legacy"
	if a.paginated {
		mode = "paginated"
	}
	return fmt.Sprintf(`{"id":"%s","timestamp":"%s","cwd":"/w","history_mode":"%s"%s}`, a.id, at(0), mode, more)
}

// write appends a record to the thread's present file.
func (a *agent) write(record string) {
	if a.paginated {
		a.at[a.ordinal] = slices.Clone(a.context)
		record = numbered(a.ordinal, record)[0]
		a.ordinal++
	}
	a.log = append(a.log, record)
	ids := []string{a.id}
	if a.seg != a.id {
		ids = append(ids, a.seg)
	}
	a.files[rollout(ids...)] = lines(a.log...)
}

func (a *agent) send(h held) {
	a.clock++
	a.write(itemLine(a.clock%3600, h.item))
	a.context = append(a.context, h)
	a.steps = append(a.steps, step{item: h})
}

func (a *agent) begin() {
	a.write(eventLine(a.clock%3600, fmt.Sprintf(`{"type":"task_started","turn_id":"%s"}`, a.word())))
	a.steps = append(a.steps, step{begins: true})
}

// prompt is a typed message, at times with words that were used before.
func (a *agent) prompt() held {
	text := a.word()
	if a.IntN(4) == 0 {
		text = "go on"
	}
	id := ""
	if a.IntN(2) == 0 {
		id = "msg_" + a.word()
	}
	return held{userItem(id, text), "human: " + text, true}
}

func (a *agent) turn() {
	a.begin()
	if a.IntN(3) == 0 {
		a.send(held{userItem("", "<environment_context>"+a.word()), "injected", false})
	}
	a.send(a.prompt())
	for range a.IntN(4) {
		call := "call_" + a.word()
		a.write(itemLine(a.clock%3600, callItem(call, "ls", "{}")))
		out := a.word()
		a.send(held{outputItem(call, out), "tool: " + out, false})
	}
	if a.IntN(6) == 0 {
		a.send(a.prompt()) // while it works
	}
	text := a.word()
	a.send(held{assistantItem("msg_"+text, text), "assistant: " + text, false})
	a.write(eventLine(a.clock%3600, `{"type":"task_complete"}`))
}

// compact states a new context: some of the typed messages, in any order, new
// context and a summary that can be read or not.
func (a *agent) compact() {
	if a.IntN(2) == 0 {
		a.begin() // else within the turn
	}
	var next []held
	for _, h := range a.context {
		if h.typed && a.IntN(4) > 0 {
			next = append(next, h)
		}
	}
	if a.IntN(2) == 0 {
		a.Shuffle(len(next), func(i, j int) { next[i], next[j] = next[j], next[i] })
	}
	if a.IntN(2) == 0 {
		next = slices.Insert(next, a.IntN(len(next)+1), held{userItem("", "<environment_context>"+a.word()), "injected", false})
	}
	message := ""
	if a.IntN(3) > 0 {
		message = "summary " + a.word()
		next = append(next, held{userItem("msg_"+a.word(), message), "summary: " + message, false})
	} else {
		next = append(next, held{opaque, "summary", false})
	}
	items := make([]string, len(next))
	for i, h := range next {
		items[i] = h.item
	}
	a.write(compacted(a.clock%3600, message, items...))
	a.context = next
	a.steps = append(a.steps, step{list: slices.Clone(next)})
}

// compactOld is a compaction that does not state the new context.
func (a *agent) compactOld() {
	var next []held
	typed := false
	for _, h := range a.context {
		typed = typed || h.typed
		if h.typed || !typed && h.shown == "injected" {
			next = append(next, h)
		}
	}
	text := "summary " + a.word()
	a.write(entry(a.clock%3600, "compacted", fmt.Sprintf(`{"message":%q}`, text)))
	a.context = append(next, held{"", "summary: " + text, false})
}

// rollback makes the context anew from the log, as the client does: from the end
// it looks for a compaction whose turn stands, then goes forward from there.
func (a *agent) rollback() {
	n := 1 + a.IntN(4)
	a.write(eventLine(a.clock%3600, fmt.Sprintf(`{"type":"thread_rolled_back","num_turns":%d}`, n)))
	a.steps = append(a.steps, step{back: n})
	if a.old {
		a.context = drop(a.context, n) // as the tests of compactions without a list have it
		return
	}
	var base, seen []held
	from, pending, counts := 0, 0, false
	for i := len(a.steps) - 1; i >= 0 && base == nil; i-- {
		s := a.steps[i]
		switch {
		case s.back > 0:
			pending += s.back
		case s.list != nil:
			if seen == nil {
				seen = s.list
			}
			from = i + 1
		case !s.begins:
			counts = counts || s.item.turn()
		case pending > 0:
			if counts {
				pending--
			}
			seen, counts = nil, false
		default:
			base, seen, counts = seen, nil, false
		}
	}
	a.context = slices.Clone(base)
	for _, s := range a.steps[from:] {
		switch {
		case s.back > 0:
			a.context = drop(a.context, s.back)
		case s.list != nil:
			a.context = slices.Clone(s.list)
		case !s.begins:
			a.context = append(a.context, s.item)
		}
	}
}

// drop drops turns from the end, each with the client's own words before it, but
// nothing that stands before the first.
func drop(context []held, n int) []held {
	for first := slices.IndexFunc(context, held.turn); first >= 0 && n > 0; n-- {
		i := len(context) - 1
		for i > first && !context[i].turn() {
			i--
		}
		if i < first {
			break
		}
		context = context[:i]
		for n == 1 && i > first && context[i-1].shown == "injected" {
			i--
			context = context[:i]
		}
	}
	return slices.Clone(context)
}

// revert goes back to an earlier ordinal of the present file, in a new one.
func (a *agent) revert() {
	first := a.ordinal - len(a.log)
	to := first + 1 + a.IntN(len(a.log))
	if a.IntN(8) == 0 {
		a.seg, a.ordinal, a.context, a.log = a.uuid(), 0, nil, nil
		a.at = map[int][]held{}
		a.write(entry(a.clock%3600, "session_meta", a.meta("")))
		return
	}
	before := a.before(to)
	from := a.seg
	a.seg, a.ordinal, a.context, a.log = a.uuid(), to, before, nil
	a.write(entry(a.clock%3600, "session_meta", a.meta(baseOf(from, to))))
}

func (a *agent) before(ordinal int) []held {
	if ordinal == a.ordinal {
		return slices.Clone(a.context)
	}
	return slices.Clone(a.at[ordinal])
}

// fork is a new thread that goes on from an earlier ordinal.
func (a *agent) fork() *agent {
	first := a.ordinal - len(a.log)
	to := first + 1 + a.IntN(len(a.log))
	f := &agent{world: a.world, id: a.uuid(), paginated: true, ordinal: to, context: a.before(to), at: map[int][]held{}}
	f.seg = f.id
	f.write(entry(a.clock%3600, "session_meta", f.meta(`,"forked_from_id":"`+a.id+`"`+baseOf(a.seg, to))))
	return f
}

func (a *agent) path() string {
	if a.seg == a.id {
		return rollout(a.id)
	}
	return rollout(a.id, a.seg)
}

// live goes on for a while.
func (a *agent) live(steps int) {
	for range steps {
		switch n := a.IntN(10); {
		case n < 6:
			a.turn()
		case n == 6 && a.old:
			a.compactOld()
		case n == 6:
			a.compact()
		case n >= 7 && !a.paginated:
			a.rollback()
		case n >= 8 && a.paginated:
			a.revert()
		}
	}
	a.turn()
}

func (a *agent) shown() []string {
	var out []string
	for _, h := range a.context {
		out = append(out, h.shown)
	}
	return out
}

func TestAgainstSimulatedAgents(t *testing.T) {
	for seed := range uint64(60) {
		w := &world{Rand: rand.New(rand.NewPCG(seed, 11)), files: map[string]string{}}
		a := w.start(seed%2 == 0)
		a.live(3 + w.IntN(8))
		agents := []*agent{a}
		if a.paginated {
			f := a.fork()
			f.live(w.IntN(5))
			agents = append(agents, f)
			a.live(1) // which is no business of the fork's
		}
		root := home(t, w.files)
		for _, a := range agents {
			src := source(t, root, a.path())
			events, _ := readAll(t, src)
			if diff := cmp.Diff(a.shown(), surface(t, events)); diff != "" {
				t.Fatalf("seed %d, thread %s (-agent +surface):\n%s\nlog:\n%s", seed, a.id, diff, strings.Join(outline(events), "\n"))
			}
			if seed < 12 {
				everyWay(t, src)
			}
			checkSegments(t, root, src, a.id)
		}
	}
}

// checkSegments checks that every file of a thread states one header and gives
// the same events.
func checkSegments(t *testing.T, root string, src reader.Source, id string) {
	t.Helper()
	want, _ := readAll(t, src)
	for _, path := range logs(root+"/"+day, "-"+id) {
		other := src
		other.Path = path
		h, err := New().Identify(t.Context(), root, path)
		if err == reader.ErrPending {
			continue // nothing was said behind its header
		}
		if err != nil || h != src.Header {
			t.Errorf("%s: %v, header %+v, want %+v", path, err, h, src.Header)
		}
		if got, _ := readAll(t, other); cmp.Diff(want, got) != "" {
			t.Errorf("%s gives other events than %s", path, src.Path)
		}
	}
}
