package opencode

import (
	"strconv"
	"strings"

	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/session"
)

// Types of ours, beside those of the model.
const (
	prefix          = "opencode/"
	compactionStart = "compaction/start"
	compactionText  = "compaction/summary"
	compactionEnd   = "compaction/end"
	pruneEvent      = prefix + "prune"
	revertEvent     = prefix + "revert"
	unparsed        = "x/unparsed"
)

func texts(blocks ...string) (all []session.Block) {
	for _, b := range blocks {
		all = append(all, session.Block{Text: b})
	}
	return all
}

// userMessage gives the events of a user message.
func (w *walk) userMessage(m *message) error {
	for i := range m.parts {
		if p := &m.parts[i]; kindOf(p) == "compaction" {
			return w.compaction(m)
		}
	}
	if err := w.put(m, &m.value, session.Event{Type: session.TurnStart, Time: m.created}); err != nil {
		return err
	}
	for i := range m.parts {
		p := &m.parts[i]
		ev := session.Event{Type: prefix + kindOf(p), Time: m.created}
		switch kindOf(p) {
		case "":
			ev.Type = unparsed
		case "text":
			ev.Type = session.UserMessage
			ev.Body = session.Body{Speaker: session.Human, Blocks: texts(jsonl.Text(jsonl.Field(p.data, "text")))}
			if isTrue(jsonl.Field(p.data, "synthetic")) {
				ev.Body.Speaker = session.Injected
			}
			if isTrue(jsonl.Field(p.data, "ignored")) {
				ev.Type, ev.Body = prefix+"ignored", session.Body{}
			} else {
				ev.Op = w.seen.append(node{w.next, m.index, p.id, false})
			}
		case "subtask":
			ev.Type = session.ToolCall
			ev.Body = session.Body{
				Speaker: session.Action, CallID: p.id,
				Blocks: []session.Block{{Kind: session.CallBlock, Name: "subtask", Text: string(p.data)}},
			}
		}
		if err := w.put(m, p, ev); err != nil {
			return err
		}
	}
	return nil
}

// compaction gives the events of a message that asks for one.
func (w *walk) compaction(m *message) error {
	for i := range m.parts {
		p := &m.parts[i]
		ev := session.Event{Type: prefix + kindOf(p), Time: m.created}
		switch kindOf(p) {
		case "":
			ev.Type = unparsed
		case "compaction":
			ev.Type = compactionStart
			w.tails[m.id] = jsonl.Text(jsonl.Field(p.data, "tail_start_id"))
		case "text":
			ev.Type = session.UserMessage
			ev.Body = session.Body{Speaker: session.Injected, Blocks: texts(jsonl.Text(jsonl.Field(p.data, "text")))}
			ev.Op = w.seen.append(node{w.next, m.index, p.id, false})
		}
		if err := w.put(m, p, ev); err != nil {
			return err
		}
	}
	return nil
}

// answer gives the events of an assistant message.
func (w *walk) answer(m *message) error {
	asked, compacting := w.tails[jsonl.Text(jsonl.Field(m.data, "parentID"))]
	failed := jsonl.Field(m.data, "error")
	// Up to 1.0 nobody asked for a summary: it said by itself that it stands for all
	// before it. The releases with a database do not heed such a one.
	alone := w.e.files && !compacting
	summing := isTrue(jsonl.Field(m.data, "summary")) && (compacting || alone)
	sound := summing && (alone || jsonl.Filled(jsonl.Field(m.data, "finish"))) && !jsonl.IsObject(failed)
	for i := range m.parts {
		p := &m.parts[i]
		kind := kindOf(p)
		ev := session.Event{Type: prefix + kind, Time: timeOf(p, "start", m.created)}
		text := jsonl.Text(jsonl.Field(p.data, "text"))
		switch {
		case kind == "":
			ev.Type = unparsed
		case kind == "step-start":
			ev.Type, ev.Step = session.StepStart, true
		case kind == "step-finish":
			ev.Type = session.StepEnd
		case kind == "text" && summing:
			ev.Type = compactionText // what the model sees of it follows
			if !sound {
				ev.Type = prefix + "failed-summary"
			}
		case kind == "text":
			ev.Type = session.AssistantMessage
			ev.Body = session.Body{Speaker: session.Assistant, Blocks: texts(text)}
			ev.Op = w.seen.append(node{w.next, m.index, p.id, false})
		case kind == "tool":
			if err := w.tool(m, p); err != nil {
				return err
			}
			continue
		}
		if err := w.put(m, p, ev); err != nil {
			return err
		}
		if kind == "text" && sound {
			sum := session.Event{Type: session.UserMessage, Time: ev.Time, Body: session.Body{Speaker: session.Summary, Blocks: texts(text)}}
			sum.Op, sum.Sources = w.seen.summary(node{w.next, m.index, p.id, true}, w.indexOf(asked, m.index))
			asked = "" // a second text would take the first one away
			if err := w.putAs(m, p, 1, sum); err != nil {
				return err
			}
		}
	}
	end := session.Event{Time: m.created}
	done, ok := jsonl.Natural(jsonl.Field(jsonl.Field(m.data, "time"), "completed"))
	if !ok {
		end.Type = prefix + "unfinished" // its process was killed
		return w.put(m, &m.value, end)
	}
	end.Time = done
	switch finish := jsonl.Text(jsonl.Field(m.data, "finish")); {
	case summing:
		end.Type = compactionEnd
	case (finish == "tool-calls" || finish == "" && asks(m)) && !jsonl.IsObject(failed):
		return nil
	default:
		end.Type = session.TurnEnd
	}
	if jsonl.IsObject(failed) {
		end.Body = session.Body{ErrorName: jsonl.Text(jsonl.Field(failed, "name"))}
		end.Body.Blocks = texts(strings.TrimSpace(end.Body.ErrorName + " " + jsonl.Text(jsonl.Field(jsonl.Field(failed, "data"), "message"))))
	}
	return w.put(m, &m.value, end)
}

// asks reports whether the last that an answer says is a call.
func asks(m *message) (calls bool) {
	for i := range m.parts {
		switch kindOf(&m.parts[i]) {
		case "tool":
			calls = true
		case "text":
			calls = false
		}
	}
	return calls
}

// tool gives a call and its result, which are one row.
func (w *walk) tool(m *message, p *value) error {
	state := jsonl.Field(p.data, "state")
	call := jsonl.Text(jsonl.Field(p.data, "callID"))
	ev := session.Event{Type: session.ToolCall, Time: timeOf(p, "start", m.created)}
	ev.Body = session.Body{Speaker: session.Action, CallID: call, Blocks: []session.Block{{
		Kind: session.CallBlock, Name: jsonl.Text(jsonl.Field(p.data, "tool")), Text: string(jsonl.Field(state, "input")),
	}}}
	if err := w.put(m, p, ev); err != nil {
		return err
	}
	ev = session.Event{Type: session.ToolResult, Time: timeOf(p, "end", m.created)}
	ev.Body = session.Body{Speaker: session.Tool, CallID: call}
	output := jsonl.Text(jsonl.Field(state, "output"))
	switch jsonl.Text(jsonl.Field(state, "status")) {
	case "completed":
		if exit, ok := jsonl.SafeInt(jsonl.Field(jsonl.Field(state, "metadata"), "exit")); ok && exit != 0 {
			ev.Body.ErrorName, ev.Body.ErrorCode = "exit", strconv.FormatInt(exit, 10)
		}
	case "error":
		output = jsonl.Text(jsonl.Field(state, "error"))
		ev.Body.ErrorName = "error"
	default:
		return nil // its process was killed: there is none
	}
	ev.Body.Blocks = []session.Block{{Kind: session.ResultBlock, Content: texts(output)}}
	ev.Op = w.seen.append(node{w.next, m.index, p.id, false})
	if at, ok := jsonl.Natural(jsonl.Field(jsonl.Field(state, "time"), "compacted")); ok {
		w.pruned = append(w.pruned, pruned{at: at, seq: w.next, part: *p})
	}
	return w.putAs(m, p, 1, ev)
}

// pruned is a result whose text the model no longer sees.
type pruned struct {
	at   int64 // epoch milliseconds
	seq  int64
	part value
}

// prune takes away the results that were pruned before a time.
func (w *walk) prune(m *message, before int64) error {
	var due []pruned
	kept := w.pruned[:0:0]
	for _, p := range w.pruned {
		if p.at <= before {
			due = append(due, p)
		} else {
			kept = append(kept, p)
		}
	}
	w.pruned = kept
	if len(due) == 0 {
		return nil
	}
	gone := map[int64]bool{}
	latest := int64(0)
	for _, p := range due {
		gone[p.seq], latest = true, max(latest, p.at)
	}
	op, ok := w.seen.without(func(n node) bool { return gone[n.seq] })
	if !ok {
		return nil // a compaction took them before
	}
	return w.putAs(m, &due[0].part, 2, session.Event{Type: pruneEvent, Time: latest, Op: op})
}

// kindOf is a part's own type; "": it cannot be told.
func kindOf(p *value) string {
	if p.bad {
		return ""
	}
	kind := jsonl.Text(jsonl.Field(p.data, "type"))
	if len(kind) > 64 {
		return ""
	}
	return kind
}

// timeOf returns one of the times of a part, or of a tool's state.
func timeOf(p *value, name string, fallback int64) int64 {
	for _, at := range [][]byte{jsonl.Field(p.data, "time"), jsonl.Field(jsonl.Field(p.data, "state"), "time")} {
		if t, ok := jsonl.Natural(jsonl.Field(at, name)); ok {
			return t
		}
	}
	return fallback
}

func isTrue(v []byte) bool { return string(v) == "true" }

// finished reports whether nothing more comes of a message.
func finished(m *message) bool {
	if m.role() != "assistant" {
		return len(m.parts) > 0
	}
	if _, ok := jsonl.Natural(jsonl.Field(jsonl.Field(m.data, "time"), "completed")); !ok {
		return false
	}
	for i := range m.parts {
		if p := &m.parts[i]; kindOf(p) == "tool" {
			switch jsonl.Text(jsonl.Field(jsonl.Field(p.data, "state"), "status")) {
			case "completed", "error":
			default:
				return false
			}
		}
	}
	return true
}
