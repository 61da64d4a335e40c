package serve_test

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/internal/push"
	"github.com/yorehq/yore/postgres"
)

// again compares every session with what the server has.
func (m *machine) again(r *rig, token string) push.Report {
	m.t.Helper()
	p := m.pusher(r.server(token))
	p.Again = true
	got, err := p.Run(m.t.Context(), nil)
	if err != nil {
		m.t.Fatal(err)
	}
	return got
}

// What the server has acknowledged it has, although the same bytes came before: they
// were erased since, or something else took their place.
func TestStretchOfAStateThatIsGone(t *testing.T) {
	r := newRig(t)
	m := newMachine(t, map[string]string{"/w": "/w"})
	token := r.mint("acme", "ada", both, "/w")
	s := r.server(token)
	versions := map[string]string{"A": "linker", "B": "parser"}
	write := func(version string) {
		t.Helper()
		if err := os.RemoveAll(m.path("/w", "one")); err != nil {
			t.Fatal(err)
		}
		m.begin("/w", "one")
		m.say("/w", "one", 0, versions[version])
		m.say("/w", "one", 1, "and so on")
	}
	has := func(when, want string) {
		t.Helper()
		for v, text := range versions {
			var ids []string
			if v == want {
				ids = []string{"team:one in /w"}
			}
			if d := cmp.Diff(ids, found(t, s, text)); d != "" {
				t.Errorf("%s, searching for version %s: %s", when, v, d)
			}
		}
	}
	write("A")
	m.push(s)
	has("at first", "A")

	// An erasure leaves the notes of what was applied: other people's are among them.
	person := "ada"
	if _, err := r.db.Tenant("acme").Erase(t.Context(), postgres.Erasure{Person: &person}); err != nil {
		t.Fatal(err)
	}
	has("erased", "")
	if got := m.again(r, token); got.Sent != 1 || got.Events != 2 {
		t.Errorf("what was erased is sent again: %+v", got)
	}
	has("sent again", "A")

	// A log that is set back to what it was, and set forth again.
	for _, v := range []string{"B", "A", "B", "A"} {
		write(v)
		if got := m.push(s); got.Events != 2 || len(got.Skips) != 0 {
			t.Errorf("version %s: %+v", v, got)
		}
		has("in turns", v)
	}

	// Taken back, and sent once more.
	m.forgotten["one"] = true
	m.push(s)
	has("taken back", "")
	delete(m.forgotten, "one")
	m.push(s)
	has("wanted again", "A")

	// Whoever has everything is sent nothing.
	if got := m.again(r, token); got.Sent != 0 || got.Events != 0 || got.Anew != 0 {
		t.Errorf("nothing is missing: %+v", got)
	}
	m.say("/w", "one", 2, "a last one")
	if got := m.again(r, token); got.Sent != 1 || got.Events != 1 || got.Anew != 0 {
		t.Errorf("one event is missing: %+v", got)
	}
	has("at last", "A")
}
