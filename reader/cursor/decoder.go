package cursor

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/reader/linelog"
	"github.com/yorehq/yore/session"
)

// record is one line.
type record struct {
	x       *jsonl.Index
	role    string // "" of what is no message
	kind    string
	content []byte
}

func recordOf(r *linelog.Record) record {
	out := record{x: r.X}
	c := r.X.Enter(r.Value)
	for name, v, ok := c.Member(); ok; name, v, ok = c.Member() {
		switch string(name) {
		case "role":
			out.role = r.X.Name(v)
		case "type":
			out.kind = r.X.Name(v)
		case "content":
			out.content = v
		case "message":
			if inner := r.X.Field(v, "content"); inner != nil {
				out.content = inner
			}
		}
	}
	return out
}

// told is the time that a prompt tells; 0: it tells none.
func (r *record) told() int64 {
	if r.role != "user" {
		return 0
	}
	for _, b := range texts(r.x, r.content) {
		if ms, ok := stated(b.Text); ok {
			return ms
		}
	}
	return 0
}

// decoder makes events of lines. What it keeps is little, and bounded.
type decoder struct {
	created int64
	small   small
}

// small is what is remembered of what came before.
type small struct {
	Time   int64    `json:"time,omitempty"` // that the latest prompt told
	Titled bool     `json:"titled,omitempty"`
	Asked  bool     `json:"asked,omitempty"` // the latest message is of the user
	Calls  int64    `json:"calls,omitempty"` // how many there were
	Open   []string `json:"open,omitempty"`  // calls without a result, in order
}

// maxOpen is how many calls without a result are remembered: most transcripts hold
// no results at all.
const maxOpen = 8

func newDecoder(src reader.Source) linelog.Decoder { return &decoder{created: src.Header.CreatedAt} }

// Settled implements linelog.Decoder.
func (*decoder) Settled(*linelog.Record) bool { return true }

// Save implements linelog.Decoder.
func (d *decoder) Save() ([]byte, error) { return json.Marshal(d.small) }

// Mark implements linelog.Decoder.
func (d *decoder) Mark() ([]byte, error) { return d.Save() }

// Load implements linelog.Decoder.
func (d *decoder) Load(state []byte) error {
	d.small = small{}
	return json.Unmarshal(state, &d.small)
}

var appended = session.Op{Kind: session.OpAppend}

// Take implements linelog.Decoder. Events are of the time that the latest prompt
// tells, before that of the one at which the session was made: lines have no others.
func (d *decoder) Take(r *linelog.Record, out *linelog.Events) {
	rec := recordOf(r)
	if ms := rec.told(); ms > 0 {
		d.small.Time = ms
	}
	out.Time = d.created
	if d.small.Time > 0 {
		out.Time = d.small.Time
	}
	switch {
	case rec.role == "user":
		d.user(&rec, out)
	case rec.role == "assistant":
		d.assistant(&rec, out)
	case rec.kind == "turn_ended":
		d.small.Open = nil
		out.Add(session.Event{Type: session.TurnEnd}, nil)
	default:
		name := rec.role
		if name == "" {
			name = rec.kind
		}
		out.Add(session.Event{Type: "cursor/" + word(name)}, nil)
	}
}

func (d *decoder) user(rec *record, out *linelog.Events) {
	results := d.results(rec, out)
	list := typed(texts(rec.x, rec.content))
	if results && len(list) == 0 {
		return
	}
	ev := session.Event{Type: session.UserMessage, Op: appended}
	if !d.small.Titled {
		for _, b := range list {
			if line := titleOf(b.Text); line != "" {
				ev.Body.Title, ev.Body.Makeshift, d.small.Titled = &line, true, true
				break
			}
		}
	}
	d.small.Asked = true
	out.Add(ev, func() session.Body { return session.Body{Speaker: session.Human, Blocks: list} })
}

func (d *decoder) assistant(rec *record, out *linelog.Events) {
	out.Add(session.Event{Type: session.AssistantMessage, Op: appended, Step: d.small.Asked}, func() session.Body {
		return session.Body{Speaker: session.Assistant, Blocks: unredacted(texts(rec.x, rec.content))}
	})
	d.small.Asked = false
	each(rec.x, rec.content, func(number int64, v []byte, kind string) {
		if kind != "tool_use" {
			return
		}
		d.small.Calls++
		id := rec.x.Text(rec.x.Field(v, "id"))
		if id == "" {
			id = "call-" + strconv.FormatInt(d.small.Calls, 10)
		}
		if d.small.Open = append(d.small.Open, id); len(d.small.Open) > maxOpen {
			d.small.Open = append([]string(nil), d.small.Open[1:]...)
		}
		out.Block(number, session.Event{Type: session.ToolCall}, func() session.Body {
			return session.Body{
				Speaker: session.Action, CallID: id,
				Blocks: []session.Block{{Kind: session.CallBlock, Name: rec.x.Name(rec.x.Field(v, "name")), Text: said(rec.x.Field(v, "input"))}},
			}
		})
	})
	d.results(rec, out)
}

// results takes what tools returned, where a transcript holds that: one without an
// id is of the first call that has none yet.
func (d *decoder) results(rec *record, out *linelog.Events) (any bool) {
	each(rec.x, rec.content, func(number int64, v []byte, kind string) {
		if kind != "tool_result" {
			return
		}
		any = true
		id := rec.x.Text(rec.x.Field(v, "tool_use_id"))
		for i, open := range d.small.Open {
			if id == "" || id == open {
				id = open
				d.small.Open = append(append([]string(nil), d.small.Open[:i]...), d.small.Open[i+1:]...)
				break
			}
		}
		out.Block(number, session.Event{Type: session.ToolResult, Op: appended}, func() session.Body {
			b := session.Body{Speaker: session.Tool, CallID: id, Blocks: []session.Block{{Kind: session.ResultBlock, Content: texts(rec.x, rec.x.Field(v, "content"))}}}
			if string(rec.x.Field(v, "is_error")) == "true" {
				b.ErrorName = "error"
			}
			return b
		})
	})
	return any
}

// each visits the blocks of a message; number counts from 1.
func each(x *jsonl.Index, content []byte, visit func(number int64, v []byte, kind string)) {
	if !jsonl.IsArray(content) {
		return
	}
	c := x.Enter(content)
	number := int64(0)
	for v, ok := c.Element(); ok; v, ok = c.Element() {
		number++
		visit(number, v, x.Name(x.Field(v, "type")))
	}
}

// texts are what a message or a result says: a text, or a list of blocks.
func texts(x *jsonl.Index, content []byte) []session.Block {
	if jsonl.IsString(content) {
		if text := x.Text(content); text != "" {
			return []session.Block{{Text: text}}
		}
		return nil
	}
	var out []session.Block
	each(x, content, func(_ int64, v []byte, kind string) {
		text := ""
		switch {
		case jsonl.IsString(v):
			text = x.Text(v)
		case kind == "text":
			text = x.Text(x.Field(v, "text"))
		}
		if text != "" {
			out = append(out, session.Block{Text: text})
		}
	})
	return out
}

// unredacted takes away what stands for thoughts at the end of texts.
func unredacted(list []session.Block) []session.Block {
	const mark = "[REDACTED]"
	out := list[:0]
	for _, b := range list {
		if text, ok := strings.CutSuffix(strings.TrimRight(b.Text, " \n"), mark); ok {
			if b.Text = strings.TrimRight(text, " \n"); b.Text == "" {
				continue
			}
		}
		out = append(out, b)
	}
	return out
}

// typed returns what a person typed of the texts of a message: what stands in
// marks, where any do; the rest is what the editor tells beside it.
func typed(list []session.Block) []session.Block {
	const open, end = "<user_query>", "</user_query>"
	var out []session.Block
	for _, b := range list {
		if _, inner, ok := strings.Cut(b.Text, open); ok {
			inner, _, _ = strings.Cut(inner, end)
			out = append(out, session.Block{Text: strings.TrimSpace(inner)})
		}
	}
	if out == nil {
		return list
	}
	return out
}

// block finds the bytes of a block of a line.
func block(record []byte, number int64) []byte {
	content := jsonl.Field(jsonl.Field(record, "message"), "content")
	if content == nil {
		content = jsonl.Field(record, "content")
	}
	if !jsonl.IsArray(content) {
		return nil
	}
	c := jsonl.Enter(content)
	for v, ok := c.Element(); ok; v, ok = c.Element() {
		if number--; number == 0 {
			return v
		}
	}
	return nil
}

func titleOf(text string) string {
	const most = 80 // code points
	// Far more than is needed, so that a huge prompt is not split as a whole.
	if len(text) > 1<<14 {
		text = text[:1<<14]
	}
	line := []rune(strings.Join(strings.Fields(strings.ToValidUTF8(text, "\uFFFD")), " "))
	return string(line[:min(len(line), most)])
}

// word returns a name that may stand in a type of ours.
func word(s string) string {
	if s == "" || len(s) > 64 {
		return "unknown"
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c >= '0' && c <= '9', c|0x20 >= 'a' && c|0x20 <= 'z', c == '_', c == '-', c == '.':
		default:
			return "unknown"
		}
	}
	return s
}
