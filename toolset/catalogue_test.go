package toolset

import (
	"encoding/json"
	"strings"
	"testing"
)

// bytesPerToken is the usual estimate for English and JSON.
const bytesPerToken = 4

// cost counts what a host sends a model for the tools: everything but the
// title, which is for people.
func cost() int {
	n := len(Guidance())
	for _, t := range Catalogue() {
		n += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	return (n + bytesPerToken - 1) / bytesPerToken
}

func TestCatalogueIsCheap(t *testing.T) {
	if got := cost(); got > 1100 {
		t.Errorf("the tools and their guidance cost %d tokens, want at most 1100", got)
	}
}

func TestCatalogueIsFixed(t *testing.T) {
	want := []string{"session_search", "session_event_search", "session_trace", "session_event_trace", "session_event_read"}
	for i, tool := range Catalogue() {
		if tool.Name != want[i] {
			t.Errorf("tool %d is %s, want %s", i, tool.Name, want[i])
		}
		if (tool.Class == Exclusive) != strings.HasSuffix(tool.Name, "_search") {
			t.Errorf("%s is %s", tool.Name, tool.Class)
		}
		if tool.MaxResultChars != (tool.Name == "session_event_read") {
			t.Errorf("%s: MaxResultChars is %t", tool.Name, tool.MaxResultChars)
		}
		var schema struct {
			Type       string
			Properties map[string]map[string]any
			Required   []string
		}
		if err := json.Unmarshal(tool.Schema, &schema); err != nil || schema.Type != "object" {
			t.Fatalf("%s: schema %s: %v", tool.Name, tool.Schema, err)
		}
		for _, r := range schema.Required {
			if schema.Properties[r] == nil {
				t.Errorf("%s requires %s, which it does not have", tool.Name, r)
			}
		}
	}
}

// A host may hide tools behind a search over their descriptions; the words that
// a model would look for stand in each first sentence.
func TestFirstSentenceIsFindable(t *testing.T) {
	for _, tool := range Catalogue() {
		first, _, _ := strings.Cut(tool.Description, ". ")
		for _, word := range []string{"session"} {
			if !strings.Contains(strings.ToLower(first), word) {
				t.Errorf("%s: first sentence %q does not say %q", tool.Name, first, word)
			}
		}
		if !strings.Contains(first, "past") {
			t.Errorf("%s: first sentence %q does not say that it is about past sessions", tool.Name, first)
		}
	}
}

// The arguments are those of the design, with their types.
func TestSchemas(t *testing.T) {
	const (
		text  = `{"type":"string"}`
		num   = `{"type":"integer"}`
		texts = `{"items":{"type":"string"},"type":"array"}`
		faces = `{"items":{"enum":["current","shadowed","log-only"],"type":"string"},"type":"array"}`
		match = `{"enum":["auto","literal"],"type":"string"}`
	)
	want := map[string]map[string]string{
		"session_search": {
			"query": text, "match": match, "session_ids": texts, "created_at_from": text, "created_at_to": text,
			"parent_session_ids": texts, "include_root_sessions": `{"type":"boolean"}`,
			"availability":   `{"items":{"enum":["live","persisted"],"type":"string"},"type":"array"}`,
			"event_seq_from": num, "event_seq_to": num, "event_time_from": text, "event_time_to": text,
			"event_types": texts, "event_surfaces": faces,
		},
		"session_event_search": {
			"query": text, "match": match, "session_id": text, "seq_from": num, "seq_to": num,
			"time_from": text, "time_to": text, "event_types": texts, "surfaces": faces,
		},
		"session_trace":       {"session_id": text},
		"session_event_trace": {"session_id": text, "seq": num},
		"session_event_read":  {"session_id": text, "seq": num, "before": num, "after": num},
	}
	for _, tool := range Catalogue() {
		var schema struct{ Properties map[string]map[string]any }
		if err := json.Unmarshal(tool.Schema, &schema); err != nil {
			t.Fatal(err)
		}
		if len(schema.Properties) != len(want[tool.Name]) {
			t.Errorf("%s has %d arguments, want %d", tool.Name, len(schema.Properties), len(want[tool.Name]))
		}
		for name, def := range schema.Properties {
			delete(def, "description")
			got, err := json.Marshal(def)
			if err != nil || string(got) != want[tool.Name][name] {
				t.Errorf("%s %s is %s, want %s (%v)", tool.Name, name, got, want[tool.Name][name], err)
			}
		}
	}
}

func TestCardOf(t *testing.T) {
	for _, c := range []struct{ tool, args, kind, title string }{
		{"session_search", `{"query":"linker"}`, "search", "Search sessions: linker"},
		{"session_search", `{"query":7}`, "search", "Search sessions"},
		{"session_search", `nonsense`, "search", "Search sessions"},
		{"session_event_search", `{"query":"a\n\u001b[31mb","session_id":"s"}`, "search", "Search one session: a b in s"},
		{"session_event_read", `{"seq":12}`, "read", "Read an event #12"},
		{"session_trace", ``, "read", "Trace a session"},
		{"no\ntool", `{}`, "read", "no tool"},
	} {
		got := CardOf(c.tool, json.RawMessage(c.args))
		if got.Kind != c.kind || got.Title != c.title || string(got.Input) != c.args {
			t.Errorf("CardOf(%q, %s) = %q %q %s", c.tool, c.args, got.Kind, got.Title, got.Input)
		}
	}
	long := CardOf("session_search", json.RawMessage(`{"query":"`+strings.Repeat("x", 500)+`"}`))
	if n := len([]rune(long.Title)); n > 80 {
		t.Errorf("a title of %d code points", n)
	}
}
