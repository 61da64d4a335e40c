package cli

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yorehq/yore"
	"github.com/yorehq/yore/fault"
)

// The report that issue forms ask for holds no text of a session: whatever is
// written into logs of several agents, at places where it is wrong as well, is
// not in it. Paths, ids and workspaces are, and the forms say so.
func TestDoctorHoldsNoText(t *testing.T) {
	const mark = "zqmarker"
	wrong := []string{
		mark + " is no JSON",
		`{"type":"user","uuid":"u","message":{"role":"user","content":"` + mark + `"}`,
		`{"type":"user","timestamp":"` + mark + `","message":{"role":"` + mark + `","content":{"` + mark + `":"` + mark + `"}}}`,
		`{"type":{"` + mark + `":1},"payload":"` + mark + `","data":["` + mark + `"]}`,
		`{"type":"response_item","payload":{"type":"message","role":7,"content":"` + mark + `"}}`,
		`["` + mark + `"]`, `"` + mark + `"`, `{"` + mark + `":`,
	}
	faults := 0
	for _, agent := range []struct{ name, from string }{
		{"claude-code", "../../testdata/claude/projects"},
		{"codex", "../../testdata/codex"},
		{"gemini-cli", "../../testdata/gemini"},
		{"qwen-code", "../../testdata/qwen"},
		{"dsh", "../demo/samples"},
	} {
		for kind := range wrong {
			dir := t.TempDir()
			logs := filepath.Join(dir, "logs")
			if err := os.CopyFS(logs, os.DirFS(agent.from)); err != nil {
				t.Fatal(err)
			}
			n := 0
			err := filepath.WalkDir(logs, func(path string, d fs.DirEntry, err error) error {
				if err != nil || !strings.HasSuffix(path, ".jsonl") {
					return err
				}
				text, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				// One kind of fault a log, behind its header and again at its end.
				header, rest, _ := bytes.Cut(text, []byte("\n"))
				line := wrong[(kind+n)%len(wrong)]
				n++
				return os.WriteFile(path, []byte(string(header)+"\n"+line+"\n"+string(rest)+line+"\n"), 0o600)
			})
			if err != nil || n == 0 {
				t.Fatalf("%d logs, %v", n, err)
			}
			cmd := exec.Command("yore", "doctor", "--deep", "--json")
			cmd.Env = append(os.Environ(), "HOME="+dir, "YORE_ROOTS="+agent.name+"="+logs, "YORE_INDEX="+filepath.Join(dir, "index"))
			out, _ := cmd.Output() // it finds something wrong
			faults += bytes.Count(out, []byte(`"kind":"unreadable"`)) + bytes.Count(out, []byte(`"kind":"skipped"`)) + bytes.Count(out, []byte(`"kind":"damaged"`))
			if i := bytes.Index(out, []byte(mark)); i >= 0 {
				t.Errorf("%s, %s: text of a log is in the report: …%s…", agent.name, wrong[kind], out[max(0, i-200):min(len(out), i+50)])
			}
		}
	}
	if faults < 10 {
		t.Errorf("only %d faults are named: nothing is proved", faults)
	}
}

// What doctor says it has checked is no more than what was read: with a full
// disk, say, of three logs none.
func TestDoctorClaimsNoMoreThanItRead(t *testing.T) {
	for _, depth := range []yore.Depth{yore.Headers, yore.Logs, yore.Pages} {
		h := yore.Health{Depth: depth, Roots: []yore.RootHealth{{Present: true, Files: 5, Sound: 2, Unread: 3}}}
		if text := verdictText(h, false); strings.Contains(text, "every log to its end") || !strings.Contains(text, "3") {
			t.Errorf("depth %v: %s", depth, text)
		}
		h.Roots[0].Unread = 0
		if text := verdictText(h, false); depth > yore.Headers && !strings.Contains(text, "every log to its end") {
			t.Errorf("depth %v: %s", depth, text)
		}
	}
	away := yore.Health{Depth: yore.Logs, Roots: []yore.RootHealth{{Present: true, Files: 1, Sound: 1}, {Files: 7, Sound: 7}}}
	if text := verdictText(away, true); !strings.Contains(text, "Of 7 files nothing more can be said") {
		t.Errorf("a root is not there: %s", text)
	}
	if text := problemText(yore.Problem{Kind: yore.Index, Code: fault.IndexFailed, Reason: "SESSION_QUERY_INDEX_FAILED: no space"}); text != "  index: SESSION_QUERY_INDEX_FAILED: no space\n" {
		t.Errorf("%q", text)
	}
}
