package cli

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yorehq/yore/internal/serve"
	"github.com/yorehq/yore/postgres"
	"github.com/yorehq/yore/postgres/postgrestest"
)

// desk is somebody's machine, with a home folder of the test's own.
type desk struct {
	t    *testing.T
	home string
}

func newDesk(t *testing.T, config string) *desk {
	d := &desk{t, t.TempDir()}
	for _, name := range []string{"HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"} {
		t.Setenv(name, d.home)
	}
	d.write("yore/config.toml", config)
	return d
}

func (d *desk) write(name, text string) {
	d.t.Helper()
	path := filepath.Join(d.home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

// yore runs a command line and wants an exit code.
func (d *desk) yore(want int, args ...string) (out, errs string) {
	d.t.Helper()
	var o, e bytes.Buffer
	if code := Main(args, strings.NewReader(""), &o, &e); code != want {
		d.t.Fatalf("yore %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), code, want, o.String(), e.String())
	}
	return o.String(), e.String()
}

// log is a session of one message.
func log(id, cwd, text string) string {
	return fmt.Sprintf(`{"type":"session","version":0,"id":%q,"createdAt":1790000000000,"cwd":%q,"delegationDepth":0}`+"\n", id, cwd) +
		fmt.Sprintf(`{"type":"user/message","seq":0,"time":1790000000001,"data":{"id":"u-0","role":"user","content":[{"type":"text","text":%q}],"source":{"kind":"user"}},"surfaceOp":"append"}`+"\n", text)
}

// log writes a session where DSH would have it.
func (d *desk) log(id, cwd, text string) {
	d.t.Helper()
	d.write("logs/--"+strings.ReplaceAll(strings.Trim(cwd, "/"), "/", "-")+"--/"+id+"/session.jsonl", log(id, cwd, text))
}

// long writes a session of some messages, each with its number.
func (d *desk) long(id, cwd string, n int) {
	d.t.Helper()
	lines := strings.SplitAfter(log(id, cwd, ""), "\n")[:1]
	for i := range n {
		one := strings.SplitAfter(log(id, cwd, fmt.Sprintf("said %d times", i)), "\n")[1]
		one = strings.Replace(one, `"seq":0`, fmt.Sprintf(`"seq":%d`, i), 1)
		lines = append(lines, strings.Replace(one, `"u-0"`, fmt.Sprintf(`"u-%d"`, i), 1))
	}
	d.write("logs/--"+strings.ReplaceAll(strings.Trim(cwd, "/"), "/", "-")+"--/"+id+"/session.jsonl", strings.Join(lines, ""))
}

// has fails unless a text has all parts, in their order.
func has(t *testing.T, text string, parts ...string) {
	t.Helper()
	rest := text
	for _, p := range parts {
		_, behind, ok := strings.Cut(rest, p)
		if !ok {
			t.Errorf("there is no %q in its place in\n%s", p, text)
			return
		}
		rest = behind
	}
}

// The way of docs/team.md, from an empty database to an answer, a taken back
// session, an erasure, and a server that is gone.
func TestTeam(t *testing.T) {
	dsn := postgrestest.Shared(t).Bare(t)
	config := "[roots]\ndsh = [\"~/logs\"]\n"
	d := newDesk(t, config)
	t.Setenv("YORE_DATABASE", dsn)
	out, _ := d.yore(0, "serve", "migrate")
	has(t, out, "was at version 0")
	out, _ = d.yore(0, "serve", "migrate")
	has(t, out, "already")
	mint := func(person, rights string) string {
		token, _ := d.yore(0, "serve", "token", "mint", "--tenant", "acme", "--person", person, "--workspace", "app", "--right", rights)
		return strings.TrimSpace(token)
	}
	ada, bob := mint("ada", "read,push"), mint("bob", "read,push")
	out, _ = d.yore(0, "serve", "token", "list")
	has(t, out, "valid", "acme/ada", "read+push", "app")
	if strings.Contains(out, ada) {
		t.Error("the list shows a token")
	}
	d.yore(2, "serve", "--listen", "0.0.0.0:0")
	d.yore(2, "serve", "token", "mint", "--tenant", "acme", "--person", "ada")

	db, err := postgres.Open(t.Context(), postgres.Options{DSN: dsn})
	if err != nil {
		t.Fatal(err)
	}
	store := serve.Database{DB: db}
	server, err := serve.New(serve.Options{Store: store, Tokens: store, Audit: store})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx, l, "", "") }()

	// Ada sends what she chose, once she has seen what that would be.
	team := fmt.Sprintf("[team]\nurl = \"http://%s\"\ntoken-file = \"~/token\"\n[team.names]\n%q = \"app\"\n", l.Addr(), d.home+"/app")
	push := fmt.Sprintf("[push]\nworkspaces = [%q]\n", d.home+"/app")
	d.write("token", ada+"\n")
	d.log("ada1", d.home+"/app", "the linker fails with a mock")
	d.log("ada2", d.home+"/other", "the linker fails in private")
	d.long("ada3", d.home+"/app", 450)
	_, errs := d.yore(2, "push")
	has(t, errs, "no workspace is chosen")
	d.write("yore/config.toml", team+push+config)
	out, _ = d.yore(0, "push", "--preview")
	has(t, out, `as "app": 2 sessions`, "451 events", "Nothing was sent.")
	out, _ = d.yore(0, "push")
	has(t, out, "2 sessions, of which 2 had something new: 451 events")

	// Bob finds it beside his own, reads it, and knows which is which.
	d = newDesk(t, config)
	d.write("token", bob)
	team = fmt.Sprintf("[team]\nurl = \"http://%s\"\ntoken-file = \"~/token\"\ntimeout = \"10s\"\n[team.names]\n%q = \"app\"\n", l.Addr(), d.home+"/src")
	d.write("yore/config.toml", team+config)
	d.log("bob1", d.home+"/src", "my linker fails too")
	out, _ = d.yore(0, "search", "-w", d.home+"/src", "linker fails")
	has(t, out, "bob1", "my linker fails too", "[team history, from "+l.Addr().String(), "team:ada1", "the linker fails with a mock")
	if strings.Contains(out, "private") {
		t.Errorf("what was not sent is found:\n%s", out)
	}
	out, _ = d.yore(0, "search", "-w", d.home+"/src", "--json", "linker fails")
	has(t, out, `"id":"bob1"`, `"id":"team:ada1"`, `{"team":{"answered":true`, `{"coverage"`)
	out, _ = d.yore(0, "read", "team:ada1", "0", "--raw")
	if want := strings.TrimSpace(strings.SplitN(log("ada1", "", "the linker fails with a mock"), "\n", 2)[1]); out != want {
		t.Errorf("read\n%s\nwant\n%s", out, want)
	}
	out, _ = d.yore(0, "events", "team:ada1")
	has(t, out, "#0 user/message", "the linker fails with a mock")
	out, _ = d.yore(0, "trace", "team:ada1")
	has(t, out, "team:ada1")
	d.yore(1, "read", "team:ada2", "0")

	// The team's sessions stand in lists, and are shown like those of this machine.
	out, errs = d.yore(0, "list", "-w", d.home+"/src")
	has(t, out, "bob1", "[team history, from "+l.Addr().String(), "SESSION", "team:ada")
	if strings.Contains(out, "ada2") || errs != "" {
		t.Errorf("%s%s", out, errs)
	}
	out, _ = d.yore(0, "list", "-w", d.home+"/src", "--sort", "-events", "--columns", "session,events,kind,resume")
	has(t, out, "bob1", "team:ada1", "1", "-", "-", "team:ada3", "450", "-", "-")
	out, _ = d.yore(0, "list", "-w", d.home+"/src", "--sort", "events", "--limit", "1")
	has(t, out, "bob1", "team:ada3")
	if strings.Contains(out, "team:ada1") {
		t.Errorf("more than one of the team:\n%s", out)
	}
	out, _ = d.yore(0, "list", "-w", d.home+"/src", "--json")
	has(t, out, `"id":"bob1"`, `"id":"team:ada`, `{"team":{"answered":true`, `{"coverage"`)
	out, _ = d.yore(0, "list", "-w", d.home+"/src", "--created-from", "2036-01-01")
	has(t, out, "No session.", "[team history, from "+l.Addr().String()+": no session]")
	_, errs = d.yore(0, "list", "-w", d.home+"/src", "--roots")
	has(t, errs, "The team is not asked")
	out, _ = d.yore(0, "list", "-w", d.home)
	has(t, out, "No session.", ": no session]")

	out, _ = d.yore(0, "show", "team:ada1")
	has(t, out, "team:ada1", "#0", "user", "the linker fails with a mock")
	out, _ = d.yore(0, "show", "team:ada3", "--json")
	if lines := strings.Split(strings.TrimSpace(out), "\n"); len(lines) != 451 {
		t.Errorf("%d lines for 450 events", len(lines))
	} else {
		has(t, lines[0], `{"session":{"id":"team:ada3"`, `"passages":450`)
		for i, line := range lines[1:] {
			has(t, line, fmt.Sprintf(`{"event":{"seq":%d,"type":"user/message","surface":"current"`, i), fmt.Sprintf(`"text":"said %d times"`, i))
		}
	}
	out, _ = d.yore(0, "show", "team:ada3", "--from", "198", "--to", "202", "--markdown")
	has(t, out, "said 198 times", "said 199 times", "said 200 times", "said 201 times", "said 202 times")
	if strings.Contains(out, "said 197 ") || strings.Contains(out, "said 203 ") {
		t.Errorf("beyond what was asked for:\n%s", out)
	}
	out, _ = d.yore(0, "show", "team:ada3", "--from", "10", "--limit", "3", "--text-limit", "4", "--role", "user")
	has(t, out, "#10", "said", "#11", "#12", "--text-limit 0 --from 12 --to 12")
	if strings.Contains(out, "times") || strings.Contains(out, "#13") {
		t.Errorf("longer than was asked for:\n%s", out)
	}
	out, _ = d.yore(0, "show", "team:ada3", "--html")
	has(t, out, "<html", "said 449 times", "</html>")
	d.yore(1, "show", "team:ada2")
	d.yore(1, "show", "team:ada1", "--from", "7")

	// A token that others can read is not used.
	if err := os.Chmod(filepath.Join(d.home, "token"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, errs = d.yore(2, "read", "team:ada1", "0")
	has(t, errs, "chmod 600")
	if err := os.Chmod(filepath.Join(d.home, "token"), 0o600); err != nil {
		t.Fatal(err)
	}

	// A server that hangs costs its deadline, one that is gone nothing; the machine
	// answers in any case, and says what is missing.
	hung, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer hung.Close()
	d.write("yore/config.toml", strings.ReplaceAll(strings.ReplaceAll(team, l.Addr().String(), hung.Addr().String()), "10s", "300ms")+config)
	began := time.Now()
	out, _ = d.yore(3, "search", "-w", d.home+"/src", "linker fails")
	has(t, out, "bob1", "[team history: missing. the team's server did not answer within 300ms")
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
	d.write("yore/config.toml", team+config)
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	out, _ = d.yore(3, "search", "-w", d.home+"/src", "linker fails")
	has(t, out, "bob1", "[team history: missing. the team's server cannot be reached")
	out, _ = d.yore(3, "list", "-w", d.home+"/src")
	has(t, out, "bob1", "[team history: missing. the team's server cannot be reached")
	out, _ = d.yore(3, "list", "-w", d.home+"/src", "--json", "--sort", "events")
	has(t, out, `"id":"bob1"`, `{"team":{"answered":false`, `{"coverage"`)
	d.yore(1, "show", "team:ada1")

	// What was asked is on record. Ada leaves: nothing of hers is left.
	out, _ = d.yore(0, "serve", "audit", "--tenant", "acme")
	has(t, out, `"action":"push"`, `"action":"session_search"`, "linker fails")
	out, _ = d.yore(0, "serve", "erase", "--tenant", "acme", "--person", "ada")
	has(t, out, "before: 0 workspaces as a whole, 2 sessions", "Nothing was erased")
	db.Close()
	out, _ = d.yore(0, "serve", "erase", "--tenant", "acme", "--person", "ada", "--yes")
	has(t, out, "before: 0 workspaces as a whole, 2 sessions", "erased: 0 workspaces as a whole, 2 sessions", "erased: 1 tokens", "after:  0 workspaces as a whole, 0 sessions", "nothing of it is left")
	out, _ = d.yore(0, "serve", "token", "list")
	if strings.Contains(out, "ada") {
		t.Error(out)
	}
}
