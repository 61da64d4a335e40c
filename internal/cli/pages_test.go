package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// block is one fenced block of a page.
var block = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$")

// TestPages runs what the pages tell their readers to type, over the samples of
// the tour, in a home folder of its own:
//
//   - console: each "$ yore …" is run, and what it prints is what the page shows.
//     -update writes it.
//   - sh: the block is run as a script, and each command of it succeeds.
//   - shell: not run. It needs something that is not here (another program, a
//     network, a person, a session of the reader's own).
func TestPages(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Log("not run: the blocks are for a POSIX shell")
		return
	}
	pages, err := filepath.Glob("../../*.md")
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, page := range append(pages, more...) {
		if filepath.Base(page) == "README.zh.md" {
			continue // TestReadmesAgree holds its blocks to those of README.md
		}
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		blocks := block.FindAllSubmatchIndex(text, -1)
		s := sandbox{t: t}
		var out strings.Builder
		end := 0
		for _, at := range blocks {
			language, body := string(text[at[2]:at[3]]), string(text[at[4]:at[5]])
			line := fmt.Sprintf("%s:%d", filepath.Base(page), 1+strings.Count(string(text[:at[0]]), "\n"))
			out.Write(text[end:at[4]])
			end = at[5]
			switch language {
			case "console":
				body = s.session(line, body)
				ran++
			case "sh":
				s.script(line, body)
				ran++
			case "bash", "zsh":
				t.Errorf("%s: say sh if it can be run here, shell if not", line)
			}
			out.WriteString(body)
		}
		out.Write(text[end:])
		if *update && out.String() != string(text) {
			if err := os.WriteFile(page, []byte(out.String()), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if d := cmp.Diff(out.String(), string(text)); d != "" {
			t.Errorf("%s does not show what the commands print; -update writes it (-printed +page):\n%s", page, d)
		}
	}
	if ran < 5 {
		t.Errorf("only %d blocks were run: the test looks in the wrong place", ran)
	}
}

// sandbox is where the blocks of one page run, one after the other.
type sandbox struct {
	t   *testing.T
	dir string // "": not made yet
}

func (s *sandbox) command(text string) *exec.Cmd {
	if s.dir == "" {
		s.dir = s.t.TempDir()
		for _, err := range []error{
			os.CopyFS(filepath.Join(s.dir, "samples"), os.DirFS("../demo/samples")),
			os.MkdirAll(filepath.Join(s.dir, "home", ".openclaw", "workspace"), 0o700), // as it is where that agent is
			os.Mkdir(filepath.Join(s.dir, "work"), 0o700),
		} {
			if err != nil {
				s.t.Fatal(err)
			}
		}
	}
	// From a clone a reader says `go run ./cmd/yore`; the program is the same.
	cmd := exec.Command("sh", "-eu", "-c", strings.ReplaceAll(text, "go run ./cmd/yore", "yore"))
	cmd.Dir = filepath.Join(s.dir, "work")
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(s.dir, "home"), "TZ=UTC", "LANG=C.UTF-8",
		"YORE_ROOTS=dsh=" + filepath.Join(s.dir, "samples"), "YORE_INDEX=" + filepath.Join(s.dir, "index"),
	}
	return cmd
}

// session runs the commands of a console block and returns it with their answers.
func (s *sandbox) session(at, body string) string {
	var b strings.Builder
	for line := range strings.Lines(body) {
		command, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "$ ")
		if !ok {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		out, err := s.command(command).Output()
		if err != nil {
			s.t.Errorf("%s: %s: %v", at, command, err)
		}
		fmt.Fprintf(&b, "$ %s\n%s", command, out)
	}
	return b.String()
}

// script runs an sh block.
func (s *sandbox) script(at, body string) {
	for line := range strings.Lines(body) {
		if word, _, _ := strings.Cut(strings.TrimSpace(line), " "); word != "yore" && word != "" && word != "#" && !strings.HasPrefix(line, "go run ./cmd/yore") {
			s.t.Errorf("%s: %q is not run here: say shell in place of sh", at, strings.TrimSpace(line))
			return
		}
	}
	if out, err := s.command(body).CombinedOutput(); err != nil {
		s.t.Errorf("%s: %v\n%s\n%s", at, err, body, out)
	}
}

// Every flag that a page speaks of is one of a command's.
func TestPagesNameFlags(t *testing.T) {
	known := map[string]bool{"--help": true, "--version": true, "--probe": true} // the last is OpenClaw's
	root := (&app{}).newRoot()
	root.PersistentFlags().VisitAll(func(f *pflag.Flag) { known["--"+f.Name] = true })
	for _, foreign := range []string{"createrole", "owner", "format", "file", "dbname", "exit-on-error"} { // PostgreSQL's programs
		known["--"+foreign] = true
	}
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) { known["--"+f.Name] = true })
		for _, below := range c.Commands() {
			walk(below)
		}
	}
	walk(root)
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	flags := regexp.MustCompile("[ `(|]--[a-z][a-z-]+")
	for _, page := range append(pages, "../../README.md", "../../README.zh.md", "../../SECURITY.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range flags.FindAllString(string(text), -1) {
			if !known[f[1:]] {
				t.Errorf("%s speaks of %s, which no command has", filepath.Base(page), f[1:])
			}
		}
	}
}
