package document

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yorehq/yore/session"
)

// footprint is one of the product's own tools and an argument that a call of it
// must have; "" is none.
type footprint struct{ tool, required string }

var footprints = []footprint{
	{"session_search", "query"},
	{"session_event_search", "query"},
	{"session_trace", ""},
	{"session_event_trace", "seq"},
	{"session_event_read", "seq"},
}

// Footprint reports whether a tool call is one of the product's own: its name
// is one of the five, or ends in one behind a client's prefix (mcp__server__,
// server_, server-, namespace.), and its arguments are an object with the required key.
// So is a script that calls one of the five, where the agent runs scripts of
// tool calls. Such calls and their results are no history: a search must not
// find searches.
func Footprint(name, arguments string) bool {
	if named(name, scriptTool) {
		return scripted(arguments)
	}
	if name == codeTool {
		var a struct{ Code string }
		return json.Unmarshal([]byte(arguments), &a) == nil && scripted(a.Code)
	}
	if name == proxyTool {
		var a struct {
			ToolName  string
			Arguments json.RawMessage
		}
		if json.Unmarshal([]byte(arguments), &a) != nil || a.ToolName == proxyTool {
			return false
		}
		return Footprint(a.ToolName, cmp.Or(string(a.Arguments), "{}"))
	}
	for _, f := range footprints {
		if !named(name, f.tool) {
			continue
		}
		var keys map[string]json.RawMessage
		if json.Unmarshal([]byte(arguments), &keys) != nil || keys == nil {
			return false
		}
		_, has := keys[f.required]
		return f.required == "" || has
	}
	return false
}

// scriptTool is what Codex names the tool that runs a script of tool calls.
const scriptTool = "exec"

// codeTool is what Pi names its own, whose arguments hold the script.
const codeTool = "codemode"

// proxyTool is what Cursor names the tool that calls every server's tools.
const proxyTool = "CallMcpTool"

// named reports whether a recorded name is a tool's, behind any prefix.
func named(name, tool string) bool {
	rest, ok := strings.CutSuffix(name, tool)
	return ok && (rest == "" || strings.HasSuffix(rest, "_") || strings.HasSuffix(rest, "-") || strings.HasSuffix(rest, "."))
}

// scripted reports whether a text that is a script, and no arguments object,
// calls one of the product's tools.
func scripted(text string) bool {
	calls := slices.ContainsFunc(footprints, func(f footprint) bool { return callsIn(text, f.tool) })
	var keys map[string]json.RawMessage
	return calls && json.Unmarshal([]byte(text), &keys) != nil
}

// callsIn reports whether a script calls a tool: its name, not as the end of a
// longer word, and a bracket behind it.
func callsIn(script, tool string) bool {
	for {
		before, rest, found := strings.Cut(script, tool)
		if !found {
			return false
		}
		last, _ := utf8.DecodeLastRuneInString(before)
		longer := unicode.IsLetter(last) || unicode.IsDigit(last)
		if !longer && strings.HasPrefix(strings.TrimLeftFunc(rest, unicode.IsSpace), "(") {
			return true
		}
		script = rest
	}
}

// WithoutFootprints returns a body without the blocks that are calls of the
// product's own tools, and how many there were. The given body's blocks are not
// changed.
func WithoutFootprints(b session.Body) (clean session.Body, calls int) {
	ours := func(b session.Block) bool { return b.Kind == session.CallBlock && Footprint(b.Name, b.Text) }
	first := slices.IndexFunc(b.Blocks, ours)
	if first < 0 {
		return b, 0
	}
	kept := slices.Clone(b.Blocks[:first])
	for _, block := range b.Blocks[first:] {
		if ours(block) {
			calls++
			continue
		}
		kept = append(kept, block)
	}
	b.Blocks = kept
	return b, calls
}
