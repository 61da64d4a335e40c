package serve_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/postgres"
	"github.com/yorehq/yore/postgres/postgrestest"
)

// The backup and the restore of docs/team.md, rehearsed: after pg_dump and
// pg_restore into an empty database the same tokens get the same answers, byte for
// byte, a revoked one none, and sending goes on where it was.
func TestBackupAndRestore(t *testing.T) {
	r := newRig(t)
	bin := postgrestest.Programs()
	from := postgrestest.Shared(t).Database(t)
	db, err := postgres.Open(t.Context(), postgres.Options{DSN: from})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	r.over(db)
	m := newMachine(t, map[string]string{"/w": "/w"})
	token := r.mint("acme", "ada", both, "/w")
	revoked, made, err := db.Mint(t.Context(), postgres.Token{Tenant: "acme", Person: "bob", Rights: both, Workspaces: []string{"/w"}})
	if err == nil {
		err = db.Revoke(t.Context(), made.ID)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"one", "two"} {
		m.begin("/w", id)
		m.say("/w", id, 0, "the linker fails in "+id)
		m.say("/w", id, 1, "编译失败")
	}
	m.push(r.server(token))
	questions := []string{"/v1/search?query=linker", "/v1/search?query=失败", "/v1/list", "/v1/read?session_id=two&seq=1", "/v1/trace?session_id=one"}
	ask := func() (all []string) {
		for _, q := range questions {
			_, body, _ := r.do("GET", q, token, "")
			all = append(all, body)
		}
		return all
	}
	before := ask()

	dump := filepath.Join(t.TempDir(), "yore.dump")
	run := func(name string, args ...string) {
		t.Helper()
		cmd := exec.Command(filepath.Join(bin, name), args...)
		cmd.Env = append(os.Environ(), "PGCONNECT_TIMEOUT=10")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", name, err, out)
		}
	}
	to := postgrestest.Shared(t).Bare(t)
	run("pg_dump", "--format=custom", "--file="+dump, "--dbname="+from)
	run("pg_restore", "--exit-on-error", "--dbname="+to, dump)

	restored, err := postgres.Open(t.Context(), postgres.Options{DSN: to})
	if err != nil {
		t.Fatal(err)
	}
	defer restored.Close()
	if err := restored.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.over(restored)
	if diff := cmp.Diff(before, ask()); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
	if code, body, _ := r.do("GET", "/v1/list", revoked, ""); code != 401 {
		t.Errorf("a revoked token after a restore: %d %s", code, body)
	}
	m.say("/w", "one", 2, "after the restore")
	// It goes by another port now, so the machine knows nothing of it: the stretch of
	// "two" is one that was applied before, and "one" goes on behind what is there.
	if got := m.push(r.server(token)); got.Events != 3 || got.Anew != 0 {
		t.Errorf("%+v", got)
	}
	for _, id := range []string{"one", "two"} {
		if _, body, _ := r.do("GET", "/v1/events?session_id="+id, token, ""); strings.Count(body, `"event"`) != len(natives(t, m.path("/w", id))) {
			t.Errorf("%s: %s", id, body)
		}
	}
	if _, body, _ := r.do("GET", "/v1/search?query=after+the+restore", token, ""); !strings.Contains(body, `"one"`) {
		t.Error(body)
	}
}
