package opencode

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/readertest"
	"github.com/yorehq/yore/session"
)

// grove is a tree that a test writes, in the folders of either age.
type grove struct {
	t    testing.TB
	root string
	form form
	now  time.Time
	r    *Reader
}

func newGrove(t testing.TB, f form) *grove {
	g := &grove{t: t, root: t.TempDir(), form: f, now: time.UnixMilli(1_760_000_000_000)}
	g.r = New()
	g.r.now = func() time.Time { return g.now }
	return g
}

// write puts a file where it belongs, at the next moment.
func (g *grove) write(path, text string) string {
	g.t.Helper()
	g.now = g.now.Add(10 * time.Millisecond)
	path = filepath.Join(g.root, filepath.FromSlash(path))
	touched := []string{path, filepath.Dir(path)}
	if _, err := os.Stat(path); err == nil {
		touched = touched[:1] // a folder knows nothing of what is written into its files
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		g.t.Fatal(err)
	}
	text = strings.ReplaceAll(text, "NOW", fmt.Sprint(g.now.UnixMilli()))
	// In place, as the agent does.
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		g.t.Fatal(err)
	}
	for _, p := range touched {
		if err := os.Chtimes(p, g.now, g.now); err != nil {
			g.t.Fatal(err)
		}
	}
	return path
}

func (g *grove) under(kind string) string {
	if g.form == inProject {
		return "project/home-dev-w/storage/session/" + kind
	}
	return "storage/" + kind
}

// session writes a session's own file; more are further members.
func (g *grove) session(id, more string) string {
	folder := g.under("session/p1")
	if g.form == inProject {
		folder = g.under("info")
	} else {
		more = `,"projectID":"p1","directory":"/w"` + more
	}
	return g.write(folder+"/"+id+".json", `{
  "id": "`+id+`", "version": "0.6.3", "title": "T",
  "time": {"created": 1760000000000, "updated": NOW}`+more+`}`)
}

func (g *grove) message(session, id, data string, parts ...string) {
	g.write(g.under("message")+"/"+session+"/"+id+".json", `{"id":"`+id+`","sessionID":"`+session+`",`+strings.TrimPrefix(data, "{"))
	for i, p := range parts {
		g.part(session, id, fmt.Sprintf("prt_%s_%d", id, i), p)
	}
}

func (g *grove) part(session, message, id, data string) {
	folder := g.under("part")
	if g.form == inProject {
		folder += "/" + session
	}
	g.write(folder+"/"+message+"/"+id+".json", `{"id":"`+id+`","messageID":"`+message+`","sessionID":"`+session+`",`+strings.TrimPrefix(data, "{"))
}

func (g *grove) user(session, id, text string) {
	g.message(session, id, `{"role":"user","time":{"created":NOW}}`, `{"type":"text","text":"`+text+`"}`)
}

const answered = `{"role":"assistant","path":{"cwd":"/w","root":"/"},"time":{"created":NOW,"completed":NOW}}`

func (g *grove) answer(session, id, text string) {
	g.message(session, id, answered, `{"type":"text","text":"`+text+`"}`)
}

func (g *grove) follow(id session.ID) *follower {
	g.t.Helper()
	for _, src := range readertest.Discover(g.t, g.r, g.root) {
		if src.Header.ID == id {
			return &follower{t: g.t, r: g.r, src: src}
		}
	}
	g.t.Fatalf("%s is not found", id)
	return nil
}

// A session that grows, is taken back in part, and comes to rest, in the folders
// of both ages; and what each look at it costs it to say so.
func TestTreeGrows(t *testing.T) {
	for _, f := range []form{inStorage, inProject} {
		t.Run(fmt.Sprint(f), func(t *testing.T) {
			g := newGrove(t, f)
			g.session("ses_a", "")
			g.user("ses_a", "msg_1", "one")
			g.answer("ses_a", "msg_2", "two")
			s := g.follow("ses_a")
			want := session.Header{Agent: session.OpenCode, ID: "ses_a", CreatedAt: 1_760_000_000_000, Cwd: "/w"}
			if s.src.Header != want {
				t.Errorf("%+v", s.src.Header)
			}
			s.step("new", reader.Replaced, "one", "two")
			s.step("nothing", reader.Unchanged)
			g.user("ses_a", "msg_3", "three")
			s.step("a prompt", reader.Grown, "one", "two", "three")
			running := `{"role":"assistant","path":{"cwd":"/w","root":"/"},"time":{"created":NOW}}`
			g.message("ses_a", "msg_4", running, tool("running", ""))
			s.step("an answer that is not finished", reader.Grown, "one", "two", "three")
			g.part("ses_a", "msg_4", "prt_msg_4_0", tool("completed", `,"output":"done"`))
			g.part("ses_a", "msg_4", "prt_msg_4_1", `{"type":"text","text":"four"}`)
			g.message("ses_a", "msg_4", answered)
			s.step("and then is", reader.Grown, "one", "two", "three", "done", "four")
			g.session("ses_a", `,"revert":{"messageID":"msg_3"}`)
			s.step("taken back", reader.Replaced, "one", "two")
			g.session("ses_a", "")
			s.step("and not", reader.Replaced, "one", "two", "three", "done", "four")
			g.part("ses_a", "msg_2", "prt_msg_2_0", `{"type":"text","text":"other"}`)
			g.session("ses_a", "")
			s.step("rewritten", reader.Replaced, "one", "other", "three", "done", "four")
			if g.r.Alone(s.src, s.at) {
				t.Error("a session that may be going on is said to depend on one file")
			}
			g.now = g.now.Add(2 * abandoned)
			s.step("at rest", reader.Grown, "one", "other", "three", "done", "four")
			s.step("still at rest", reader.Unchanged)
			if g.r.Alone(s.src, s.at) != (f == inStorage) {
				t.Error("a session at rest is looked at by more than its own file")
			}
			// The agent writes the prompt, and then into the session's file.
			g.user("ses_a", "msg_5", "five")
			g.session("ses_a", "")
			s.step("taken up again", reader.Grown, "one", "other", "three", "done", "four", "five")
			if g.r.Alone(s.src, s.at) {
				t.Error("a session that was taken up again is said to depend on one file")
			}
			os.Remove(s.src.Path)
			if rev, _, err := g.r.Revise(t.Context(), s.src, s.at); err != nil || rev != reader.Gone {
				t.Errorf("its file is gone: revision %d, %v", rev, err)
			}
		})
	}
}

// A summary of before 1.0 stands for all that was before it, by itself.
func TestTreeSummaries(t *testing.T) {
	g := newGrove(t, inStorage)
	g.session("ses_a", "")
	g.user("ses_a", "msg_1", "one")
	g.answer("ses_a", "msg_2", "two")
	g.message("ses_a", "msg_3", strings.Replace(answered, `"path"`, `"summary":true,"path"`, 1), `{"type":"text","text":"sum"}`)
	g.user("ses_a", "msg_4", "three")
	s := g.follow("ses_a")
	s.step("summed up", reader.Replaced, "sum", "three")
	g.message("ses_a", "msg_5", strings.Replace(answered, `"path"`, `"summary":true,"error":{"name":"MessageAbortedError"},"path"`, 1), `{"type":"text","text":"no sum"}`)
	s.step("a summary that failed", reader.Grown, "sum", "three")
}

// A process that was killed leaves an answer unfinished for good.
func TestTreeKilled(t *testing.T) {
	g := newGrove(t, inStorage)
	g.session("ses_a", "")
	g.user("ses_a", "msg_1", "one")
	g.message("ses_a", "msg_2", `{"role":"assistant","time":{"created":NOW}}`, `{"type":"text","text":"half"}`, tool("running", ""))
	s := g.follow("ses_a")
	s.step("running", reader.Replaced, "one")
	g.now = g.now.Add(2 * abandoned)
	s.step("given up", reader.Grown, "one", "half")
	s.step("given up, again", reader.Unchanged)
	g.user("ses_a", "msg_3", "on")
	g.session("ses_a", "")
	s.step("taken up again", reader.Replaced, "one")
	g.answer("ses_a", "msg_4", "went on")
	s.step("and answered", reader.Grown, "one", "half", "on", "went on")
}

func TestTreeFamilies(t *testing.T) {
	g := newGrove(t, inStorage)
	g.session("ses_a", "")
	g.session("ses_b", `,"parentID":"ses_a"`)
	g.session("ses_c", `,"parentID":"ses_b"`)
	g.session("ses_d", `,"parentID":"../../ses_c"`)
	g.session("ses_e", `,"parentID":"ses_e"`)
	g.write("storage/session/p1/ses_f.json", `{"id":"ses_other","time":{"created":1}}`)
	g.write("storage/session/p1/ses_g.json", `{"id":"ses_g",`)
	got := map[session.ID]int64{}
	for _, src := range readertest.Discover(t, g.r, g.root) {
		got[src.Header.ID] = src.Header.DelegationDepth
	}
	if diff := cmp.Diff(map[session.ID]int64{"ses_a": 0, "ses_b": 1, "ses_c": 2, "ses_d": 1, "ses_e": maxDepth}, got); diff != "" {
		t.Errorf("depths (-want +got):\n%s", diff)
	}
	// A copy in a fork is known by what it says, not by its ids, and not by spaces.
	g.message("ses_a", "msg_1", `{"role":"user","time":{"created":7}}`, `{"type":"text","text":"one"}`)
	g.message("ses_b", "msg_9", `{"role": "user", "time": {"created": 7}}`, "{\n  \"type\": \"text\",\n \"text\": \"one\"\n}")
	a, _ := readIn(t, g, "ses_a")
	b, _ := readIn(t, g, "ses_b")
	if len(a) != 3 || len(b) != 3 || a[1].NativeID != b[1].NativeID || a[2].NativeID != b[2].NativeID || a[2].NativeID == "" {
		t.Errorf("%+v\n%+v", a, b)
	}
}

func readIn(t testing.TB, g *grove, id session.ID) ([]session.Event, reader.Position) {
	t.Helper()
	return read(t, g.r, g.follow(id).src, reader.Position{})
}

// Which files are sessions, and which form of one counts.
func TestTreePlaces(t *testing.T) {
	for _, c := range []struct {
		rel  string
		dir  bool
		want reader.Kind
	}{
		{"storage", true, reader.Folder}, {"storage/session", true, reader.Folder}, {"storage/session/global", true, reader.Folder},
		{"storage/session/global/ses_1.json", false, reader.File}, {"storage/session/global/ses_1", true, reader.Ignore},
		{"storage/session/global/share.json", false, reader.Ignore}, {"storage/session/ses_1.json", false, reader.Ignore},
		{"storage/message", true, reader.Ignore}, {"storage/part", true, reader.Ignore}, {"storage/session_diff", true, reader.Ignore},
		{"storage/session_diff/ses_1.json", false, reader.Ignore}, {"storage/message/ses_1/msg_1.json", false, reader.Ignore},
		{"project", true, reader.Folder}, {"project/home-dev-w", true, reader.Folder}, {"project/home-dev-w/storage/session", true, reader.Folder},
		{"project/home-dev-w/storage/session/info", true, reader.Folder}, {"project/home-dev-w/storage/session/message", true, reader.Ignore},
		{"project/home-dev-w/storage/session/info/ses_1.json", false, reader.File}, {"project/home-dev-w/storage/session/share/ses_1.json", false, reader.Ignore},
		{"project/home-dev-w/snapshots", true, reader.Ignore}, {"snapshot/storage/session", true, reader.Ignore},
	} {
		if got := New().Classify(c.rel, c.dir); got != c.want {
			t.Errorf("%s: %d, want %d", c.rel, got, c.want)
		}
	}
	last := -1
	for _, path := range []string{"/r/project/p/storage/session/info/ses_1.json", "/r/storage/session/p/ses_1.json", reader.PartPath("/r/opencode.db", "ses_1")} {
		rank := New().Rank("/r", path)
		if rank <= last {
			t.Errorf("%s has the rank %d, the form before it %d", path, rank, last)
		}
		last = rank
	}
}
