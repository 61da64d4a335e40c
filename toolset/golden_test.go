package toolset_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/yorehq/yore"
	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
	"github.com/yorehq/yore/toolset"
)

// goldenCase is one recorded call: what stood where, who called, what came back.
type goldenCase struct {
	Name    string
	Root    string // folder of sessions; "": no storage
	Caller  *goldenCaller
	Live    []goldenLog // live beside the caller
	Config  goldenConfig
	Tool    string
	Args    json.RawMessage
	Aborted bool   // cancelled before the call
	Weak    string // why the recorded answer is not the right one
	Expect  facts
}

// goldenLog is a live session that is replayed from a file.
type goldenLog struct {
	Log   string
	Flush bool // and stored as well
}

type goldenCaller struct {
	goldenLog
	SessionID session.ID `json:"session_id"` // without a log: a live session without events
	Cwd       string
	CreatedAt int64 `json:"created_at"`
}

type goldenConfig struct {
	Query struct {
		OpenAt        string
		SnippetChars  int
		ReadWindowMax *int
	}
	Tool  struct{ MaxSearchResults int }
	Index string // foreign: a file that is no database stands at the index's place
}

// facts are what a call answered, wording aside. Fields that a kind does not
// have are zero.
type facts struct {
	Kind    string
	Code    string
	Session *sessionFacts
	Hits    []hitFacts
	Capped  bool

	Target      *targetFacts
	Ancestors   []sessionFacts
	Boundary    bool `json:"ancestor_boundary"`
	Descendants []kinFacts

	ReplacedBy *int64  `json:"replaced_by"`
	Chain      []int64 `json:"replacement_chain"`
	Replaced   []int64
	Sources    []int64
	Derived    []int64

	Seq    int64
	Event  any
	Before []neighbourFacts
	After  []neighbourFacts
}

type sessionFacts struct {
	ID           session.ID
	Title        string
	TitleError   string `json:"title_error"`
	Created      string
	Availability []string
}

type eventFacts struct {
	Seq     int64
	Type    string
	Surface string
	Time    string
	Snippet string
}

// hitFacts is a session with its best event, or an event.
type hitFacts struct {
	sessionFacts
	Parent string
	Best   *eventFacts
	eventFacts
}

// targetFacts is a session of a lineage, or the event of a trace.
type targetFacts struct {
	sessionFacts
	eventFacts
}

type kinFacts struct {
	sessionFacts
	Depth   int
	Outside bool
}

type neighbourFacts struct {
	Seq        int64
	Type, Time string
	Text       *string
}

// stage is what cases are played on: a corpus, its tools, and live sessions.
type stage interface {
	Register(header session.Header) (liveLog, error)
	Tools() *toolset.Set
	Close() error
}

type liveLog interface {
	Append(line []byte) error
	Release() error
}

// oneMachine is the stage of this machine's history.
type oneMachine struct{ *yore.History }

func (m oneMachine) Register(header session.Header) (liveLog, error) {
	return m.History.Register(header)
}

// TestGolden replays every recorded case. YORE_GOLDEN names another folder with
// cases.jsonl, corpus and live.
func TestGolden(t *testing.T) {
	play(t, func(ctx context.Context, o yore.Options) (stage, error) {
		h, err := yore.Open(ctx, o)
		return oneMachine{h}, err
	}, nil)
}

// play replays the cases on stages that set makes. without says why one of them has
// no meaning there; nil: all have. It returns how many were left out.
func play(t *testing.T, set func(context.Context, yore.Options) (stage, error), without func(goldenCase) string) (left int) {
	t.Helper()
	dir := os.Getenv("YORE_GOLDEN")
	if dir == "" {
		dir = filepath.Join("..", "testdata", "golden")
	}
	g := &golden{dir: dir, indexes: t.TempDir(), set: set, open: map[string]stage{}}
	cases := readCases(t, filepath.Join(dir, "cases.jsonl"))
	if os.Getenv("YORE_GOLDEN") == "" && len(cases) != 490 {
		t.Errorf("%d cases, want 490", len(cases))
	}
	used := map[string]bool{}
	for _, c := range cases {
		if without != nil {
			if why := without(c); why != "" {
				t.Logf("%s is not played: %s", c.Name, why)
				used[c.Name] = true
				left++
				continue
			}
		}
		t.Run(c.Name, func(t *testing.T) {
			want := c.Expect
			if better, ok := betterAnswers()[c.Name]; ok {
				want, used[c.Name] = better.answer, true
			}
			got := g.run(t, c)
			if c.Weak != "" && !used[c.Name] {
				if os.Getenv("YORE_GOLDEN") != "" && got.Kind != "error" {
					return // the recording is known to be weak here, and this is better than a failure
				}
				t.Fatalf("the reference is weak here (%s), and no better answer is known than %s", c.Weak, got)
			}
			sentences(&got, &want)
			if d := cmp.Diff(want, got, cmp.AllowUnexported(hitFacts{}, targetFacts{}, kinFacts{}), cmpopts.EquateEmpty()); d != "" {
				t.Errorf("%s %s (-want +got)\n%s", c.Tool, c.Args, d)
			}
		})
	}
	for name := range betterAnswers() {
		if !used[name] && os.Getenv("YORE_GOLDEN") == "" {
			t.Errorf("a better answer for %q, which is no case", name)
		}
	}
	for key, h := range g.open {
		if err := h.Close(); err != nil {
			t.Errorf("closing %s: %v", key, err)
		}
	}
	return left
}

func readCases(t *testing.T, path string) []goldenCase {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var cases []goldenCase
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var c goldenCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatalf("case %d: %v", len(cases)+1, err)
		}
		cases = append(cases, c)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return cases
}

// golden keeps histories open, so that cases over the same root and
// configuration share one.
type golden struct {
	dir     string
	indexes string // folder for the indexes of shared histories, which outlive a case
	set     func(context.Context, yore.Options) (stage, error)
	open    map[string]stage
}

// run replays one case and returns the facts of its answer.
func (g *golden) run(t *testing.T, c goldenCase) facts {
	t.Helper()
	h := g.history(t, c)
	for _, l := range c.Live {
		g.register(t, h, l)
	}
	var caller authz.Caller
	if c.Caller != nil {
		header := session.Header{Agent: session.DSH, ID: c.Caller.SessionID, CreatedAt: c.Caller.CreatedAt, Cwd: c.Caller.Cwd}
		if c.Caller.Log != "" {
			header = g.register(t, h, c.Caller.goldenLog)
		} else {
			live, err := h.Register(header)
			if err != nil {
				t.Fatal(err)
			}
			release(t, live)
		}
		key := header.Key()
		caller = authz.Caller{Workspace: header.Cwd, Session: &key}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if c.Aborted {
		cancel()
	}
	return factsOf(t, h.Tools().Call(ctx, toolset.Call{Caller: caller, Tool: c.Tool, Args: c.Args}))
}

// history opens what a case stands on. Stored copies of live logs and a foreign
// index are a case's own.
func (g *golden) history(t *testing.T, c goldenCase) stage {
	t.Helper()
	flushed := []goldenLog{}
	for _, l := range c.Live {
		if l.Flush {
			flushed = append(flushed, l)
		}
	}
	if c.Caller != nil && c.Caller.Flush {
		flushed = append(flushed, c.Caller.goldenLog)
	}
	own := len(flushed) > 0 || c.Config.Index != ""
	config, err := json.Marshal(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	key := c.Root + string(config)
	if h := g.open[key]; h != nil && !own {
		return h
	}
	o := yore.Options{
		Match: query.Literal, Order: query.Matches, Inherited: true,
		SnippetPoints: c.Config.Query.SnippetChars, MaxSearchResults: c.Config.Tool.MaxSearchResults,
	}
	switch at := c.Config.Query.OpenAt; at {
	case "", "first-search":
		o.Search = yore.SearchFirst
	case "never":
		o.Search = yore.SearchNever
	case "startup":
		o.Search = yore.SearchStartup
	default:
		t.Fatalf("openAt %q is unknown", at)
	}
	if n := c.Config.Query.ReadWindowMax; n != nil {
		o.ReadWindow = *n
		if *n == 0 {
			o.ReadWindow = -1
		}
	}
	if c.Root != "" {
		root := filepath.Join(g.dir, c.Root)
		if len(flushed) > 0 {
			root = t.TempDir()
			if err := os.CopyFS(root, os.DirFS(filepath.Join(g.dir, c.Root))); err != nil {
				t.Fatal(err)
			}
			for _, l := range flushed {
				g.flush(t, root, l)
			}
		}
		o.Sources = []yore.Source{{Agent: session.DSH, Root: root}}
	}
	o.IndexDir = filepath.Join(g.indexes, fmt.Sprint(len(g.open)))
	if own {
		o.IndexDir = t.TempDir()
	}
	if c.Config.Index == "foreign" {
		o.IndexDir = filepath.Join(o.IndexDir, "index")
		if err := os.WriteFile(o.IndexDir, []byte("this is no database\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	h, err := g.set(context.WithoutCancel(t.Context()), o)
	if err != nil {
		t.Fatal(err)
	}
	if own {
		t.Cleanup(func() {
			if err := h.Close(); err != nil {
				t.Error(err)
			}
		})
		return h
	}
	g.open[key] = h
	return h
}

// register replays a live log until the end of the case.
func (g *golden) register(t *testing.T, h stage, l goldenLog) session.Header {
	t.Helper()
	header, lines := g.log(t, l)
	live, err := h.Register(header)
	if err != nil {
		t.Fatal(err)
	}
	release(t, live)
	for _, line := range lines {
		if err := live.Append(line); err != nil {
			t.Fatalf("%s: %v", l.Log, err)
		}
	}
	return header
}

func release(t *testing.T, live liveLog) {
	t.Cleanup(func() {
		if err := live.Release(); err != nil {
			t.Error(err)
		}
	})
}

// log reads a live log: a header record, then one event a line.
func (g *golden) log(t *testing.T, l goldenLog) (session.Header, [][]byte) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(g.dir, l.Log))
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
	header := session.Header{Agent: session.DSH}
	if err := json.Unmarshal(lines[0], &header); err != nil {
		t.Fatalf("%s: %v", l.Log, err)
	}
	return header, lines[1:]
}

// flush stores a live log where its agent would.
func (g *golden) flush(t *testing.T, root string, l goldenLog) {
	t.Helper()
	header, _ := g.log(t, l)
	data, err := os.ReadFile(filepath.Join(g.dir, l.Log))
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(root, "--"+strings.ReplaceAll(strings.TrimPrefix(header.Cwd, "/"), "/", "-")+"--", string(header.ID))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "session.jsonl"), data, 0o600); err != nil {
		t.Fatal(err)
	}
}
