package e2e

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
	a.id++
	id := float64(a.id)
	a.say(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
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

// load opens a session that the client has kept.
func (a *acp) load(session, dir string) {
	a.t.Helper()
	a.call("session/load", map[string]any{"sessionId": session, "cwd": dir, "mcpServers": []any{}})
}

func (a *acp) prompt(session, text string) {
	a.t.Helper()
	a.call("session/prompt", map[string]any{"sessionId": session, "prompt": []any{map[string]any{"type": "text", "text": text}}})
}
