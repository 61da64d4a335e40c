package gemini

import (
	"slices"
	"strings"

	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/session"
)

// block is an entry of a message's content.
type block struct {
	text     string // what is said; thoughts say nothing
	call     []byte // a functionCall
	response []byte // a functionResponse
}

// blocks takes content apart: a text, a part, or a list of both.
func blocks(x *jsonl.Index, content []byte) []block {
	switch {
	case jsonl.IsArray(content):
		var all []block
		c := x.Enter(content)
		for v, ok := c.Element(); ok; v, ok = c.Element() {
			all = append(all, blockOf(x, v))
		}
		return all
	case jsonl.IsString(content), jsonl.IsObject(content):
		return []block{blockOf(x, content)}
	}
	return nil
}

func blockOf(x *jsonl.Index, v []byte) block {
	if jsonl.IsString(v) {
		return block{text: x.Text(v)}
	}
	if !jsonl.IsObject(v) {
		return block{}
	}
	var b block
	var text, thought []byte
	c := x.Enter(v)
	for name, value, ok := c.Member(); ok; name, value, ok = c.Member() {
		switch string(name) {
		case "text":
			text = value
		case "thought":
			thought = value
		case "functionCall":
			b.call = value
		case "functionResponse":
			b.response = value
		}
	}
	if string(thought) != "true" {
		b.text = x.Text(text)
	}
	return b
}

// said joins what blocks say.
func said(list []block) string {
	if len(list) == 1 {
		return list[0].text
	}
	var b strings.Builder
	for i := range list {
		b.WriteString(list[i].text)
	}
	return b.String()
}

func textBlocks(list []block) []session.Block {
	var out []session.Block
	for i := range list {
		if list[i].text != "" {
			out = append(out, session.Block{Kind: session.TextBlock, Text: list[i].text})
		}
	}
	return out
}

// boilerplate is how a message begins that the agent makes for every session and
// that says nothing of this one.
const boilerplate = "<session_context>"

// injected are the beginnings of other messages in the user's role that a person
// did not type.
var injected = [...]string{
	"<hook_context>", "Here is the user's editor context", "Here is a summary of changes in the user's editor context",
	"System: Potential loop detected", "System: Please continue.",
}

// snapshot marks the summary that a compaction puts in the place of what it drops.
const snapshot = "<state_snapshot>"

// userBody says who speaks in a message in the user's role.
func userBody(list []block, text string) session.Body {
	start := strings.TrimSpace(text)
	b := session.Body{Speaker: session.Human, Blocks: textBlocks(list)}
	switch {
	case strings.HasPrefix(start, boilerplate):
		return session.Body{Speaker: session.Injected}
	case strings.Contains(start, snapshot):
		b.Speaker = session.Summary
	case start == "Please continue.":
		b.Speaker = session.Injected
	}
	for _, opening := range injected {
		if strings.HasPrefix(start, opening) {
			b.Speaker = session.Injected
		}
	}
	return b
}

// call is a call of a tool, from a message's toolCalls or out of its content.
type call struct {
	id, name, args, result, status []byte
}

// callOf reads an entry of toolCalls, or a functionCall.
func callOf(x *jsonl.Index, v []byte) call {
	var out call
	if !jsonl.IsObject(v) {
		return out
	}
	c := x.Enter(v)
	for name, value, ok := c.Member(); ok; name, value, ok = c.Member() {
		switch string(name) {
		case "id":
			out.id = value
		case "name":
			out.name = value
		case "args":
			out.args = value
		case "result":
			out.result = value
		case "status":
			out.status = value
		}
	}
	return out
}

func (c *call) body(x *jsonl.Index) session.Body {
	args := string(c.args)
	if jsonl.IsString(c.args) {
		args = x.Text(c.args)
	}
	return session.Body{
		Speaker: session.Action, CallID: x.Text(c.id),
		Blocks: []session.Block{{Kind: session.CallBlock, Name: x.Name(c.name), Text: args}},
	}
}

// done reports whether a call has ended, with or without a result.
func (c *call) done(x *jsonl.Index) bool {
	switch x.Name(c.status) {
	case "success", "error", "cancelled":
		return true
	case "":
		return len(c.result) > 0 && string(c.result) != "null"
	}
	return false
}

// resultBody is what a call returned: the responses that bear its id. The list of
// a compacted conversation holds those of the calls beside it too.
func (c *call) resultBody(x *jsonl.Index) session.Body {
	b := session.Body{Speaker: session.Tool, CallID: x.Text(c.id)}
	list := blocks(x, c.result)
	var own, all []block
	for _, r := range list {
		if r.response == nil {
			all = append(all, r)
			continue
		}
		id := x.Field(r.response, "id")
		said := block{text: responseText(x, r.response)}
		all = append(all, said)
		if id == nil || x.Text(id) == b.CallID {
			own = append(own, said)
		}
	}
	if len(own) == 0 {
		own = all
	}
	b.Blocks = []session.Block{{Kind: session.ResultBlock, Content: textBlocks(own)}}
	if status := x.Name(c.status); status == "error" || status == "cancelled" {
		b.ErrorName = status
	}
	return b
}

// responseText is what a functionResponse returns: its output or its error, or
// whatever it is as JSON.
func responseText(x *jsonl.Index, response []byte) string {
	answer := x.Field(response, "response")
	for _, name := range [...]string{"output", "error"} {
		if v := x.Field(answer, name); jsonl.IsString(v) {
			return unwrapped(x.Text(v))
		}
	}
	if jsonl.IsString(answer) {
		return unwrapped(x.Text(answer))
	}
	return string(answer)
}

// unwrapped takes the mark off that says to the model whose words these are.
func unwrapped(text string) string {
	const open, end = "<untrusted_context>\n", "\n</untrusted_context>"
	if inner, ok := strings.CutPrefix(text, open); ok && strings.Count(text, open) == 1 {
		if inner, ok := strings.CutSuffix(inner, end); ok {
			return inner
		}
	}
	return text
}

// responded is the body of a result that stands alone in a message of the user's
// role.
func responded(x *jsonl.Index, response []byte) session.Body {
	return session.Body{
		Speaker: session.Tool, CallID: x.Text(x.Field(response, "id")),
		Blocks: []session.Block{{Kind: session.ResultBlock, Content: textBlocks([]block{{text: responseText(x, response)}})}},
	}
}

// saidHash is of a message's role and what it says.
func saidHash(typ, text string) uint64 {
	return max(1, jsonl.Hash(jsonl.Hash(0, []byte(typ)), []byte(text)))
}

// resultHash is of what a call returned.
func resultHash(b *session.Body) uint64 {
	h := uint64(0)
	for _, block := range b.Blocks {
		for _, c := range block.Content {
			h = jsonl.Hash(h, []byte(c.Text))
		}
	}
	return max(1, h)
}

func idHash(x *jsonl.Index, id []byte) uint64 {
	return max(1, jsonl.Hash(0, []byte(x.Text(id))))
}

// maxTitle is how long a title made of a prompt may be, in code points.
const maxTitle = 80

func oneLine(text string) string {
	// Far more than is needed, so that a huge prompt is not split as a whole.
	if len(text) > 1<<14 {
		text = text[:1<<14]
	}
	line := []rune(strings.Join(strings.Fields(strings.ToValidUTF8(text, "\uFFFD")), " "))
	return string(line[:min(len(line), maxTitle)])
}

// title makes a title of a prompt: of what was typed, where the log tells it
// apart from what the agent made of it. Commands are none.
func title(x *jsonl.Index, m *message, text string) string {
	if shown := said(blocks(x, m.display)); shown != "" {
		text = shown
	}
	if line := oneLine(text); !strings.HasPrefix(line, "/") && !strings.HasPrefix(line, "?") {
		return line
	}
	return ""
}

// callsIn lists the calls that a message of the model makes, each once, by hashes
// of their ids.
func callsIn(x *jsonl.Index, m *message, list []block) []uint64 {
	var keys []uint64
	add := func(v []byte) {
		if id := x.Field(v, "id"); jsonl.IsString(id) {
			if key := idHash(x, id); !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	if jsonl.IsArray(m.calls) {
		c := x.Enter(m.calls)
		for v, ok := c.Element(); ok; v, ok = c.Element() {
			add(v)
		}
	}
	for i := range list {
		if list[i].call != nil {
			add(list[i].call)
		}
	}
	return keys
}
