package footprint

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// person is a home folder with logs, and the program that is watched in it.
type person struct {
	t               *testing.T
	yore, home, tmp string
	runs            int
}

func newPerson(t *testing.T) *person {
	p := &person{t: t, yore: build(t), home: t.TempDir(), tmp: t.TempDir()}
	for _, logs := range [][2]string{{"../demo/samples", ".dsh/sessions"}, {"../../testdata/claude/projects", ".claude/projects"}, {"../../testdata/codex/sessions", ".codex/sessions"}} {
		if err := os.CopyFS(filepath.Join(p.home, logs[1]), os.DirFS(logs[0])); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// run runs a command under strace and judges every call.
func (p *person) run(input string, want int, args ...string) string {
	p.t.Helper()
	p.runs++
	cmd, trace := p.traced(args...)
	cmd.Stdin = strings.NewReader(input)
	var errs strings.Builder
	cmd.Stderr = &errs
	cmd.WaitDelay = 10 * time.Second // a child that holds the pipe would be one
	out, err := cmd.Output()
	if code := cmd.ProcessState.ExitCode(); code != want {
		p.t.Fatalf("yore %q = %d, %v\n%s%s", args, code, err, out, errs.String())
	}
	p.judge(trace, args, nil)
	return string(out)
}

// script is what a shell runs to have strace tell of a command: $0 begins the names
// of the traces, a file for each thread.
const script = "umask " + umask + `; exec strace -f -ff -y -s 4096 -e trace=` + watched + ` -e signal=none -o "$0" "$@"`

// traced returns a command under strace, and how the files of its trace begin.
func (p *person) traced(args ...string) (cmd *exec.Cmd, trace string) {
	p.t.Helper()
	trace = filepath.Join(p.t.TempDir(), "trace")
	cmd = exec.Command("sh", append([]string{"-c", script, trace, p.yore}, args...)...)
	cmd.Dir = p.home
	cmd.Env = []string{"HOME=" + p.home, "TMPDIR=" + p.tmp, "PATH=" + os.Getenv("PATH"), "TZ=UTC", "TERM=xterm-256color", "LANG=C.UTF-8"}
	return cmd, trace
}

// judge looks at every call of a run that has ended; may says what this command may
// do besides.
func (p *person) judge(trace string, args []string, may func(call) bool) {
	p.t.Helper()
	own := []string{
		filepath.Join(p.home, ".cache/yore"), filepath.Join(p.home, ".cache/yore-results"), filepath.Join(p.home, ".config/yore"),
		filepath.Join(p.home, "kept"), p.tmp,
	}
	folders := map[string]bool{filepath.Join(p.home, ".cache"): true, filepath.Join(p.home, ".config"): true} // those above its own
	programs := 0
	for _, c := range calls(p.t, trace) {
		if c.name == "execve" || c.name == "execveat" {
			programs++
		}
		if strings.HasPrefix(c.name, "mkdir") && folders[strings.Join(c.paths(), "")] && c.mode() == 0o700 {
			continue
		}
		if may != nil && may(c) {
			continue
		}
		if bad := c.offence(own); bad != "" {
			p.t.Errorf("yore %q %s: %s", args, bad, c)
		}
	}
	if programs != 1 {
		p.t.Errorf("yore %q: %d programs were started, want itself alone", args, programs)
	}
}

// logs says what is in the agents' folders, times included.
func (p *person) logs() string {
	var b strings.Builder
	for _, dir := range []string{".dsh", ".claude", ".codex"} {
		err := filepath.WalkDir(filepath.Join(p.home, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err == nil {
				fmt.Fprintln(&b, path, info.Mode(), info.Size(), info.ModTime().UnixNano())
			}
			return err
		})
		if err != nil {
			p.t.Fatal(err)
		}
	}
	return b.String()
}

const conversation = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"codex-mcp-client","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}
{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"session_search","arguments":{"query":"the"}}}
`

// TestFootprint watches a day's work: a first index, searches, reads, a server,
// archiving, forgetting, an examination.
func TestFootprint(t *testing.T) {
	p := newPerson(t)
	before := p.logs()
	p.run("", 0, "index", "--all")
	if out := p.run("", 0, "search", "--all", "the"); !strings.Contains(out, "session") {
		t.Errorf("nothing is found: %s", out)
	}
	first, _, _ := strings.Cut(p.run("", 0, "list", "--all", "--json"), "\n")
	_, id, _ := strings.Cut(first, `"id":"`)
	if id, _, _ = strings.Cut(id, `"`); id == "" {
		t.Fatalf("no session in %s", first)
	}
	p.run("", 0, "show", "--all", id)
	p.run("", 0, "events", "--all", id)
	p.run("", 0, "trace", "--all", id)
	if out := p.run(conversation, 0, "mcp", "--max-inline-bytes", "300", "--workspace", "/home/dev/proj"); !strings.Contains(out, `"id":3`) {
		t.Errorf("the server does not answer: %s", out)
	}
	p.run("", 0, "archive", "--all", "--dir", filepath.Join(p.home, "kept"))
	p.run("", 0, "stats", "--all")
	p.run("", 0, "forget", "--all", "--yes", id)
	p.run("", 0, "forget", "--list")
	p.run("", 0, "doctor", "--deep")
	p.run("", 0, "demo")
	if after := p.logs(); after != before {
		t.Errorf("the agents' folders were\n%s\nand are\n%s", before, after)
	}
	left, err := os.ReadDir(p.tmp)
	if err != nil || len(left) != 0 {
		t.Errorf("left in the folder for temporary files: %v, %v", left, err)
	}
	p.private()
}

// private checks that what is there now is its owner's alone, with a umask that
// hides nothing.
func (p *person) private() {
	p.t.Helper()
	for _, dir := range []string{".cache", ".config", "kept"} {
		err := filepath.WalkDir(filepath.Join(p.home, dir), func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil // not every command makes every folder
			}
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err == nil && info.Mode().Perm()&0o077 != 0 {
				p.t.Errorf("%s has mode %v", path, info.Mode())
			}
			return err
		})
		if err != nil {
			p.t.Error(err)
		}
	}
}
