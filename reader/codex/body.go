package codex

import (
	"slices"
	"strings"

	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/session"
)

// piece is one block of text of a content list; kind is what the agent says of
// its origin, "" if it says nothing.
type piece struct {
	text, kind string
	block      int // which of the list
}

// contentTexts returns the text of a message's or a result's content: a list of
// blocks, or one string. Images, audio and unknown kinds give nothing.
func contentTexts(x *jsonl.Index, content []byte) []piece {
	if jsonl.IsString(content) {
		return []piece{{text: x.Text(content)}}
	}
	if !jsonl.IsArray(content) {
		return nil
	}
	var out []piece
	c := x.Enter(content)
	for i := 0; ; i++ {
		v, ok := c.Element()
		if !ok {
			return out
		}
		if jsonl.IsString(v) {
			out = append(out, piece{text: x.Text(v), block: i})
			continue
		}
		switch kind, text := typeAndText(x, v); x.Name(kind) {
		case "input_text", "output_text", "text":
			out = append(out, piece{text: x.Text(text), block: i})
		}
	}
}

func typeAndText(x *jsonl.Index, v []byte) (typ, text []byte) {
	if !jsonl.IsObject(v) {
		return nil, nil
	}
	c := x.Enter(v)
	for name, value, ok := c.Member(); ok; name, value, ok = c.Member() {
		switch string(name) {
		case "type":
			typ = value
		case "text":
			text = value
		}
	}
	return typ, text
}

// item is a response item as the surface takes it.
type item struct {
	typ     string // session.UserMessage and so on, or "" for what is no part of the surface
	body    session.Body
	id      string
	content uint64 // a hash of role and text, to find copies by; 0: none
	model   bool   // the model made it
	input   bool   // it ends a model's response
	call    bool   // a custom call, which may run others inside
	answer  bool   // the output of a custom call
	turn    bool   // see node
	context bool   // see node
}

// parseItem takes a response item apart.
func parseItem(f *fields) item {
	it := item{id: jsonl.Text(f.id)}
	switch kind := f.kind; kind {
	case "message":
		it.message(f)
	case "agent_message":
		it.typ, it.input = session.UserMessage, true
		it.body = session.Body{Speaker: session.Injected, Blocks: textBlocks(contentTexts(f.x, f.content))}
		if text := jsonl.Text(f.message); text != "" && it.body.Blocks == nil {
			it.body.Blocks = []session.Block{{Text: text}}
		}
	case "reasoning":
		it.typ, it.model = session.AssistantMessage, true
		it.body.Speaker = session.Assistant
	case "compaction", "context_compaction", "compaction_summary":
		// What it says is encrypted.
		it.typ = session.UserMessage
		it.body.Speaker = session.Summary
	case "function_call", "custom_tool_call", "local_shell_call", "web_search_call", "image_generation_call", "tool_search_call":
		it.typ, it.model = session.ToolCall, true
		it.call = kind == "custom_tool_call"
		it.body = callBody(f, kind)
	case "function_call_output", "custom_tool_call_output", "tool_search_output", "local_shell_call_output":
		it.typ, it.input = session.ToolResult, true
		it.answer = kind == "custom_tool_call_output"
		it.body = resultBody(f)
		it.content = hashOf("output", it.body.CallID)
	}
	return it
}

func (it *item) message(f *fields) {
	pieces := contentTexts(f.x, f.content)
	role := f.x.Name(f.role)
	it.content = hashPieces(role, pieces, f.content)
	if role == "assistant" {
		it.typ, it.model = session.AssistantMessage, true
		it.body = session.Body{Speaker: session.Assistant, Blocks: textBlocks(pieces)}
		return
	}
	it.typ, it.input = session.UserMessage, true
	origins(pieces, f.x.Field(f.passed, "content_item_kinds"))
	it.body = userBody(role, pieces)
	own := it.body.Speaker == session.Injected
	it.turn = role == "user" && !own
	it.context = own && (role == "user" || ownWords(pieces))
}

// origins gives the pieces the kinds that stand beside the blocks of their list.
func origins(pieces []piece, kinds []byte) {
	if !jsonl.IsArray(kinds) {
		return
	}
	c := jsonl.Enter(kinds)
	for at, i := 0, 0; i < len(pieces); at++ {
		kind, ok := c.Element()
		if !ok {
			return
		}
		if pieces[i].block == at {
			pieces[i].kind = jsonl.Text(kind)
			i++
		}
	}
}

// userBody says who speaks in a message to the model, and keeps what was said:
// the agent's own instructions, which every session repeats, give no text.
func userBody(role string, pieces []piece) session.Body {
	b := session.Body{Speaker: session.Injected}
	var said []piece
	for _, p := range pieces {
		kind := p.kind
		if kind == "" || kind == "unknown" {
			kind = guess(role, p.text)
		}
		switch {
		case strings.HasPrefix(kind, "user."):
			b.Speaker = session.Human
			said = append(said, p)
		case kind == "compaction.summary":
			if b.Speaker != session.Human {
				b.Speaker = session.Summary
			}
			said = append(said, p)
		case noteworthy(p.text):
			said = append(said, p)
		}
	}
	if len(pieces) == 0 && role == "user" {
		b.Speaker = session.Human // an image alone
	}
	b.Blocks = textBlocks(said)
	return b
}

// openings are how injected messages begin in logs that do not say what is typed.
var openings = [...]string{
	"# AGENTS.md instructions", "<user_instructions>", "<environment_context>", "<recommended_plugins>",
	"<turn_aborted>", "<permissions instructions>", "<subagent_notification>", "<user_shell_command>",
	"<user_action>", "<skill>", "<skills_instructions>", "<collaboration_mode>", "<model_switch>",
	"<personality_spec>", "<INSTRUCTIONS>", "<hook_prompt", "<apps_instructions>", "<plugins_instructions>",
	"<tools>", "<multi_agent_mode>", "<user-instructions>",
}

// summaryOpening is how the agent's own compaction begins its summary.
const summaryOpening = "Another language model started to solve this problem"

// guess tells the origin of a text from its beginning. Of the known openings
// that the agent uses none is likely to be typed; a heading alone is no sign.
func guess(role, text string) string {
	if role != "user" {
		return "harness"
	}
	text = strings.TrimSpace(text)
	for _, o := range openings {
		if strings.HasPrefix(text, o) {
			return "harness"
		}
	}
	if strings.HasPrefix(text, summaryOpening) {
		return "compaction.summary"
	}
	return "user.text"
}

// ownWords reports whether texts of a developer's message begin as the agent's own do.
func ownWords(pieces []piece) bool {
	return slices.ContainsFunc(pieces, func(p piece) bool {
		return p.kind != "" && p.kind != "unknown" || guess("user", p.text) == "harness"
	})
}

// noteworthy reports whether an injected text tells something of this session
// that stands nowhere else.
func noteworthy(text string) bool {
	text = strings.TrimSpace(text)
	for _, o := range [...]string{"<subagent_notification>", "<user_shell_command>", "<user_action>"} {
		if strings.HasPrefix(text, o) {
			return true
		}
	}
	return false
}

func textBlocks(pieces []piece) []session.Block {
	var out []session.Block
	for _, p := range pieces {
		if p.text != "" {
			out = append(out, session.Block{Kind: session.TextBlock, Text: p.text})
		}
	}
	return out
}

func callBody(f *fields, kind string) session.Body {
	name := f.x.Name(f.name)
	if space := strings.TrimRight(jsonl.Text(f.namespace), "_"); strings.HasPrefix(space, "mcp__") {
		name = space + "__" + name
	}
	args := f.arguments
	switch kind {
	case "custom_tool_call":
		args = f.input
	case "local_shell_call", "web_search_call":
		args = f.action
	case "image_generation_call":
		args = f.prompt
	}
	if name == "" {
		name = strings.TrimSuffix(kind, "_call")
	}
	return session.Body{
		Speaker: session.Action, CallID: f.call(),
		Blocks: []session.Block{{Kind: session.CallBlock, Name: name, Text: plainText(f.x, args)}},
	}
}

// plainText is a string as it is, and anything else as its JSON.
func plainText(x *jsonl.Index, v []byte) string {
	switch {
	case jsonl.IsString(v):
		return x.Text(v)
	case string(v) == "null":
		return ""
	}
	return string(v)
}

// call is the id of the call that an item is or answers.
func (f *fields) call() string {
	if jsonl.Filled(f.callID) {
		return jsonl.Text(f.callID)
	}
	return jsonl.Text(f.id)
}

func resultBody(f *fields) session.Body {
	output := f.output
	if jsonl.IsObject(output) {
		output = f.x.Field(output, "content") // the oldest form
	}
	pieces := contentTexts(f.x, output)
	for i := range pieces {
		pieces[i].text = inner(pieces[i].text)
	}
	return session.Body{
		Speaker: session.Tool, CallID: f.call(),
		Blocks: []session.Block{{Kind: session.ResultBlock, Content: textBlocks(pieces)}},
	}
}

// inner is the output in a text that holds it as JSON, beside its exit code, as
// the shell tools of many releases give it; any other text is itself. Escaped line
// ends would run into the words behind them.
func inner(text string) string {
	if !strings.HasPrefix(text, `{"output":`) {
		return text
	}
	v := []byte(text)
	if !jsonl.Valid(v) || !jsonl.IsObject(jsonl.Field(v, "metadata")) {
		return text
	}
	if output := jsonl.Field(v, "output"); jsonl.IsString(output) {
		return jsonl.Text(output)
	}
	return text
}

// hashPieces hashes role and text; where there is no text, the content as it stands.
func hashPieces(role string, pieces []piece, content []byte) uint64 {
	parts := []string{role}
	for _, p := range pieces {
		parts = append(parts, p.text)
	}
	if len(pieces) == 0 {
		parts = append(parts, string(content))
	}
	return hashOf(parts...)
}

// hashOf hashes texts, never to 0: FNV-1a, with a NUL behind each.
func hashOf(parts ...string) uint64 {
	const offset, prime = 0xcbf29ce484222325, 0x100000001b3
	h := uint64(offset)
	for _, p := range parts {
		for i := range len(p) {
			h = (h ^ uint64(p[i])) * prime
		}
		h *= prime
	}
	return max(h, 1)
}

// maxTitle is how long a title made of a prompt may be, in code points.
const maxTitle = 80

// request is what an editor's extension puts before the prompt itself.
const request = "## My request for Codex:"

// titleOf makes a title of a prompt: one line, cut.
func titleOf(b *session.Body) string {
	for _, block := range b.Blocks {
		text := block.Text
		if _, prompt, ok := strings.Cut(text, request); ok && strings.TrimSpace(prompt) != "" {
			text = prompt
		}
		if line := oneLine(text); line != "" {
			return line
		}
	}
	return ""
}

func oneLine(text string) string {
	// Far more than is needed, so that a huge prompt is not split as a whole.
	if len(text) > 1<<14 {
		text = text[:1<<14]
	}
	line := []rune(strings.Join(strings.Fields(strings.ToValidUTF8(text, "\uFFFD")), " "))
	return string(line[:min(len(line), maxTitle)])
}
