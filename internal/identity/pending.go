package identity

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"

	"github.com/yorehq/yore/session"
)

// PendingCall is a call to look for in logs. With an ID only that call is
// meant, else any call of the tool with exactly these arguments that has no
// result yet.
type PendingCall struct {
	Agent session.Agent // whose logs are looked at; "": those of every agent
	ID    string        // the agent's own id of the call; "": not known
	Tool  string        // as the server names it
	Args  json.RawMessage
}

// matches reports whether a recorded call is the one that is looked for.
func (p PendingCall) matches(name, args string) bool {
	return isTool(name, p.Tool) && sameJSON([]byte(args), p.Args)
}

// isTool reports whether a recorded name means the tool: agents put the
// server's name before it, as in mcp__yore__session_search, mcp_yore_…, yore-… or yore.….
func isTool(recorded, tool string) bool {
	before, ok := strings.CutSuffix(recorded, tool)
	return ok && tool != "" && (before == "" || strings.HasSuffix(before, "_") || strings.HasSuffix(before, "-") || strings.HasSuffix(before, "."))
}

// sameJSON compares two arguments objects as values: the order of keys and the
// form of numbers and escapes differ between a log and the wire. No bytes are
// an empty object. What is no JSON equals nothing.
func sameJSON(a, b []byte) bool {
	x, ok := decode(a)
	if !ok {
		return false
	}
	y, ok := decode(b)
	return ok && reflect.DeepEqual(x, y)
}

func decode(data []byte) (any, bool) {
	if len(bytes.TrimSpace(data)) == 0 {
		return map[string]any{}, true
	}
	if !json.Valid(data) {
		return nil, false
	}
	var v any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	err := d.Decode(&v)
	return measured(v), err == nil
}

// measured replaces the numbers in a value by what they are worth. One that no
// float64 holds stays as it is written.
func measured(v any) any {
	switch v := v.(type) {
	case json.Number:
		if f, err := v.Float64(); err == nil {
			return f
		}
	case []any:
		for i := range v {
			v[i] = measured(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = measured(v[k])
		}
	}
	return v
}

// maxArgs is the longest arguments text, in bytes, that is kept of a recorded
// call; calls with more are not found again.
const maxArgs = 64 << 10

// openCalls are the calls of a log that have no result yet, by the agent's id.
type openCalls map[string]openCall

type openCall struct{ name, args string }

// apply follows one event of the log.
func (o openCalls) apply(e *session.Event) {
	switch e.Type {
	case session.ToolCall:
		for _, b := range e.Body.Blocks {
			if b.Kind == session.CallBlock && e.Body.CallID != "" && len(b.Text) <= maxArgs {
				o[e.Body.CallID] = openCall{b.Name, b.Text}
			}
		}
	case session.ToolResult:
		delete(o, e.Body.CallID)
	case session.TurnStart, session.TurnEnd, session.StepStart:
		// Whatever was open then has been given up.
		clear(o)
	}
}

func (o openCalls) has(p PendingCall) bool {
	for _, c := range o {
		if p.matches(c.name, c.args) {
			return true
		}
	}
	return false
}
