package copilot

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/reader/linelog"
	"github.com/yorehq/yore/session"
)

// decoder makes events of the records of one session, or of one subagent in it.
type decoder struct {
	part    part // which records are its own; without a name: the session's
	small   small
	surface linelog.Surface
	parts   parts
}

// small is what is remembered beside the surface and the subagents.
type small struct {
	Titled bool          `json:"titled,omitempty"`
	Split  int64         `json:"split,omitempty"` // a compaction is under way and takes what is before this event
	Calls  linelog.Calls `json:"calls,omitempty"`
}

func newDecoder(p part) *decoder { return &decoder{part: p} }

// saved is a decoder's state.
type saved struct {
	Parts []part `json:"parts,omitempty"`
	small
	Surface []byte `json:"surface,omitempty"`
	Lost    bool   `json:"lost,omitempty"`
}

// Save implements linelog.Decoder.
func (d *decoder) Save() ([]byte, error) {
	packed, ok := d.surface.Pack()
	return json.Marshal(saved{Parts: d.parts.list(), small: d.small, Surface: packed, Lost: !ok})
}

// Mark implements linelog.Decoder.
func (d *decoder) Mark() ([]byte, error) {
	return json.Marshal(saved{small: d.small, Lost: d.surface.Lost || len(d.surface.List) > 0})
}

// Load implements linelog.Decoder.
func (d *decoder) Load(state []byte) error {
	var st saved
	if err := json.Unmarshal(state, &st); err != nil {
		return err
	}
	d.small, d.surface.Lost = st.small, st.Lost
	d.parts = partsOf(st.Parts)
	if !d.surface.Unpack(st.Surface) {
		return errors.New("it is no surface")
	}
	return nil
}

// Settled implements linelog.Decoder.
func (d *decoder) Settled(r *linelog.Record) bool {
	if !d.surface.Lost {
		return true
	}
	switch kind := jsonl.Field(r.Value, "type"); {
	case jsonl.Is(kind, "session.compaction_complete"), jsonl.Is(kind, "session.truncation"), jsonl.Is(kind, "session.context_cleared"):
		return false
	}
	return true
}

// Take implements linelog.Decoder.
func (d *decoder) Take(r *linelog.Record, out *linelog.Events) {
	e := recordOf(r)
	name := nameOf(e.agent)
	if name != d.part.Name && d.part.Name != "" {
		return
	}
	if e.time > 0 {
		out.Time = e.time
	}
	if name != d.part.Name {
		d.parts.take(name, &e, r)
		d.log(&e, out, "copilot/agent/"+linelog.Word(e.kind), nil)
		return
	}
	switch e.kind {
	case "user.message":
		d.user(&e, out)
	case "system.notification":
		d.say(&e, out, session.Injected, e.text(e.data.content))
	case "assistant.message":
		d.answer(&e, out)
	case "tool.execution_complete":
		d.result(&e, out)
	case "tool.user_requested":
		d.say(&e, out, session.Injected, e.command())
	case "system.message":
		d.log(&e, out, "request/header", nil)
	case "assistant.turn_start":
		d.log(&e, out, session.StepStart, nil).Step = true
	case "assistant.turn_end":
		d.log(&e, out, session.StepEnd, nil)
	case "abort":
		d.log(&e, out, session.TurnEnd, said(session.NoSpeaker, []session.Block{{Text: "aborted"}}))
	case "session.error":
		d.log(&e, out, "copilot/session.error", said(session.NoSpeaker, e.text(e.data.message)))
	case "session.compaction_start":
		d.small.Split = out.Next()
		d.log(&e, out, "compaction/start", nil)
	case "session.compaction_complete":
		d.compaction(&e, out)
	case "session.import_legacy":
		d.imported(&e, out)
	case "session.truncation":
		n, _ := jsonl.Natural(e.data.removed)
		d.drop(&e, out, int(min(n, int64(len(d.surface.List)))))
	case "session.context_cleared":
		d.drop(&e, out, len(d.surface.List))
	case "session.title_changed":
		d.title(&e, out, e.data.title)
	case "subagent.started":
		about := e.data.about
		if !jsonl.Filled(about) {
			about = e.data.shown
		}
		d.title(&e, out, about)
	default:
		d.log(&e, out, "copilot/"+linelog.Word(e.kind), nil)
	}
}

func (e *record) native() string { return jsonl.Text(e.id) }

// text makes blocks of a string.
func (e *record) text(v []byte) []session.Block {
	if text := e.x.Text(v); text != "" {
		return []session.Block{{Kind: session.TextBlock, Text: text}}
	}
	return nil
}

// command is what a person had the agent run.
func (e *record) command() []session.Block {
	if command := e.x.Field(e.data.arguments, "command"); jsonl.Filled(command) {
		return e.text(command)
	}
	return []session.Block{{Kind: session.TextBlock, Text: e.x.Text(e.data.tool) + " " + string(e.data.arguments)}}
}

func said(who session.Speaker, blocks []session.Block) func() session.Body {
	return func() session.Body { return session.Body{Speaker: who, Blocks: blocks} }
}

// log adds an event that is not part of the surface.
func (d *decoder) log(e *record, out *linelog.Events, typ string, body func() session.Body) *session.Event {
	return out.Add(session.Event{Type: typ, NativeID: e.native()}, body)
}

// say adds a message to the model to the end of the surface.
func (d *decoder) say(e *record, out *linelog.Events, who session.Speaker, blocks []session.Block) *session.Event {
	return out.Add(session.Event{Type: session.UserMessage, NativeID: e.native(), Op: d.surface.Append(out.Next())}, said(who, blocks))
}

// user takes a message in the user's name, as it was typed. What a program put
// there says so.
func (d *decoder) user(e *record, out *linelog.Events) {
	who := session.Human
	switch {
	case d.part.Name != "", string(e.data.autopilot) == "true", jsonl.Filled(e.data.source) && !jsonl.Is(e.data.source, "user"):
		who = session.Injected
	}
	blocks := e.text(e.data.content)
	ev := d.say(e, out, who, blocks)
	if d.small.Titled || who != session.Human && d.part.Name == "" || len(blocks) == 0 {
		return
	}
	if title := linelog.Headline(blocks[0].Text); title != "" {
		ev.Body.Title, ev.Body.Makeshift, d.small.Titled = &title, true, true
	}
}

// title takes a title that the agent states.
func (d *decoder) title(e *record, out *linelog.Events, v []byte) {
	title := linelog.Headline(e.x.Text(v))
	if title == "" {
		d.log(e, out, "copilot/"+linelog.Word(e.kind), nil)
		return
	}
	d.small.Titled = true
	d.log(e, out, session.TitleEvent, nil).Body.Title = &title
}

// answer takes what the model said, and its calls.
func (d *decoder) answer(e *record, out *linelog.Events) {
	out.Add(session.Event{Type: session.AssistantMessage, NativeID: e.native(), Op: d.surface.Append(out.Next())},
		said(session.Assistant, e.text(e.data.content)))
	e.calls(func(number int64, q *request) {
		d.small.Calls.Ask(q.id, out.Next())
		id, name, arguments := q.id, q.name, q.arguments
		out.Block(number, session.Event{Type: session.ToolCall, NativeID: e.native()}, func() session.Body {
			text := string(arguments)
			if jsonl.IsString(arguments) {
				text = e.x.Text(arguments)
			}
			return session.Body{
				Speaker: session.Action, CallID: jsonl.Text(id),
				Blocks: []session.Block{{Kind: session.CallBlock, Name: e.x.Name(name), Text: text}},
			}
		})
	})
}

// result takes a tool's result, as the model got it.
func (d *decoder) result(e *record, out *linelog.Events) {
	ev := session.Event{Type: session.ToolResult, NativeID: e.native(), Op: d.surface.Append(out.Next())}
	ev.Sources = d.small.Calls.Answer(e.data.callID)
	out.Add(ev, func() session.Body {
		b := session.Body{Speaker: session.Tool, CallID: jsonl.Text(e.data.callID)}
		content := e.text(e.x.Field(e.data.result, "content"))
		if string(e.data.success) == "false" {
			b.ErrorName, b.ErrorCode = "error", jsonl.Text(e.x.Field(e.data.failure, "code"))
			if content == nil {
				content = e.text(e.x.Field(e.data.failure, "message"))
			}
		}
		b.Blocks = []session.Block{{Kind: session.ResultBlock, Content: content}}
		return b
	})
}

// compaction takes the summary of what stood on the surface when the compaction
// began; what came meanwhile stays.
func (d *decoder) compaction(e *record, out *linelog.Events) {
	split := d.small.Split
	d.small.Split = 0
	if string(e.data.success) == "false" || !jsonl.Filled(e.data.summary) {
		d.log(e, out, "compaction/end", nil)
		return
	}
	n := len(d.surface.List)
	for n > 0 && split > 0 && d.surface.List[n-1] >= split {
		n--
	}
	ev := session.Event{Type: session.UserMessage, NativeID: e.native()}
	ev.Op, ev.Sources = d.surface.Replace(0, n, out.Next())
	out.Add(ev, said(session.Summary, e.text(e.data.summary)))
}

// imported takes a session of the earliest form, which was taken up.
func (d *decoder) imported(e *record, out *linelog.Events) {
	d.log(e, out, "copilot/"+linelog.Word(e.kind), nil)
	time := out.Time
	out.Time = 0
	l := legacyOf(e.x, e.data.former)
	d.legacy(&l, out)
	out.Time = time
}

// drop takes the oldest messages off the surface.
func (d *decoder) drop(e *record, out *linelog.Events, n int) {
	ev := session.Event{Type: "copilot/" + linelog.Word(e.kind), NativeID: e.native()}
	ev.Op = d.surface.Select(d.surface.List[n:])
	out.Add(ev, nil)
}

// nameOf makes a name of a subagent's id that is fit for a path; "" is none.
func nameOf(agent []byte) string {
	id := jsonl.Text(agent)
	return strings.ReplaceAll(clean(id), ".", "_")
}
