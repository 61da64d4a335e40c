package toolset

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/fault"
)

func TestDecode(t *testing.T) {
	for _, c := range []struct {
		name, tool, args string
		want             args
	}{
		{"all kinds", "session_search",
			`{"query":"q","session_ids":["a","b"],"include_root_sessions":true,"event_seq_from":3,"event_surfaces":["log-only"],"match":"literal"}`,
			args{"query": "q", "session_ids": []string{"a", "b"}, "include_root_sessions": true, "event_seq_from": int64(3),
				"event_surfaces": []string{"log-only"}, "match": "literal"}},
		{"unknown ones are ignored", "session_trace", `{"limit":5,"cursor":null,"Session_ID":3}`, args{}},
		{"nothing", "session_trace", ``, args{}},
		{"empty lists are no matter of types", "session_search", `{"query":"","session_ids":[]}`, args{"query": "", "session_ids": []string{}}},
		{"whole numbers in other notations", "session_event_read", `{"seq":3.0,"before":1e1,"after":-0}`,
			args{"seq": int64(3), "before": int64(10), "after": int64(0)}},
		{"size and sign come later", "session_event_read", `{"seq":1e300,"before":-1e300,"after":-1}`,
			args{"seq": int64(1<<63 - 1), "before": int64(-1 << 63), "after": int64(-1)}},
		{"last of a repeated key", "session_event_trace", `{"seq":"x","seq":4}`, args{"seq": int64(4)}},
	} {
		tool, _ := find(c.tool)
		got, err := tool.decode(json.RawMessage(c.args))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, c := range []struct{ name, tool, args, want string }{
		{"missing", "session_search", `{}`, "invalid arguments: query is required: a string"},
		{"null is not absent", "session_trace", `{"session_id":null}`, "invalid arguments: session_id must be a string, not null"},
		{"a list", "session_search", `[]`, "invalid arguments: they are []; want an object"},
		{"null", "session_search", `null`, "invalid arguments: they are null; want an object"},
		{"text", "session_search", `"query"`, `invalid arguments: they are "query"; want an object`},
		{"broken", "session_search", `{"query":`, "invalid arguments: they are no JSON; want an object"},
		{"two values", "session_search", `{} {}`, "invalid arguments: they are no JSON; want an object"},
		{"every violation", "session_search",
			`{"query":7,"session_ids":"x","availability":["remote",3],"event_seq_from":"a","include_root_sessions":1}`,
			"invalid arguments: query must be a string, not 7; session_ids must be a list, each item a string, not \"x\"; " +
				"include_root_sessions must be true or false, not 1; " +
				"availability must be a list, each item one of live, persisted, not [\"remote\",3]; " +
				"event_seq_from must be an integer, not \"a\""},
		{"fraction", "session_event_read", `{"seq":1.5}`, "invalid arguments: seq must be an integer, not 1.5"},
		{"beyond all numbers", "session_event_read", `{"seq":1e999}`, "invalid arguments: seq must be an integer, not 1e999"},
		{"unknown value", "session_search", `{"query":"x","match":"fuzzy"}`, `invalid arguments: match must be one of auto, literal, not "fuzzy"`},
		{"long values are not repeated", "session_search", `{"query":["` + strings.Repeat("x", 99) + `"]}`,
			"invalid arguments: query must be a string, not this list"},
	} {
		tool, _ := find(c.tool)
		_, err := tool.decode(json.RawMessage(c.args))
		if !errors.Is(err, fault.InvalidArgs) {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if d := cmp.Diff(c.want, fault.SafeText(err)); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
}

func TestRules(t *testing.T) {
	ignore := func(_ any, err error) error { return err }
	for _, c := range []struct {
		name string
		err  error
		code fault.Code
		says string
	}{
		{"blank query", ignore(args{"query": " \t\u00a0\u2028\ufeff\u3000"}.queryText()), fault.InvalidQuery, "query must hold some text"},
		{"NUL", ignore(args{"query": "a\x00b"}.queryText()), fault.InvalidQuery, "query must not hold NUL"},
		{"empty list", ignore(args{"session_ids": []string{}}.some("session_ids")), fault.InvalidFilter, "session_ids must contain at least one value"},
		{"empty surfaces", ignore(args{"surfaces": []string{}}.states("surfaces")), fault.InvalidFilter, "surfaces must contain at least one value"},
		{"negative", ignore(args{"seq": int64(-1)}.seq("seq")), fault.InvalidFilter, "seq must be an integer from 0 to 9007199254740991"},
		{"not safe", ignore(args{"seq": int64(1 << 53)}.seq("seq")), fault.InvalidFilter, "seq must be an integer from 0"},
		{"reversed", ignore(args{"seq_from": int64(5), "seq_to": int64(4)}.seqRange("seq")), fault.InvalidFilter, "seq_from must not be greater than seq_to"},
		{"from speaks first", ignore(args{"time_from": "soon", "time_to": "later"}.timeRange("time")), fault.InvalidFilter, "time_from"},
	} {
		if !errors.Is(c.err, c.code) || !strings.HasPrefix(fault.SafeText(c.err), c.says) {
			t.Errorf("%s: %v, want %s: %s", c.name, c.err, c.code, c.says)
		}
	}
	// A zero-width space and NEL are text for ECMAScript.
	for _, q := range []string{"\u200b", "\u0085", "x"} {
		if got, err := (args{"query": q}).queryText(); err != nil || got != q {
			t.Errorf("query %q: %q, %v", q, got, err)
		}
	}
	if n, err := (args{"seq": int64(1<<53 - 1)}).seq("seq"); err != nil || *n != 1<<53-1 {
		t.Errorf("the largest safe integer is refused: %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(`{"query":"x","session_ids":["a"],"event_seq_from":1}`)
	f.Add(`{"query":null,"availability":[{}],"event_seq_to":1e999}`)
	f.Fuzz(func(t *testing.T, raw string) {
		for _, tool := range tools() {
			if _, err := tool.decode(json.RawMessage(raw)); err != nil && !errors.Is(err, fault.InvalidArgs) {
				t.Errorf("%s %q: %v", tool.Name, raw, err)
			}
			CardOf(tool.Name, json.RawMessage(raw))
		}
	})
}
