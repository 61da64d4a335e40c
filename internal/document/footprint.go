package document

import (
	"encoding/json"
	"strings"

	"github.com/yorehq/yore/session"
)

// footprints are the product's own tools with an argument that a call of each
// must have; "" is none.
var footprints = []struct{ tool, required string }{
	{"session_search", "query"},
	{"session_event_search", "query"},
	{"session_trace", ""},
	{"session_event_trace", "seq"},
	{"session_event_read", "seq"},
}

// Footprint reports whether a tool call is one of the product's own: its name
// is one of the five, or ends in one behind a client's prefix (mcp__server__,
// server_, namespace.), and its arguments are an object with the required key.
// Such calls and their results are no history: a search must not find searches.
func Footprint(name, arguments string) bool {
	for _, f := range footprints {
		rest, ok := strings.CutSuffix(name, f.tool)
		if !ok || rest != "" && !strings.HasSuffix(rest, "_") && !strings.HasSuffix(rest, ".") {
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

// WithoutFootprints returns a body without the blocks that are calls of the
// product's own tools, and how many there were. The given body's blocks are not
// changed.
func WithoutFootprints(b session.Body) (clean session.Body, calls int) {
	kept := make([]session.Block, 0, len(b.Blocks))
	for _, block := range b.Blocks {
		if block.Kind == session.CallBlock && Footprint(block.Name, block.Text) {
			calls++
			continue
		}
		kept = append(kept, block)
	}
	if calls > 0 {
		b.Blocks = kept
	}
	return b, calls
}
