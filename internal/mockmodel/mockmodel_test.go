package mockmodel

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func post(t *testing.T, h http.Handler, path, body string) string {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, strings.NewReader(body)))
	out, err := io.ReadAll(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	if w.Code == http.StatusOK && !json.Valid(out) && !bytes.HasPrefix(out, []byte("event: ")) {
		t.Errorf("%s answers with %q", path, out)
	}
	return string(out)
}

var script = []Turn{
	{Calls: []Call{{Tool: "search", Args: `{"q":"a"}`}, {Tool: "search", Args: `{"q":"b"}`}}},
	{Text: "second"},
}

func has(t *testing.T, got string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(got, w) {
			t.Errorf("no %s in %s", w, got)
		}
	}
}

func TestMessages(t *testing.T) {
	h := New(script)
	h.salt = ""
	const tools = `"tools":[{"name":"research"},{"name":"mcp__x__search"}]`
	const first = `{"role":"user","content":"go"}`
	has(t, post(t, h, "/v1/messages", `{"model":"m","messages":[`+first+`]}`), `"text":"ok"`)
	has(t, post(t, h, "/v1/messages", `{"model":"m",`+tools+`,"messages":[`+first+`]}`),
		`"id":"toolu_t00_0","input":{"q":"a"},"name":"research"`, `"stop_reason":"tool_use"`)
	has(t, post(t, h, "/v1/messages", `{"model":"m","stream":true,"tools":[{"name":"mcp__x__search"}],"messages":[`+first+`]}`),
		"event: content_block_start", `"name":"mcp__x__search"`, `"partial_json":"{\"q\":\"b\"}"`, "event: message_stop")
	if _, ok := h.Result(0, 1); ok {
		t.Error("a result before there is one")
	}
	// One answer handed back as two messages is one turn.
	has(t, post(t, h, "/v1/messages", `{"model":"m",`+tools+`,"messages":[`+first+`,{"role":"assistant","content":[{"type":"tool_use"}]},{"role":"assistant","content":[{"type":"tool_use"}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_t00_0","content":"A"},{"type":"tool_result","tool_use_id":"toolu_t00_1","content":[{"type":"text","text":"B"}]}]}]}`), `"text":"second"`)
	for call, want := range []string{"A", "B"} {
		if got, ok := h.Result(0, call); !ok || got != want {
			t.Errorf("call %d: %q", call, got)
		}
	}
	has(t, post(t, h, "/v1/messages", `{"model":"m",`+tools+`,"messages":[`+first+`,{"role":"assistant"},`+first+`,{"role":"assistant"},`+first+`]}`), "Done.")
	post(t, h, "/v1/else", "{}")
	if n, unknown := h.Requests(); n != 5 || len(unknown) != 1 || unknown[0] != "POST /v1/else" {
		t.Errorf("%d requests, unknown %v", n, unknown)
	}
}

func TestResponses(t *testing.T) {
	h := New(script)
	h.salt = ""
	const tools = `"tools":[{"type":"function","name":"shell"},{"type":"namespace","name":"mcp__x","tools":[{"type":"function","name":"search"}]}]`
	const first = `{"type":"message","role":"user","content":[{"type":"input_text","text":"go"}]}`
	has(t, post(t, h, "/v1/responses", `{"model":"m","stream":true,`+tools+`,"input":[`+first+`]}`),
		"event: response.output_item.done", `"arguments":"{\"q\":\"a\"}"`, `"call_id":"call_t00_1"`, `"name":"search","namespace":"mcp__x"`, "event: response.completed")
	// Calls and results of one turn in pairs.
	has(t, post(t, h, "/v1/responses", `{"model":"m",`+tools+`,"input":[`+first+`,
		{"type":"function_call","call_id":"call_t00_0"},{"type":"function_call_output","call_id":"call_t00_0","output":"A"},
		{"type":"function_call","call_id":"call_t00_1"},{"type":"function_call_output","call_id":"call_t00_1","output":[{"type":"input_text","text":"B"}]}]}`), `"text":"second"`)
	for call, want := range []string{"A", "B"} {
		if got, ok := h.Result(0, call); !ok || got != want {
			t.Errorf("call %d: %q", call, got)
		}
	}
}
