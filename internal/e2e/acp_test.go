package e2e

import "github.com/yorehq/yore/internal/mockmodel"

// acp speaks the Agent Client Protocol with a client: JSON-RPC 2.0, one object a
// line, by which editors drive it.
type acp struct {
	*talk
	id int
}

func (h *home) acp(dir string, env []string, name string, args ...string) *acp {
	h.t.Helper()
	a := &acp{talk: h.talk(dir, env, name, args...)}
	a.call("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": map[string]any{}})
	return a
}

// call makes a request and returns its result. Permission is given whenever it
// is asked for.
func (a *acp) call(method string, params map[string]any) map[string]any {
	a.t.Helper()
	id := a.begin(method, params)
	answer := a.await("the answer to "+method, func(v map[string]any) bool {
		if v["method"] == "session/request_permission" {
			a.say(map[string]any{"jsonrpc": "2.0", "id": v["id"], "result": map[string]any{
				"outcome": map[string]any{"outcome": "selected", "optionId": allowing(v["params"])},
			}})
		}
		return v["method"] == nil && v["id"] == id
	})
	if answer["error"] != nil {
		a.t.Fatalf("%s: %s: %v\n%s", a.name, method, answer["error"], a.errs)
	}
	result, _ := answer["result"].(map[string]any)
	return result
}

// begin makes a request, and waits for nothing. It returns the request's id.
func (a *acp) begin(method string, params map[string]any) float64 {
	a.t.Helper()
	a.id++
	a.say(map[string]any{"jsonrpc": "2.0", "id": a.id, "method": method, "params": params})
	return float64(a.id)
}

// allowing finds the answer that allows.
func allowing(params any) any {
	p, _ := params.(map[string]any)
	options, _ := p["options"].([]any)
	for _, o := range options {
		if o, _ := o.(map[string]any); o["kind"] == "allow_once" || o["kind"] == "allow_always" {
			return o["optionId"]
		}
	}
	return nil
}

// open starts a session and returns its id.
func (a *acp) open(dir string) string {
	a.t.Helper()
	id, _ := a.call("session/new", map[string]any{"cwd": dir, "mcpServers": []any{}})["sessionId"].(string)
	return id
}

// load opens a session that the client has kept.
func (a *acp) load(session, dir string) {
	a.t.Helper()
	a.call("session/load", map[string]any{"sessionId": session, "cwd": dir, "mcpServers": []any{}})
}

func (a *acp) prompt(session, text string) {
	a.t.Helper()
	if answer := a.call("session/prompt", prompting(session, text)); answer["stopReason"] != "end_turn" {
		a.t.Errorf("%s: %s: %v\n%s", a.name, text, answer, a.errs)
	}
}

func prompting(session, text string) map[string]any {
	return map[string]any{"sessionId": session, "prompt": []any{map[string]any{"type": "text", "text": text}}}
}

// promptAndKill kills the client while the answer comes.
func (a *acp) promptAndKill(model *mockmodel.Handler, session, text string) {
	a.t.Helper()
	a.begin("session/prompt", prompting(session, text))
	a.kill(model)
}
