package attack

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/internal/cli"
	"github.com/yorehq/yore/session"
)

// home gives the command line a home folder of the test's own.
func home(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"} {
		t.Setenv(name, dir)
	}
	for _, name := range []string{"YORE_ROOTS", "YORE_INDEX", "CLAUDE_CODE_SESSION_ID", "CODEX_HOME", "CLAUDE_CONFIG_DIR"} {
		t.Setenv(name, "")
	}
}

// where are the flags that name the logs and the index of a world in a folder.
func where(dir string) []string {
	flags := []string{"--index", filepath.Join(dir, "index")}
	for _, s := range roots(dir) {
		flags = append(flags, "--root", string(s.Agent)+"="+s.Root)
	}
	return flags
}

// clean reports whether a workspace can be given on a command line as it is.
func clean(workspace string) bool {
	return filepath.IsAbs(workspace) && filepath.Clean(workspace) == workspace
}

// stdio is a server over streams and who talks to it.
type stdio struct {
	t     *testing.T
	in    *io.PipeWriter
	out   *bufio.Reader
	errs  strings.Builder
	ended chan int
}

func serve(t *testing.T, dir, workspace string) *stdio {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	s := &stdio{t: t, in: inW, out: bufio.NewReader(outR), ended: make(chan int, 1)}
	go func() {
		s.ended <- cli.Main(append(where(dir), "mcp", "--workspace", workspace), inR, outW, &s.errs)
		outW.Close()
	}()
	return s
}

func (s *stdio) end() {
	s.t.Helper()
	s.in.Close()
	if code := <-s.ended; code != 0 {
		s.t.Errorf("the server exits with %d: %s", code, s.errs.String())
	}
}

// ask sends one message and returns what comes until its answer, which is last.
func (s *stdio) ask(line string, id int) (before []string, answer string) {
	s.t.Helper()
	if _, err := io.WriteString(s.in, line+"\n"); err != nil {
		s.t.Fatal(err)
	}
	for {
		line, err := s.out.ReadString('\n')
		if err != nil {
			s.t.Fatalf("%v after %q; %s", err, line, s.errs.String())
		}
		if strings.Contains(line, fmt.Sprintf(`"id":%d,`, id)) || strings.Contains(line, fmt.Sprintf(`"id":%d}`, id)) {
			return before, line
		}
		before = append(before, line)
	}
}

// meta makes up what a client says of a call beside its arguments.
func (a *asker) meta() map[string]any {
	h := a.spec().header
	return map[string]any{
		"progressToken":            a.IntN(1000),
		"threadId":                 string(h.ID),
		"claudecode/toolUseId":     pick(a.Rand, "t1", "c-1", string(h.ID)),
		"codex/sandbox-state-meta": map[string]any{"sandboxCwd": h.Cwd, "cwd": h.Cwd},
		"x-codex-turn-metadata":    map[string]any{"session_id": string(h.ID), "cwd": h.Cwd},
		"io.example/workspace":     h.Cwd,
		"workspace":                h.Cwd,
	}
}

// TestAuthorityOverMCP asks a server for one workspace over its streams, with
// metadata that claims others.
func TestAuthorityOverMCP(t *testing.T) {
	home(t)
	total, words := max(10, *calls/100), 0
	for n := uint64(0); total > 0; n++ {
		world := newWorld(*seed + n)
		dir, a := t.TempDir(), newAsker(world, 3)
		world.write(t, dir, nil)
		for _, workspace := range a.workspaces() {
			c := authz.Caller{Workspace: workspace}
			sees := func(h session.Header) bool { return visible(c, h) }
			twin := t.TempDir()
			world.write(t, twin, sees)
			a.now = c
			real, other := serve(t, dir, workspace), serve(t, twin, workspace)
			own := 0
			for _, s := range world.specs {
				if sees(s.header) {
					own++
				}
			}
			hello := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":` +
				quote(pick(a.Rand, "claude-code", "codex-mcp-client", "dsh-mcp-client", "x")) + `,"version":"1"}}}`
			real.ask(hello, 0)
			other.ask(hello, 0)
			for id := 1; id <= 25; id++ {
				total--
				tool, args := a.call()
				if !json.Valid(args) {
					continue
				}
				params := map[string]any{"name": tool, "arguments": args}
				if a.IntN(2) == 0 {
					params["_meta"] = a.meta()
				}
				method := "tools/call"
				if a.IntN(20) == 0 {
					method = pick(a.Rand, "resources/list", "resources/read", "prompts/list", "completion/complete", "sessions/list", "ping", "tools/list")
				}
				raw, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
				if err != nil {
					t.Fatal(err)
				}
				notes, got := real.ask(string(raw), id)
				_, want := other.ask(string(raw), id)
				for _, text := range append(notes, got) {
					if word := leaked(text, world.foreign(c, string(raw)+workspace, false)); word != "" {
						t.Errorf("seed %d: %s in %q gives %q away:\n%s", world.seed, raw, workspace, word, text)
					}
				}
				for _, note := range notes {
					var m struct{ Params struct{ Total, Progress int } }
					if err := json.Unmarshal([]byte(note), &m); err != nil || m.Params.Total > own || m.Params.Progress > own {
						t.Errorf("seed %d: %d sessions are the caller's, and it is told of %s", world.seed, own, note)
					}
				}
				if mine, theirs := unmarked(strings.ReplaceAll(got, `\n`, "\n")), unmarked(strings.ReplaceAll(want, `\n`, "\n")); mine != theirs {
					t.Errorf("seed %d: %s in %q:\n%s\nand where nothing else exists:\n%s", world.seed, raw, workspace, mine, theirs)
				}
				words += strings.Count(got, "qz")
				if t.Failed() {
					total = 0
					break
				}
			}
			real.end()
			other.end()
		}
	}
	t.Logf("%d words", words)
	if words == 0 {
		t.Error("nothing was found at all")
	}
}

// workspaces are some of the world that can be given on a command line.
func (a *asker) workspaces() []string {
	var all []string
	for _, s := range a.world.specs {
		if s.root >= 0 && clean(s.header.Cwd) && !slices.Contains(all, s.header.Cwd) {
			all = append(all, s.header.Cwd)
		}
	}
	return all[:min(len(all), 2)]
}
