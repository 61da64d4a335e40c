package kimi

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/reader/linelog"
	"github.com/yorehq/yore/session"
)

// decoder makes events of the records of one journal.
type decoder struct {
	sub     bool // the journal is a subagent's
	small   small
	context model
}

// small is what is remembered beside the context.
type small struct {
	Titled bool          `json:"titled,omitempty"`
	Step   uint64        `json:"step,omitempty"` // the step at hand
	Told   bool          `json:"told,omitempty"` // it has a message on the surface
	Calls  linelog.Calls `json:"calls,omitempty"`
}

// saved is a decoder's state.
type saved struct {
	small
	Context []byte `json:"context,omitempty"`
	Lost    bool   `json:"lost,omitempty"`
}

var errState = errors.New("it is no context")

// Save implements linelog.Decoder.
func (d *decoder) Save() ([]byte, error) {
	packed, ok := d.context.pack()
	return json.Marshal(saved{d.small, packed, !ok})
}

// Mark implements linelog.Decoder.
func (d *decoder) Mark() ([]byte, error) {
	return json.Marshal(saved{small: d.small, Lost: !d.context.fresh()})
}

// Load implements linelog.Decoder.
func (d *decoder) Load(state []byte) error {
	var st saved
	if err := json.Unmarshal(state, &st); err != nil {
		return err
	}
	d.small = st.small
	if !d.context.unpack(st.Context) {
		return errState
	}
	d.context.lost = st.Lost
	return nil
}

// Settled implements linelog.Decoder.
func (d *decoder) Settled(r *linelog.Record) bool {
	if !d.context.lost {
		return true
	}
	switch kind := r.X.Name(jsonl.Field(r.Value, "type")); kind {
	case "context.undo", "context.clear", "context.apply_compaction", "agent.switched":
		return false
	}
	return true
}

// Take implements linelog.Decoder.
func (d *decoder) Take(r *linelog.Record, out *linelog.Events) {
	e := recordOf(r)
	if e.kind == "metadata" {
		return
	}
	if e.time > 0 {
		out.Time = e.time
	}
	d.context.line = r.Line
	switch e.kind {
	case "context.append_message":
		d.message(&e, out)
	case "context.append_loop_event":
		d.loop(&e, out)
	case "context.apply_compaction":
		d.compaction(&e, out)
	case "context.undo":
		n, _ := jsonl.Natural(e.count)
		d.become(&e, out, d.context.undone(n))
	case "context.clear":
		d.become(&e, out, nil)
	case "agent.switched":
		d.become(&e, out, d.context.switched(&e))
	case "full_compaction.begin":
		d.log(&e, out, "compaction/start", nil)
	case "full_compaction.complete", "full_compaction.cancel":
		d.log(&e, out, "compaction/end", nil)
	case "turn.prompt":
		d.log(&e, out, session.TurnStart, nil)
	case "turn.ended":
		d.log(&e, out, session.TurnEnd, e.ending())
	case "profile.bind", "llm.tools_snapshot":
		d.log(&e, out, "request/header", nil)
	default:
		d.log(&e, out, "kimi/"+linelog.Word(e.kind), nil)
	}
}

// log adds an event that is not part of the surface.
func (d *decoder) log(e *record, out *linelog.Events, typ string, body func() session.Body) *session.Event {
	return out.Add(session.Event{Type: typ, NativeID: e.native}, body)
}

// say adds a message to the end of the surface.
func (d *decoder) say(e *record, out *linelog.Events, typ string, n node, body func() session.Body) *session.Event {
	n.seq = out.Next()
	d.context.append(n)
	return out.Add(session.Event{Type: typ, NativeID: e.native, Op: session.Op{Kind: session.OpAppend}}, body)
}

// become makes the surface what is given.
func (d *decoder) become(e *record, out *linelog.Events, to []node) {
	ev := session.Event{Type: "kimi/" + linelog.Word(e.kind), NativeID: e.native, Op: linelog.Change(seqs(d.context.nodes), seqs(to))}
	d.context.nodes = to
	out.Add(ev, nil)
}

// message takes a message that somebody put into the context.
func (d *decoder) message(e *record, out *linelog.Events) {
	m := &e.message
	blocks := e.texts(m.content)
	n := node{first: true, anchor: m.anchor(), keep: m.keep(), injected: m.origin == "injection", owned: m.owned, summary: m.origin == "compaction_summary"}
	switch m.role {
	case "assistant":
		d.say(e, out, session.AssistantMessage, n, said(session.Assistant, blocks)).Step = true
		return
	case "tool":
		d.say(e, out, session.ToolResult, n, func() session.Body {
			return session.Body{Speaker: session.Tool, CallID: jsonl.Text(m.callID), Blocks: []session.Block{{Kind: session.ResultBlock, Content: blocks}}}
		})
		return
	}
	who := session.Injected
	switch {
	case n.summary:
		who = session.Summary
	case n.keep && !d.sub:
		who = session.Human
	}
	ev := d.say(e, out, session.UserMessage, n, said(who, blocks))
	if d.small.Titled || !n.keep && !d.task(m) || len(blocks) == 0 {
		return
	}
	if title := linelog.Headline(task(blocks[0].Text)); title != "" {
		ev.Body.Title, ev.Body.Makeshift, d.small.Titled = &title, true, true
	}
}

// task reports whether a message is what a subagent was made for.
func (d *decoder) task(m *message) bool { return d.sub && m.origin == "system_trigger" }

// task returns what a prompt asks, without what the agent tells of a repository
// before it: an element of its own, with or without content.
func task(prompt string) string {
	const element = "git-context"
	rest, ok := strings.CutPrefix(strings.TrimSpace(prompt), "<"+element)
	if !ok {
		return prompt
	}
	tag, after, ok := strings.Cut(rest, ">")
	if ok && !strings.HasSuffix(tag, "/") {
		_, after, ok = strings.Cut(after, "</"+element+">")
	}
	if !ok {
		return prompt
	}
	return after
}

func said(who session.Speaker, blocks []session.Block) func() session.Body {
	return func() session.Body { return session.Body{Speaker: who, Blocks: blocks} }
}

// loop takes what the model does, step by step. A step is one message to the
// agent, whose parts come one by one.
func (d *decoder) loop(e *record, out *linelog.Events) {
	l := &e.loop
	switch l.kind {
	case "step.begin":
		d.small.Step, d.small.Told = linelog.Key(l.uuid), false
		d.log(e, out, session.StepStart, nil).Step = true
	case "content.part":
		if l.part != "text" {
			d.log(e, out, "kimi/"+linelog.Word("content.part."+l.part), nil)
			return
		}
		d.answer(e, out, e.texts(l.text))
	case "tool.call":
		d.answered(e, out)
		d.small.Calls.Ask(l.callID, out.Next())
		d.log(e, out, session.ToolCall, func() session.Body {
			text := string(l.args)
			if jsonl.IsString(l.args) {
				text = e.x.Text(l.args)
			}
			return session.Body{
				Speaker: session.Action, CallID: jsonl.Text(l.callID),
				Blocks: []session.Block{{Kind: session.CallBlock, Name: e.x.Name(l.name), Text: text}},
			}
		})
	case "tool.result":
		d.result(e, out)
	case "step.end":
		d.answered(e, out)
		d.log(e, out, session.StepEnd, nil)
	default:
		d.log(e, out, "kimi/"+linelog.Word(l.kind), nil)
	}
}

// answer adds a part of the model's message.
func (d *decoder) answer(e *record, out *linelog.Events, blocks []session.Block) {
	first := !d.small.Told
	d.small.Told = true
	d.say(e, out, session.AssistantMessage, node{first: first}, said(session.Assistant, blocks))
}

// answered makes sure that a step has a message on the surface, as it has for the
// agent, which counts them.
func (d *decoder) answered(e *record, out *linelog.Events) {
	if !d.small.Told && d.small.Step != 0 {
		d.answer(e, out, nil)
	}
}

// result takes a tool's result, and cites its call.
func (d *decoder) result(e *record, out *linelog.Events) {
	l := &e.loop
	ev := d.say(e, out, session.ToolResult, node{first: true}, func() session.Body {
		b := session.Body{
			Speaker: session.Tool, CallID: jsonl.Text(l.callID),
			Blocks: []session.Block{{Kind: session.ResultBlock, Content: e.texts(l.output)}},
		}
		if l.failed {
			b.ErrorName = "error"
		}
		return b
	})
	ev.Sources = d.small.Calls.Answer(l.callID)
}

// compaction takes a summary. Today's keeps what the user asked, before it; the
// older form keeps the latest messages, behind it.
func (d *decoder) compaction(e *record, out *linelog.Events) {
	n := node{seq: out.Next(), first: true, summary: true, line: d.context.line}
	before := d.context.nodes
	after := d.context.compacted(e, n)
	ev := out.Add(session.Event{Type: session.UserMessage, NativeID: e.native, Op: session.Op{Kind: session.OpAppend}}, said(session.Summary, e.texts(e.summary)))
	at, gone := 0, len(before)-len(after)+1
	for at < len(after) && after[at].seq != n.seq {
		at++
	}
	if gone > 0 && linelog.Change(seqs(before[:at]), seqs(after[:at])).Kind == session.OpNone &&
		linelog.Change(seqs(before[at+gone:]), seqs(after[at+1:])).Kind == session.OpNone {
		taken := seqs(before[at : at+gone])
		ev.Op, ev.Sources = session.Op{Kind: session.OpReplace, Start: taken[0], End: taken[len(taken)-1]}, taken
	} else if op := linelog.Change(append(seqs(before), n.seq), seqs(after)); op.Kind != session.OpNone {
		out.Select("kimi/compaction", op)
	}
	d.context.nodes = after
}
