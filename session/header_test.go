package session_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/session"
)

func TestHeaderValidate(t *testing.T) {
	const safe = 9007199254740991 // 2^53 - 1, the largest integer a double holds beside its neighbours
	for _, tc := range []struct {
		name   string
		change func(*session.Header)
		ok     bool
	}{
		{"the least", func(*session.Header) {}, true},
		{"a relative workspace is the reader's matter", func(h *session.Header) { h.Cwd = "here" }, true},
		{"no id", func(h *session.Header) { h.ID = "" }, false},
		{"created at the beginning", func(h *session.Header) { h.CreatedAt = 0 }, true},
		{"created before the beginning", func(h *session.Header) { h.CreatedAt = -1 }, false},
		{"created at the last safe instant", func(h *session.Header) { h.CreatedAt = safe }, true},
		{"created behind it", func(h *session.Header) { h.CreatedAt = safe + 1 }, false},
		{"a negative seed", func(h *session.Header) { h.SeedLength = -1 }, false},
		{"a seed too large", func(h *session.Header) { h.SeedLength = safe + 1 }, false},
		{"the largest seed", func(h *session.Header) { h.SeedLength = safe }, true},
		{"a negative depth", func(h *session.Header) { h.DelegationDepth = -1 }, false},
		{"a depth too large", func(h *session.Header) { h.DelegationDepth = safe + 1 }, false},
		{"a subagent", func(h *session.Header) { h.Origin = "subagent" }, true},
		{"another origin", func(h *session.Header) { h.Origin = "Subagent" }, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := session.Header{Agent: session.DSH, ID: "s-1", CreatedAt: 1790000000000}
			tc.change(&h)
			err := h.Validate()
			if tc.ok && err != nil || !tc.ok && !errors.Is(err, fault.CorruptSession) {
				t.Errorf("got %v, want sound: %v", err, tc.ok)
			}
		})
	}
}

func TestInherited(t *testing.T) {
	h := session.Header{SeedLength: 3}
	for seq, want := range map[int64]bool{0: true, 2: true, 3: false, 9: false} {
		if h.Inherited(seq) != want {
			t.Errorf("event %d inherited: %v, want %v", seq, !want, want)
		}
	}
	if (session.Header{}).Inherited(0) {
		t.Error("a session without a seed inherits")
	}
}

// The names of the fields are public: results and hosts show them.
func TestHeaderAsJSON(t *testing.T) {
	h := session.Header{
		Agent: session.DSH, ID: "child-7", CreatedAt: 1790000005000, Cwd: "/home/ada/app", ParentSession: "session-1",
		SeedLength: 4, Origin: session.OriginSubagent, DelegationDepth: 1, AgentPreset: "reviewer",
	}
	want := `{"agent":"dsh","id":"child-7","version":0,"createdAt":1790000005000,"cwd":"/home/ada/app","parentSession":"session-1",` +
		`"seedLength":4,"origin":"subagent","delegationDepth":1,"agentPreset":"reviewer"}`
	got, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var back session.Header
	if err := json.Unmarshal(got, &back); err != nil || back != h {
		t.Errorf("came back as %+v, %v", back, err)
	}
}

func TestKeys(t *testing.T) {
	if got := (session.Header{Agent: "dsh", ID: "a:b"}).Key().String(); got != "dsh:a:b" {
		t.Errorf("got %s", got)
	}
	keys := []session.Key{{"dsh", "b"}, {"codex", "b"}, {"dsh", "B"}, {"dsh", "a10"}, {"dsh", "a9"}}
	slices.SortFunc(keys, session.CompareKey)
	want := []session.Key{{"dsh", "B"}, {"dsh", "a10"}, {"dsh", "a9"}, {"codex", "b"}, {"dsh", "b"}}
	if diff := cmp.Diff(want, keys); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSurfaceTypes(t *testing.T) {
	for _, typ := range []string{"user/message", "assistant/message", "tool/result"} {
		if !session.SurfaceType(typ) {
			t.Errorf("%s is no surface type", typ)
		}
	}
	for _, typ := range []string{"", "tool/call", "turn/start", "codex/user/message", "User/message"} {
		if session.SurfaceType(typ) {
			t.Errorf("%s is a surface type", typ)
		}
	}
}
