package mockmodel

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
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
	if w.Code == http.StatusOK && !json.Valid(out) && !bytes.HasPrefix(out, []byte("event: ")) && !bytes.HasPrefix(out, []byte("data: ")) {
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

func TestChat(t *testing.T) {
	h := New(script)
	h.salt = ""
	const tools = `"tools":[{"type":"function","function":{"name":"shell"}},{"type":"function","function":{"name":"mcp__x__search"}}]`
	const first = `{"role":"system","content":"be kind"},{"role":"user","content":[{"type":"text","text":"go"}]}`
	has(t, post(t, h, "/v1/chat/completions", `{"model":"m","messages":[`+first+`]}`), `"content":"ok"`)
	got := post(t, h, "/v1/chat/completions", `{"model":"m","stream":true,`+tools+`,"messages":[`+first+`]}`)
	has(t, got, `"function":{"arguments":"{\"q\":\"b\"}","name":"mcp__x__search"},"id":"call_t00_1","index":1`, `"finish_reason":"tool_calls"`, "data: [DONE]\n\n")
	has(t, post(t, h, "/v1/chat/completions", `{"model":"m",`+tools+`,"messages":[`+first+`]}`), `"id":"call_t00_0"`, `"finish_reason":"tool_calls"`)
	has(t, post(t, h, "/v1/chat/completions", `{"model":"m",`+tools+`,"messages":[`+first+`,
		{"role":"assistant","content":null,"tool_calls":[{"id":"call_t00_0","function":{"name":"shell","arguments":"{}"}},{"id":"call_t00_1","function":{"name":"shell"}}]},
		{"role":"tool","tool_call_id":"call_t00_0","content":"A"},{"role":"tool","tool_call_id":"call_t00_1","content":[{"type":"text","text":"B"}]}]}`), `"content":"second"`)
	for call, want := range []string{"A", "B"} {
		if got, ok := h.Result(0, call); !ok || got != want {
			t.Errorf("call %d: %q", call, got)
		}
	}
	sent := h.Sent()
	want := []Message{{Role: "user", Text: "go"}, {"call", "{}", "t00_0", "shell"}, {"call", "", "t00_1", "shell"}, {"result", "A", "t00_0", ""}, {"result", "B", "t00_1", ""}}
	if last := sent[len(sent)-1]; len(sent) != 4 || !slices.Equal(last.Messages, want) || !slices.Equal(last.Tools, []string{"shell", "mcp__x__search"}) {
		t.Errorf("%d requests, the last %v", len(sent), last)
	}
}

func TestGemini(t *testing.T) {
	h := New(script)
	h.salt = ""
	const tools = `"tools":[{"functionDeclarations":[{"name":"shell"},{"name":"mcp_x_search"}]}]`
	const first = `{"role":"user","parts":[{"text":"go"},{"text":"on"}]}`
	const path = "/v1beta/models/m:generateContent"
	has(t, post(t, h, path, `{"contents":[`+first+`]}`), `"text":"ok"`, `"finishReason":"STOP"`)
	has(t, post(t, h, "/v1beta/models/m:streamGenerateContent", `{`+tools+`,"contents":[`+first+`]}`),
		"data: {", `"functionCall":{"args":{"q":"b"},"id":"call_t00_1","name":"mcp_x_search"}`, `"finishReason":"STOP"`)
	has(t, post(t, h, path, `{`+tools+`,"contents":[`+first+`,
		{"role":"model","parts":[{"text":"hm","thought":true},{"text":"so"},{"functionCall":{"id":"call_t00_0","name":"shell","args":{}}},{"functionCall":{"id":"call_t00_1","name":"shell","args":{"a":1}}}]},
		{"role":"user","parts":[{"functionResponse":{"id":"call_t00_0","name":"shell","response":{"output":"A"}}},{"functionResponse":{"id":"call_t00_1","name":"shell","response":{"error":"B"}}}]}]}`), `"text":"second"`)
	for call, want := range []string{"A", "B"} {
		if got, ok := h.Result(0, call); !ok || got != want {
			t.Errorf("call %d: %q", call, got)
		}
	}
	sent := h.Sent()
	want := []Message{
		{Role: "user", Text: "go"}, {Role: "user", Text: "on"}, {Role: "assistant", Text: "so"}, {"call", "{}", "t00_0", "shell"}, {"call", `{"a":1}`, "t00_1", "shell"},
		{"result", "A", "t00_0", "shell"}, {"result", "B", "t00_1", "shell"},
	}
	if last := sent[len(sent)-1]; len(sent) != 3 || !slices.Equal(last.Messages, want) || !slices.Equal(last.Tools, []string{"shell", "mcp_x_search"}) {
		t.Errorf("%d requests, the last %v", len(sent), last)
	}
}

// A thread goes on from its prompt, whatever stands before it or is gone.
func TestThreads(t *testing.T) {
	h := NewThreads("a summary", []Thread{
		{"the first", []Turn{{Text: "1a", Calls: []Call{{Tool: "shell"}}}, {Text: "1b"}}},
		{"the second", []Turn{{Text: "2a"}, {Text: "2b"}}},
	})
	h.salt = ""
	ask := func(messages string) string {
		t.Helper()
		return post(t, h, "/v1/chat/completions", `{"model":"m","tools":[{"function":{"name":"shell"}}],"messages":[`+messages+`]}`)
	}
	const first, called, second = `{"role":"user","content":"do the first thing"}`,
		`{"role":"assistant","content":"1a","tool_calls":[{"id":"call_p00t00_0","function":{"name":"shell"}}]},{"role":"tool","tool_call_id":"call_p00t00_0","content":"A"}`,
		`{"role":"user","content":"do the second thing"}`
	for messages, want := range map[string]string{
		first:                      `"content":"1a","role":"assistant","tool_calls":[{"function":{"arguments":"{}","name":"shell"},"id":"call_p00t00_0"`,
		first + "," + called:       `"content":"1b"`,
		first + `,` + second:       `"content":"2a"`,
		second + `,` + first:       `"content":"1a"`,
		`{"role":"user"},` + first: `"content":"1a"`,
		first + `,{"role":"user","content":"be quick"}`:                   `"content":"1a"`,
		second + `,{"role":"assistant","content":"2a"}`:                   `"content":"2b"`,
		`{"role":"user","content":"hello"}`:                               `"content":"Done."`,
		`{"role":"user","content":"do the second thing, then the first"}`: `"content":"1a"`,
		`{"role":"user","content":"do the first thing, then the second"}`: `"content":"2a"`,
	} {
		has(t, ask(messages), want)
	}
	has(t, post(t, h, "/v1/chat/completions", `{"messages":[`+first+`]}`), `"content":"a summary"`)
	if got, ok := h.ThreadResult(0, 0, 0); !ok || got != "A" {
		t.Errorf("result %q, %v", got, ok)
	}
}

// What stalls sends its beginning and ends only with its client.
func TestStall(t *testing.T) {
	for path, body := range map[string]string{
		"/v1/chat/completions":                   `{"stream":true,"tools":[{"function":{"name":"shell"}}],"messages":[{"role":"user","content":"go"}]}`,
		"/v1beta/models/m:streamGenerateContent": `{"tools":[{"functionDeclarations":[{"name":"shell"}]}],"contents":[{"role":"user","parts":[{"text":"go"}]}]}`,
	} {
		h := New([]Turn{{Text: "beginning, end", Stall: true}})
		ctx, leave := context.WithCancel(t.Context())
		go func() {
			<-h.Stalled()
			leave()
		}()
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, strings.NewReader(body)).WithContext(ctx))
		if got := w.Body.String(); !strings.Contains(got, "beginni") || strings.Contains(got, "end") || strings.Contains(got, "STOP") {
			t.Errorf("%s: %s", path, got)
		}
	}
}
