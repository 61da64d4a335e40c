package cli

import (
	"archive/zip"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"yore": func() { os.Exit(Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
	})
}

// TestScripts runs the command line as people do. Each script has the samples
// of the tour below $WORK/logs, an index of its own, and an empty home folder.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("TZ", "UTC")
			e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
			e.Setenv("YORE_ROOTS", "dsh="+filepath.Join(e.WorkDir, "logs"))
			e.Setenv("YORE_INDEX", filepath.Join(e.WorkDir, "index"))
			transcripts, err := filepath.Abs("../../testdata/claude/projects/-home-dev-proj")
			e.Setenv("CLAUDE_SAMPLE", transcripts)
			return errors.Join(err,
				os.CopyFS(filepath.Join(e.WorkDir, "logs"), os.DirFS("../demo/samples")),
				os.Mkdir(filepath.Join(e.WorkDir, "home"), 0o700),
				os.Mkdir(filepath.Join(e.WorkDir, "ws"), 0o700),
			)
		},
		Condition: func(name string) (bool, error) {
			if name == "root" {
				return os.Geteuid() == 0, nil
			}
			return false, fmt.Errorf("unknown condition %q", name)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code": code, "age": age, "log": writeLog, "cut": cutFile, "lines": countLines, "jsonl": checkJSONL, "tool": callTool, "together": together, "nowhere": nowhere, "stored": storedIndex, "newer": makeNewer,
		},
	})
}

// code runs a command and checks its exit code: code N COMMAND ARG...
func code(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("%s exits with %d, want %d", strings.Join(args[1:], " "), got, want)
	}
}

// writeLog writes a session with one human message a text: log ID CWD TEXT...
// "!" as the last text leaves the turn open; the file is logs/KEY/ID.
func writeLog(ts *testscript.TestScript, _ bool, args []string) {
	id, cwd := args[0], args[1]
	key := "--" + strings.TrimLeft(strings.NewReplacer("/", "-", "\\", "-", ":", "-").Replace(cwd), "-") + "--"
	folder := ts.MkAbs(filepath.Join("logs", key, id))
	ts.Check(os.MkdirAll(folder, 0o700))
	quote := func(text string) string {
		out, err := json.Marshal(text)
		ts.Check(err)
		return string(out)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `{"type":"session","version":0,"id":%s,"createdAt":1772442000000,"cwd":%s,"delegationDepth":0}`+"\n", quote(id), quote(cwd))
	fmt.Fprintf(&b, `{"type":"turn/start","seq":0,"time":1772442001000,"data":{"turn":1}}`+"\n")
	for i, text := range args[2:] {
		fmt.Fprintf(&b, `{"type":"user/message","seq":%d,"time":1772442002000,"data":{"id":"u-%d","role":"user","content":[{"type":"text","text":%s}],"source":{"kind":"user"}},"surfaceOp":"append"}`+"\n", i+1, i+1, quote(text))
	}
	fmt.Fprintf(&b, `{"type":"turn/end","seq":%d,"time":1772442003000,"data":{"turn":1,"reason":{"kind":"completed"}}}`+"\n", len(args)-1)
	ts.Check(os.WriteFile(filepath.Join(folder, "session.jsonl"), []byte(b.String()), 0o600))
}

// storedIndex unpacks the index that the last program of a schema made: stored SCHEMA
func storedIndex(ts *testscript.TestScript, _ bool, args []string) {
	z, err := zip.OpenReader("../../testdata/upgrade/schema-" + args[0] + ".zip")
	ts.Check(err)
	defer z.Close()
	ts.Check(os.CopyFS(ts.MkAbs("index"), z))
}

// makeNewer makes a database say that a later version made it: newer FILE
func makeNewer(ts *testscript.TestScript, _ bool, args []string) {
	f, err := os.OpenFile(ts.MkAbs(args[0]), os.O_RDWR, 0)
	ts.Check(err)
	defer f.Close()
	_, err = f.WriteAt([]byte{0, 0, 0, 99}, 60) // the user version in SQLite's header
	ts.Check(err)
}

// age makes files look as if they had last changed so many days ago: age DAYS FILE...
func age(ts *testscript.TestScript, _ bool, args []string) {
	days, err := strconv.Atoi(args[0])
	ts.Check(err)
	at := time.Now().Add(-time.Duration(days) * 24 * time.Hour)
	for _, name := range args[1:] {
		ts.Check(os.Chtimes(ts.MkAbs(name), at, at))
	}
}

// cutFile takes bytes off the end of a file: cut FILE N
func cutFile(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	info, err := os.Stat(ts.MkAbs(args[0]))
	ts.Check(err)
	ts.Check(os.Truncate(ts.MkAbs(args[0]), info.Size()-n))
}

// countLines checks how many lines the last command printed: lines N
func countLines(ts *testscript.TestScript, _ bool, args []string) {
	if got := strings.Count(ts.ReadFile("stdout"), "\n"); strconv.Itoa(got) != args[0] {
		ts.Fatalf("%d lines, want %s", got, args[0])
	}
}

// checkJSONL checks that the last command printed JSON objects, one a line, and
// the value of a field, "#" counting from 0 or "last": jsonl LINE PATH WANT
func checkJSONL(ts *testscript.TestScript, _ bool, args []string) {
	var all []map[string]any
	for line := range strings.Lines(ts.ReadFile("stdout")) {
		var v map[string]any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			ts.Fatalf("%q is no JSON object: %v", line, err)
		}
		all = append(all, v)
	}
	n := len(all) - 1
	if args[0] != "last" {
		var err error
		n, err = strconv.Atoi(args[0])
		ts.Check(err)
	}
	if n < 0 || n >= len(all) {
		ts.Fatalf("there are %d objects", len(all))
	}
	var at any = all[n]
	for _, step := range strings.Split(args[1], ".") {
		switch v := at.(type) {
		case map[string]any:
			at = v[step]
		case []any:
			i, err := strconv.Atoi(step)
			ts.Check(err)
			if i >= len(v) {
				ts.Fatalf("%s: there are %d elements", args[1], len(v))
			}
			at = v[i]
		default:
			at = nil
		}
	}
	got, err := json.Marshal(at)
	ts.Check(err)
	if string(got) != args[2] {
		ts.Fatalf("line %d, %s is %s, want %s", n, args[1], got, args[2])
	}
}

// together runs several command lines of yore at once. Each answers, perhaps in
// part: together 'ARG...' 'ARG...'
func together(ts *testscript.TestScript, _ bool, args []string) {
	var wg sync.WaitGroup
	failures := make([]string, len(args))
	for i, line := range args {
		cmd := exec.Command("yore", strings.Fields(line)...)
		cmd.Dir = ts.MkAbs(".")
		cmd.Env = append(os.Environ(), "HOME="+ts.Getenv("HOME"), "YORE_ROOTS="+ts.Getenv("YORE_ROOTS"), "YORE_INDEX="+ts.Getenv("YORE_INDEX"))
		wg.Go(func() {
			out, err := cmd.CombinedOutput()
			if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != exitAnswered && cmd.ProcessState.ExitCode() != exitPartial {
				failures[i] = fmt.Sprintf("yore %s: %v\n%s", line, err, out)
			}
		})
	}
	wg.Wait()
	for _, f := range failures {
		if f != "" {
			ts.Fatalf("%s", f)
		}
	}
}

// callTool makes the lines that a client sends for calls of tools over MCP:
// tool [-client CLIENT] NAME ARGS [NAME ARGS...], written to the file requests.
func callTool(ts *testscript.TestScript, _ bool, args []string) {
	client := "script"
	if len(args) > 1 && args[0] == "-client" {
		client, args = args[1], args[2:]
	}
	lines := []string{
		fmt.Sprintf(`{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":%q,"version":"1"}}}`, client),
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
	}
	for i := 0; i+1 < len(args); i += 2 {
		lines = append(lines, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, i/2, args[i], args[i+1]))
	}
	ts.Check(os.WriteFile(ts.MkAbs("requests"), []byte(strings.Join(lines, "\n")+"\n"), 0o600))
}

// nowhere checks that no file of the folders holds a text: nowhere TEXT DIR...
// With ! one must.
func nowhere(ts *testscript.TestScript, neg bool, args []string) {
	files := 0
	var holders []string
	for _, dir := range args[1:] {
		ts.Check(filepath.WalkDir(ts.MkAbs(dir), func(path string, d os.DirEntry, err error) error {
			if errors.Is(err, os.ErrNotExist) {
				return nil
			}
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			files++
			data, err := os.ReadFile(path)
			if strings.Contains(string(data), args[0]) {
				holders = append(holders, path)
			}
			return err
		}))
	}
	if files == 0 || (len(holders) == 0) == neg {
		ts.Fatalf("%q is in %d of %d files: %v", args[0], len(holders), files, holders)
	}
}
