package serve_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/internal/team"
	"github.com/yorehq/yore/postgres"
)

// read returns the bytes of an event as the server has them.
func read(t *testing.T, s *team.Server, id, seq string) string {
	t.Helper()
	text, err := s.Lines(t.Context(), "read", map[string][]string{"session_id": {id}, "seq": {seq}})
	if err != nil {
		t.Fatal(err)
	}
	var w struct{ Native json.RawMessage }
	if err := json.Unmarshal(text, &w); err != nil {
		t.Fatal(err)
	}
	return string(w.Native)
}

// found returns the ids of the sessions that a search finds, in order.
func found(t *testing.T, s *team.Server, query string) (ids []string) {
	t.Helper()
	text, err := s.Lines(t.Context(), "search", map[string][]string{"query": {query}})
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var l struct {
			Session *struct{ ID, Workspace string }
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		if l.Session != nil {
			ids = append(ids, l.Session.ID+" in "+l.Session.Workspace)
		}
	}
	return ids
}

// What is sent is found and read on the server, under its name there, byte for
// byte; what is new alone is sent again; the machine's path is nowhere.
func TestPush(t *testing.T) {
	r := newRig(t)
	m := newMachine(t, map[string]string{"/home/ada/app": "app"})
	s := r.server(r.mint("acme", "ada", both, "app"))
	m.begin("/home/ada/app", "one")
	m.begin("/home/ada/secret", "two")
	m.say("/home/ada/app", "one", 0, "the linker fails")
	m.say("/home/ada/app", "one", 1, "unrelated 中文 text")
	m.say("/home/ada/secret", "two", 0, "the linker fails elsewhere")
	if got := m.push(s); got.Sessions != 1 || got.Sent != 1 || got.Events != 2 || len(got.Skips) != 0 {
		t.Errorf("%+v", got)
	}
	if diff := cmp.Diff([]string{"team:one in app"}, found(t, s, "linker fails")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"team:one in app"}, found(t, s, "文")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for i, want := range natives(t, m.path("/home/ada/app", "one")) {
		if got := read(t, s, "one", string(rune('0'+i))); got != string(want) {
			t.Errorf("event %d\nwant %s\ngot  %s", i, want, got)
		}
	}
	if got := m.push(s); got.Sent != 0 || got.Events != 0 {
		t.Errorf("nothing is new: %+v", got)
	}
	m.say("/home/ada/app", "one", 2, "and the linker again")
	if got := m.push(s); got.Sent != 1 || got.Events != 1 || got.Anew != 0 {
		t.Errorf("one event is new: %+v", got)
	}
	// Without its memory the machine asks what is there, and sends nothing twice.
	if err := os.RemoveAll(m.dir); err != nil {
		t.Fatal(err)
	}
	m.say("/home/ada/app", "one", 3, "a fourth")
	if got := m.push(s); got.Events != 1 || got.Anew != 0 {
		t.Errorf("its memory is gone: %+v", got)
	}
	// A log that was written anew replaces what was sent.
	m.begin("/home/ada/app", "one")
	m.say("/home/ada/app", "one", 0, "another beginning")
	if got := m.push(s); got.Events != 1 {
		t.Errorf("rewritten: %+v", got)
	}
	if got := found(t, s, "linker"); got != nil {
		t.Errorf("what was replaced is still found: %v", got)
	}
	// And so does one that was written anew while the memory was lost.
	if err := os.RemoveAll(m.dir); err != nil {
		t.Fatal(err)
	}
	m.begin("/home/ada/app", "one")
	m.say("/home/ada/app", "one", 0, "a third beginning")
	m.say("/home/ada/app", "one", 1, "with more")
	if got := m.push(s); got.Events != 2 || got.Anew != 1 {
		t.Errorf("rewritten without a memory: %+v", got)
	}
	if diff := cmp.Diff([]string{"team:one in app"}, found(t, s, "third beginning")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A server that was set back to an earlier state gets what it lacks.
func TestPushAgain(t *testing.T) {
	r := newRig(t)
	m := newMachine(t, map[string]string{"/w": "/w"})
	s := r.server(r.mint("acme", "ada", both, "/w"))
	for _, id := range []string{"one", "two"} {
		m.begin("/w", id)
		m.say("/w", id, 0, "the linker fails")
	}
	m.push(s)
	m.say("/w", "one", 1, "the second")
	m.push(s)
	workspace := "/w"
	if _, err := r.db.Tenant("acme").Erase(t.Context(), postgres.Erasure{Workspace: &workspace}); err != nil {
		t.Fatal(err)
	}
	if got := m.push(s); got.Events != 0 {
		t.Errorf("%+v", got)
	}
	p := m.pusher(s)
	p.Again = true
	if got, err := p.Run(t.Context(), nil); err != nil || got.Events != 3 || len(got.Skips) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	if got := found(t, s, "linker"); len(got) != 2 {
		t.Errorf("%v", got)
	}
	m.say("/w", "two", 1, "goes on")
	if got := m.push(s); got.Events != 1 || got.Anew != 0 {
		t.Errorf("%+v", got)
	}
}

// Credentials are masked before they leave, in text and in bytes.
func TestPushMasks(t *testing.T) {
	const secret = "ghp_x8Kq2mVn4Rt7Wz1Yb5Lc9Dh3Jf6Ps0AeGuQi"
	r := newRig(t)
	m := newMachine(t, map[string]string{"/w": "/w"})
	s := r.server(r.mint("acme", "ada", both, "/w"))
	m.begin("/w", "one")
	m.say("/w", "one", 0, "use "+secret+" for it")
	preview, err := m.pusher(nil).Preview(t.Context())
	if err != nil || len(preview.Workspaces) != 1 || preview.Workspaces[0].Masked != 1 || preview.Workspaces[0].New != 1 || preview.Workspaces[0].Events != 1 {
		t.Errorf("%+v, %v", preview, err)
	}
	if got := found(t, s, "for it"); got != nil {
		t.Errorf("a preview sent something: %v", got)
	}
	if got := m.push(s); got.Masked != 1 {
		t.Errorf("%+v", got)
	}
	if got := read(t, s, "one", "0"); strings.Contains(got, secret) || !strings.Contains(got, "for it") {
		t.Errorf("read: %s", got)
	}
	// The server masks what it shows as well, so the rows themselves are asked.
	h := r.db.Tenant("acme")
	known, err := h.Headers(t.Context(), everything)
	if err != nil || len(known) != 1 {
		t.Fatal(known, err)
	}
	if strings.Contains(known[0].Path, m.root) {
		t.Errorf("the place on the machine was sent: %s", known[0].Path)
	}
	for _, raw := range kept(t, h, known[0].Path) {
		if strings.Contains(string(raw), secret) {
			t.Errorf("the database has %s", raw)
		}
	}
}

func TestForgottenIsTakenBack(t *testing.T) {
	r := newRig(t)
	m := newMachine(t, map[string]string{"/w": "/w"})
	s := r.server(r.mint("acme", "ada", both, "/w"))
	for _, id := range []string{"one", "two", "three"} {
		m.begin("/w", id)
		m.say("/w", id, 0, "the linker fails")
	}
	m.forgotten["three"] = true
	m.push(s)
	if got := found(t, s, "linker"); len(got) != 2 {
		t.Errorf("%v", got)
	}
	m.forgotten["one"] = true
	if got := m.push(s); got.Withdrawn != 1 {
		t.Errorf("%+v", got)
	}
	if diff := cmp.Diff([]string{"team:two in /w"}, found(t, s, "linker")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := m.push(s); got.Withdrawn != 0 || got.Sent != 0 {
		t.Errorf("again: %+v", got)
	}
}

// Nobody writes to what somebody else has sent, or takes it back.
func TestSessionsArePeoples(t *testing.T) {
	r := newRig(t)
	ada, bob := newMachine(t, map[string]string{"/w": "/w"}), newMachine(t, map[string]string{"/w": "/w"})
	sa, sb := r.server(r.mint("acme", "ada", both, "/w")), r.server(r.mint("acme", "bob", both, "/w"))
	for i, m := range []*machine{ada, bob} {
		m.begin("/w", "one")
		m.say("/w", "one", 0, []string{"the linker fails", "something forged"}[i])
	}
	ada.push(sa)
	if got := bob.push(sb); len(got.Skips) != 1 || got.Events != 0 {
		t.Errorf("%+v", got)
	}
	if err := sb.Withdraw(t.Context(), team.Withdrawal{Workspace: "/w", Agent: "dsh", ID: "one"}); err == nil {
		t.Error("taken back by somebody else")
	}
	if got := found(t, sb, "linker"); len(got) != 1 {
		t.Errorf("%v", got)
	}
	// The same person's other machine may.
	if got := ada.push(r.server(r.mint("acme", "ada", both, "/w"))); len(got.Skips) != 0 {
		t.Errorf("%+v", got)
	}
	// A token that may only read sends nothing, one that may only send reads nothing.
	ada.say("/w", "one", 1, "more")
	if _, err := ada.pusher(r.server(r.mint("acme", "ada", []string{postgres.RightRead}, "/w"))).Run(t.Context(), nil); err == nil {
		t.Error("sent with a token that may only read")
	}
	if _, err := r.server(r.mint("acme", "ada", []string{postgres.RightPush}, "/w")).Lines(t.Context(), "list", map[string][]string{}); err == nil {
		t.Error("read with a token that may only send")
	}
	// Nor does a token send to a workspace that it does not hold.
	other := r.server(r.mint("acme", "ada", both, "/v"))
	if got, err := ada.pusher(other).Run(t.Context(), nil); err == nil && got.Events > 0 {
		t.Errorf("sent to a foreign workspace: %+v", got)
	}
}
