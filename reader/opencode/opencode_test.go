package opencode

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ncruces/go-sqlite3"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/readertest"
	"github.com/yorehq/yore/session"
)

// The databases were written by the client, 1.18.33, under a scripted model.
const genuine = "../../testdata/opencode/"

func at(moment time.Time) *Reader {
	r := New()
	r.now = func() time.Time { return moment }
	return r
}

// then is when the genuine databases were written.
var then = time.UnixMilli(1796061050000)

func sources(t testing.TB, r *Reader, path string) map[session.ID]reader.Source {
	t.Helper()
	found := map[session.ID]reader.Source{}
	err := r.List(context.Background(), filepath.Dir(path), path, func(l reader.Listed) error {
		if l.Problem == nil {
			found[l.Header.ID] = reader.Source{Agent: r.agent, Root: filepath.Dir(path), Path: reader.PartPath(path, l.Name), Header: l.Header}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func read(t testing.TB, r *Reader, src reader.Source, from reader.Position) ([]session.Event, reader.Position) {
	t.Helper()
	events, tail, err := readertest.ReadFrom(r, src, from)
	if err != nil {
		t.Fatal(err)
	}
	return events, tail.Position
}

// said is what events say, a line each.
func said(events []session.Event) []string {
	var all []string
	for _, e := range events {
		line := e.Type
		for _, b := range e.Body.Blocks {
			line += " " + strings.TrimSpace(b.Name+" "+b.Text)
			for _, c := range b.Content {
				line += c.Text
			}
		}
		if e.Body.Title != nil {
			line += " " + *e.Body.Title
		}
		if e.Body.ErrorName != "" {
			line += " !" + e.Body.ErrorName + e.Body.ErrorCode
		}
		all = append(all, line)
	}
	return all
}

// current is the surface after the events, as texts.
func current(t testing.TB, events []session.Event) []string {
	t.Helper()
	var fold session.Fold
	for i := range events {
		if _, err := fold.Apply(&events[i]); err != nil {
			t.Fatalf("event %d: %v", events[i].Seq, err)
		}
	}
	var all []string
	for _, seq := range fold.Surface() {
		all = append(all, said(events[seq : seq+1])[0])
	}
	return all
}

const (
	first = "ses_dd4549265ffeG57T7fF3fCVbWt"
	child = "ses_dd4543a14ffeiKpnR37lq9G3LJ"
)

// A continued session with failing and parallel calls, a call to a server and a
// subagent, row by row as they stand in the database.
func TestGenuineSession(t *testing.T) {
	found := sources(t, at(then), genuine+"opencode.db")
	if diff := cmp.Diff(map[session.ID]session.Header{
		first: {Agent: session.OpenCode, ID: first, CreatedAt: 1796028984730, Cwd: "/home/dev/proj"},
		child: {
			Agent: session.OpenCode, ID: child, CreatedAt: 1796029007339, Cwd: "/home/dev/proj", ParentSession: first,
			Origin: session.OriginSubagent, DelegationDepth: 1,
		},
	}, map[session.ID]session.Header{first: found[first].Header, child: found[child].Header}); diff != "" || len(found) != 2 {
		t.Errorf("(-want +got):\n%s", diff)
	}
	events, _ := read(t, at(then), found[child], reader.Position{})
	if diff := cmp.Diff([]string{
		"session/title Check the greeting (@general subagent)",
		"turn/start",
		"user/message SUBTASK-ALPHA: read hello.txt and report its text.",
		"step/start",
		"assistant/message Reading.",
		`tool/call read {"filePath":"/home/dev/proj/hello.txt"}`,
		"tool/result <path>/home/dev/proj/hello.txt</path>\n<type>file</type>\n<content>\n1: hello wörld 🚀\n\n(End of file - total 1 lines)\n</content>",
		"step/end",
		"step/start",
		"assistant/message It says: hello wörld 🚀",
		"step/end",
		"turn/end",
	}, said(events)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	events, _ = read(t, at(then), found[first], reader.Position{})
	lines := said(events)
	for seq, want := range map[int]string{
		0: "session/title Greeting fix", 2: `user/message "Fix the greeting in hello.txt, then check with the probe."`, 4: "opencode/reasoning",
		17: "tool/result cat: missing.txt: No such file or directory\n !exit1", 23: "tool/call probe_probe_struct {}", 24: "tool/result TEXT-PART n is seven",
		36: `user/message "Thanks. What did you change?"`, 38: "assistant/message I changed one word in hello.txt.", 40: "turn/end",
	} {
		if len(lines) != 41 || lines[seq] != want {
			t.Errorf("event %d of %d is %q, want %q", seq, len(lines), lines[min(seq, len(lines)-1)], want)
		}
	}
	if events[2].Time != 1796028985911 || events[5].Time != 1796029003347 || events[7].Time != 1796029003677 || events[34].Time != 1796029008782 {
		t.Errorf("times %d %d %d %d", events[2].Time, events[5].Time, events[7].Time, events[34].Time)
	}
}

const (
	compacted = "ses_dd27237a6ffenNOnOEA2Okc5Lp"
	forked    = "ses_dd26defa0ffeTksFPt2CEtKTqG"
	killed    = "ses_dd26c4b4affesuiOcaTyytSwSh"
)

// A session that was compacted, one that was forked from it before and then
// reverted, and one whose process was killed twice.
func TestGenuineCompactionForkRevertAndKill(t *testing.T) {
	found := sources(t, at(then), genuine+"opencode-driven.db")
	whole, _ := read(t, at(then), found[compacted], reader.Position{})
	if diff := cmp.Diff([]string{
		"user/message A side title", "user/message And now the bilby", "assistant/message The wombat said hello.",
	}, current(t, whole)); diff != "" {
		t.Errorf("behind the compaction (-want +got):\n%s", diff)
	}
	if e := whole[19]; e.Body.Speaker != session.Summary || !slices.Equal(e.Sources, []int64{2, 5, 7, 10, 14}) {
		t.Errorf("the summary is %+v", e)
	}
	fork, _ := read(t, at(then), found[forked], reader.Position{})
	if diff := cmp.Diff([]string{
		"user/message \"Greet the wombat\"", "assistant/message I look around.", "tool/result hello wombat\n", "assistant/message The wombat said hello.",
		"user/message \"Tell me of the quokka\"",
	}, current(t, fork)); diff != "" {
		t.Errorf("behind the revert (-want +got):\n%s", diff)
	}
	if found[forked].Header.ParentSession != "" {
		t.Error("the fork states a parent, which the client does not do")
	}
	for i := 1; i < 16; i++ {
		if whole[i].NativeID == "" || whole[i].NativeID != fork[i].NativeID {
			t.Errorf("event %d: the copy is %q, the original %q", i, fork[i].NativeID, whole[i].NativeID)
		}
	}
	if whole[16].NativeID == fork[16].NativeID {
		t.Error("what was said in the fork alone has the identity of something in its origin")
	}
	events, _ := read(t, at(then), found[killed], reader.Position{})
	if diff := cmp.Diff([]string{
		"session/title A side title", "turn/start", "user/message \"KILLME please work on the wallaby\"", "step/start",
		"assistant/message I start the long work of the wallaby.", `tool/call bash {"command":"sleep 55","description":"wait"}`,
		"opencode/unfinished", "turn/start", "user/message \"Go on please\"",
	}, said(events)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What a killed process left unfinished is held back, and given when it is plain
// that no more will come.
func TestKilledRun(t *testing.T) {
	path := genuine + "opencode-killed.db"
	soon, late := at(time.UnixMilli(1796061010000)), at(time.UnixMilli(1796061010000).Add(2*time.Hour))
	src := sources(t, soon, path)[killed]
	events, position := read(t, soon, src, reader.Position{})
	if len(events) != 3 {
		t.Errorf("%q", said(events))
	}
	if rev, _, err := soon.Revise(t.Context(), src, position); err != nil || rev != reader.Unchanged {
		t.Errorf("revision %d, %v", rev, err)
	}
	if rev, _, err := late.Revise(t.Context(), src, position); err != nil || rev != reader.Grown {
		t.Errorf("later: revision %d, %v", rev, err)
	}
	more, _ := read(t, late, src, position)
	if lines := said(more); len(lines) != 4 || lines[1] != "assistant/message I start the long work of the wallaby." || lines[3] != "opencode/unfinished" {
		t.Errorf("%q", lines)
	}
	open, err := New().OpenCalls(t.Context(), path)
	if diff := cmp.Diff([]reader.OpenCall{{Session: killed, Name: "bash", Args: `{"command":"sleep 55","description":"wait"}`}}, open); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

// Every session of the genuine databases can be read in pieces, stopped, looked
// into and cancelled, and an exact read gives the column's bytes.
func TestConformance(t *testing.T) {
	for _, name := range []string{"opencode.db", "opencode-driven.db", "opencode-killed.db"} {
		for id, src := range sources(t, New(), genuine+name) {
			t.Run(string(id), func(t *testing.T) {
				readertest.Stop(t, New(), src)
				readertest.Cancel(t, New(), src)
				readertest.Window(t, New(), src)
				if h, err := New().Identify(t.Context(), src.Root, src.Path); err != nil || h != src.Header {
					t.Errorf("identified as %+v, %v", h, err)
				}
			})
		}
	}
	c, err := sqlite3.Open(genuine + "opencode.db")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	stmt, _, err := c.Prepare(`SELECT data FROM part WHERE id = 'prt_22babbba2001trxc7QcCpuj95b'`)
	if err != nil || !stmt.Step() {
		t.Fatal(err)
	}
	want := stmt.ColumnText(0)
	stmt.Close()
	src := sources(t, New(), genuine+"opencode.db")[first]
	_, err = New().Window(t.Context(), src, session.Checkpoint{}, 17, 17, session.Every(), func(raw session.Raw) error {
		if string(raw.Native) != want {
			t.Errorf("event 17 is %s, want %s", raw.Native, want)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestPlaces(t *testing.T) {
	env := map[string]string{}
	roots := func() []string { return New().DefaultRoots(func(k string) string { return env[k] }, "/home/dev") }
	for _, c := range []struct {
		data, db string
		want     []string
	}{
		{"", "", []string{"/home/dev/.local/share/opencode"}},
		{"/x", " ", []string{"/x/opencode"}},
		{"/x", ":memory:", []string{"/x/opencode"}},
		{"/x", "/y/z.sqlite", []string{"/x/opencode", "/y/z.sqlite"}},
		{"/x", "other.db", []string{"/x/opencode", "/x/opencode/other.db"}},
		{"/x", "opencode-mine.db", []string{"/x/opencode"}},
	} {
		env["XDG_DATA_HOME"], env["OPENCODE_DB"] = c.data, c.db
		if got := roots(); !slices.Equal(got, c.want) {
			t.Errorf("%+v: %q", c, got)
		}
	}
	for _, c := range []struct {
		rel  string
		dir  bool
		want reader.Kind
	}{
		{".", true, reader.Folder}, {".", false, reader.Shelf}, {"opencode.db", false, reader.Shelf}, {"opencode-canary.db", false, reader.Shelf},
		{"opencode.db-wal", false, reader.Ignore}, {"opencode.db", true, reader.Ignore}, {"other.db", false, reader.Ignore}, {"kilo.db", false, reader.Ignore},
		{"log", true, reader.Ignore}, {"log/opencode.db", false, reader.Ignore},
	} {
		if got := New().Classify(c.rel, c.dir); got != c.want {
			t.Errorf("%s: %d, want %d", c.rel, got, c.want)
		}
	}
	if NewKilo().Classify("kilo.db", false) != reader.Shelf || NewKilo().Agent() != session.Kilo {
		t.Error("the fork's database is not known")
	}
	h := session.Header{ID: "ses_1", Cwd: "/w"}
	if got := New().ResumeCommand(h); got != "cd /w && opencode --session ses_1" {
		t.Error(got)
	}
	h.Origin = session.OriginSubagent
	if got := New().ResumeCommand(h); got != "" {
		t.Error(got)
	}
}

// desk is a database that a test writes, with the client's own schema.
type desk struct {
	t    testing.TB
	path string
	c    *sqlite3.Conn
	now  int64
}

func newDesk(t testing.TB) *desk {
	d := &desk{t: t, path: filepath.Join(t.TempDir(), "opencode.db"), now: 1_000_000_000_000}
	text, err := os.ReadFile(genuine + "opencode.db")
	if err == nil {
		err = os.WriteFile(d.path, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if d.c, err = sqlite3.Open(d.path); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.c.Close() })
	d.exec(`PRAGMA journal_mode = wal; PRAGMA wal_autocheckpoint = 0; PRAGMA synchronous = off; PRAGMA foreign_keys = off;
		DELETE FROM session; DELETE FROM message; DELETE FROM part; DELETE FROM event_sequence`)
	return d
}

func (d *desk) exec(sql string) {
	d.t.Helper()
	if err := d.c.Exec(sql); err != nil {
		d.t.Fatalf("%s: %v", sql, err)
	}
}

func (d *desk) tick() int64 { d.now += 10; return d.now }

func (d *desk) session(id, parent string) {
	d.exec(fmt.Sprintf(`INSERT INTO session (id, project_id, parent_id, slug, directory, title, version, time_created, time_updated)
		VALUES (%s, 'p', nullif(%s, ''), 's', '/w', 'T', '1', %d, %d)`, sqlite3.Quote(id), sqlite3.Quote(parent), d.tick(), d.now))
}

func (d *desk) message(session, id, data string, parts ...string) {
	d.t.Helper()
	at := d.tick()
	data = strings.ReplaceAll(data, "NOW", fmt.Sprint(at))
	d.exec(fmt.Sprintf(`INSERT INTO message VALUES (%s, %s, %d, %d, %s)`, sqlite3.Quote(id), sqlite3.Quote(session), at, at, sqlite3.Quote(data)))
	for i, p := range parts {
		d.part(session, id, fmt.Sprintf("%s.%d", id, i), p)
	}
	d.exec(fmt.Sprintf(`UPDATE session SET time_updated = %d WHERE id = %s`, d.tick(), sqlite3.Quote(session)))
}

func (d *desk) part(session, message, id, data string) {
	at := d.tick()
	d.exec(fmt.Sprintf(`INSERT OR REPLACE INTO part VALUES (%s, %s, %s, %d, %d, %s)`, sqlite3.Quote(id), sqlite3.Quote(message), sqlite3.Quote(session), at, at, sqlite3.Quote(data)))
}

func (d *desk) user(session, id, text string) {
	d.message(session, id, `{"role":"user","time":{"created":NOW}}`, `{"type":"text","text":"`+text+`"}`)
}

const done = `{"role":"assistant","parentID":"x","time":{"created":NOW,"completed":NOW},"finish":"stop"}`

func (d *desk) answer(session, id, text string) {
	d.message(session, id, done, `{"type":"text","text":"`+text+`"}`)
}

func tool(status, more string) string {
	return `{"type":"tool","tool":"bash","callID":"c","state":{"status":"` + status + `","input":{"a":1}` + more + `}}`
}

// follower reads a session on whenever it changes, as an index does.
type follower struct {
	t      testing.TB
	r      *Reader
	src    reader.Source
	at     reader.Position
	events []session.Event
}

func (d *desk) follow(id session.ID) *follower {
	r := at(time.UnixMilli(d.now))
	return &follower{t: d.t, r: r, src: sources(d.t, r, d.path)[id]}
}

// step checks what has become of the session, reads on, and compares with reading at once.
func (f *follower) step(what string, want reader.Revision, current ...string) {
	f.t.Helper()
	rev, stamp, err := f.r.Revise(f.t.Context(), f.src, f.at)
	if err != nil || rev != want {
		f.t.Fatalf("%s: revision %d, %v; want %d", what, rev, err, want)
	}
	file, _ := reader.SplitPart(f.src.Path)
	f.r.List(f.t.Context(), f.src.Root, file, func(l reader.Listed) error {
		if l.Header.ID == f.src.Header.ID && l.Stamp != stamp {
			f.t.Errorf("%s: the list says %+v, Revise %+v", what, l.Stamp, stamp)
		}
		return nil
	})
	switch rev {
	case reader.Unchanged:
		return
	case reader.Replaced:
		f.at, f.events = reader.Position{}, nil
	}
	more, at := read(f.t, f.r, f.src, f.at)
	f.events, f.at = append(f.events, more...), at
	all, _ := read(f.t, f.r, f.src, reader.Position{})
	if diff := cmp.Diff(all, f.events); diff != "" {
		f.t.Errorf("%s (-at once +in pieces):\n%s", what, diff)
	}
	if diff := cmp.Diff(current, surfaceTexts(f.t, f.events)); diff != "" {
		f.t.Errorf("%s: what the model sees (-want +got):\n%s", what, diff)
	}
}

// surfaceTexts is the surface with the texts alone.
func surfaceTexts(t testing.TB, events []session.Event) []string {
	var all []string
	for _, line := range current(t, events) {
		_, text, _ := strings.Cut(line, " ")
		all = append(all, text)
	}
	return all
}

func TestGrowthRewriteAndRevert(t *testing.T) {
	d := newDesk(t)
	d.session("ses_a", "")
	d.session("ses_other", "")
	d.user("ses_a", "m1", "one")
	f := d.follow("ses_a")
	f.step("at first", reader.Replaced, "one")
	f.step("nothing", reader.Unchanged)
	d.user("ses_other", "n1", "elsewhere")
	f.step("another session has grown", reader.Unchanged)

	// An answer that is being written is held back.
	d.message("ses_a", "m2", `{"role":"assistant","parentID":"m1","time":{"created":NOW}}`, `{"type":"text","text":"half"}`, tool("running", ""))
	f.step("an answer begins", reader.Grown, "one")
	d.part("ses_a", "m2", "m2.1", tool("completed", `,"output":"out","time":{"start":1,"end":2}`))
	d.exec(`UPDATE message SET data = '{"role":"assistant","parentID":"m1","time":{"created":5,"completed":7},"finish":"stop"}', time_updated = time_updated + 1 WHERE id = 'm2'`)
	f.step("it is finished", reader.Grown, "one", "half", "out")

	// The client writes to the prompt when the turn ends: that changes nothing.
	d.exec(`UPDATE message SET data = '{"role":"user","time":{"created":1},"summary":{"diffs":[]}}', time_updated = time_updated + 99 WHERE id = 'm1';
		UPDATE session SET time_updated = time_updated + 50`)
	f.step("a summary of changes", reader.Grown, "one", "half", "out")
	d.user("ses_a", "m3", "two")
	d.answer("ses_a", "m4", "three")
	f.step("another turn", reader.Grown, "one", "half", "out", "two", "three")

	// Undone, and redone.
	d.exec(`UPDATE session SET revert = '{"messageID":"m3"}' WHERE id = 'ses_a'`)
	f.step("undone", reader.Replaced, "one", "half", "out")
	d.exec(`UPDATE session SET revert = NULL WHERE id = 'ses_a'`)
	f.step("redone", reader.Replaced, "one", "half", "out", "two", "three")
	d.exec(`UPDATE session SET revert = '{"messageID":"m2","partID":"m2.1"}' WHERE id = 'ses_a'`)
	f.step("undone within an answer", reader.Replaced, "one", "half")
	d.exec(`DELETE FROM message WHERE id IN ('m3', 'm4'); DELETE FROM part WHERE id = 'm2.1' OR message_id IN ('m3', 'm4'); UPDATE session SET revert = NULL WHERE id = 'ses_a'`)
	d.user("ses_a", "m5", "instead")
	f.step("made good by the next prompt", reader.Replaced, "one", "half", "instead")

	// A text of an emitted part changes, and a title.
	d.part("ses_a", "m2", "m2.0", `{"type":"text","text":"other half"}`)
	d.exec(`UPDATE session SET time_updated = time_updated + 1`)
	f.step("rewritten", reader.Replaced, "one", "other half", "instead")
	d.exec(`UPDATE session SET title = 'Renamed' WHERE id = 'ses_a'`)
	f.step("renamed", reader.Replaced, "one", "other half", "instead")
	if *f.events[0].Body.Title != "Renamed" {
		t.Error(said(f.events)[0])
	}
	d.exec(`DELETE FROM session WHERE id = 'ses_a'`)
	if rev, _, err := f.r.Revise(t.Context(), f.src, f.at); err != nil || rev != reader.Gone {
		t.Errorf("revision %d, %v", rev, err)
	}
}

// The kept tail lies before the message that asks for the compaction; a summary
// with an error compacts nothing; a second compaction may keep what the first did.
func TestCompactions(t *testing.T) {
	d := newDesk(t)
	d.session("ses_a", "")
	d.user("ses_a", "m1", "one")
	d.answer("ses_a", "m2", "two")
	d.user("ses_a", "m3", "three")
	d.answer("ses_a", "m4", "four")
	f := d.follow("ses_a")
	f.step("before", reader.Replaced, "one", "two", "three", "four")

	d.message("ses_a", "m5", `{"role":"user","time":{"created":NOW}}`, `{"type":"compaction","auto":true,"tail_start_id":"m3"}`)
	d.message("ses_a", "m6", `{"role":"assistant","parentID":"m5","summary":true,"mode":"compaction","error":{"name":"Aborted","data":{"message":"no"}},"time":{"created":NOW,"completed":NOW}}`,
		`{"type":"text","text":"bad sum"}`)
	f.step("a summary that failed", reader.Grown, "one", "two", "three", "four")

	d.message("ses_a", "m7", `{"role":"user","time":{"created":NOW}}`, `{"type":"compaction","auto":true,"tail_start_id":"m3"}`)
	sum := func(id, parent, text string) {
		d.message("ses_a", id, `{"role":"assistant","parentID":"`+parent+`","summary":true,"finish":"stop","time":{"created":NOW,"completed":NOW}}`, `{"type":"text","text":"`+text+`"}`)
	}
	sum("m8", "m7", "sum")
	f.step("a tail is kept", reader.Grown, "sum", "three", "four")
	d.message("ses_a", "m9", `{"role":"user","time":{"created":NOW}}`, `{"type":"text","synthetic":true,"text":"go on"}`)
	d.answer("ses_a", "mA", "five")
	f.step("on it goes", reader.Grown, "sum", "three", "four", "go on", "five")
	if e := f.events[len(f.events)-3]; e.Body.Speaker != session.Injected {
		t.Errorf("what the client put in speaks as %d: %+v", e.Body.Speaker, said(f.events))
	}
	d.message("ses_a", "mB", `{"role":"user","time":{"created":NOW}}`, `{"type":"compaction","tail_start_id":"m4"}`)
	sum("mC", "mB", "sum of sums")
	f.step("a second one", reader.Grown, "sum of sums", "four", "go on", "five")

	d.exec(`UPDATE session SET revert = '{"messageID":"mB"}' WHERE id = 'ses_a'`)
	f.step("the second one undone", reader.Replaced, "sum", "three", "four", "go on", "five")
	d.exec(`UPDATE session SET revert = '{"messageID":"m4"}' WHERE id = 'ses_a'`)
	f.step("both undone", reader.Replaced, "one", "two", "three")
}

func TestPrunedResultsAndOddRows(t *testing.T) {
	d := newDesk(t)
	d.session("ses_a", "")
	d.user("ses_a", "m1", "one")
	d.message("ses_a", "m2", done, tool("completed", `,"output":"long","time":{"start":1,"end":2}`), tool("error", `,"error":"denied"`), `{"type":"text","text":"two"}`,
		`{"type":"patch","hash":"h"}`, `no json`, `{"type":"text"}`)
	f := d.follow("ses_a")
	f.step("before", reader.Replaced, "one", "long", "denied !error", "two", "")
	d.part("ses_a", "m2", "m2.0", tool("completed", fmt.Sprintf(`,"output":"long","time":{"start":1,"end":2,"compacted":%d}`, d.now+1)))
	d.user("ses_a", "m3", "three")
	f.step("pruned", reader.Replaced, "one", "denied !error", "two", "", "three")
	types := map[string]int{}
	for _, e := range f.events {
		types[e.Type]++
	}
	if types[pruneEvent] != 1 || types[unparsed] != 1 || types["opencode/patch"] != 1 {
		t.Errorf("%v", types)
	}

	// A session that is kept in tables of a later version is named.
	d.session("ses_v2", "")
	d.exec(`INSERT INTO session_message VALUES ('x', 'ses_v2', 'user', 0, 1, 1, '{}')`)
	// And subagents of subagents know how deep they are.
	d.session("ses_b", "ses_a")
	d.session("ses_c", "ses_b")
	problems, depths := 0, map[session.ID]int64{}
	err := f.r.List(t.Context(), f.src.Root, d.path, func(l reader.Listed) error {
		if l.Problem != nil {
			problems++
		}
		depths[l.Header.ID] = l.Header.DelegationDepth
		return nil
	})
	if err != nil || problems != 1 || depths["ses_a"] != 0 || depths["ses_b"] != 1 || depths["ses_c"] != 2 {
		t.Errorf("%v, %d problems, %v", err, problems, depths)
	}
	if h, err := f.r.Identify(t.Context(), f.src.Root, reader.PartPath(d.path, "ses_c")); err != nil || h.DelegationDepth != 2 {
		t.Errorf("%+v, %v", h, err)
	}
}

// A long output costs what is kept of it, and is given whole all the same.
func TestLongOutput(t *testing.T) {
	d := newDesk(t)
	d.session("ses_a", "")
	d.user("ses_a", "m1", "one")
	const size = 24 << 20
	d.message("ses_a", "m2", done, `{"type":"text","text":"two"}`)
	d.exec(fmt.Sprintf(`INSERT INTO part SELECT 'm2.9', 'm2', 'ses_a', 1, 1, CAST('{"type":"tool","tool":"bash","callID":"c","state":{"status":"completed","input":{},"output":"'
		|| replace(hex(zeroblob(%d)), '0', 'x') || '","time":{"start":1,"end":2}}}' AS TEXT)`, size/2))
	src := sources(t, New(), d.path)["ses_a"]
	events := readertest.Memory(t, New(), src, 200<<20)
	if last := events[len(events)-2]; last.Type != session.ToolResult || !last.Body.Clipped || last.Body.CallID != "c" {
		t.Fatalf("%.300q", said(events))
	}
}

func TestOtherDatabases(t *testing.T) {
	path := filepath.Join(t.TempDir(), "opencode.db")
	list := func() error {
		return New().List(t.Context(), filepath.Dir(path), path, func(reader.Listed) error { return nil })
	}
	var p *reader.Problem
	for what, text := range map[string]string{"empty": "", "text": "hello", "short": "SQLite format 3\x00"} {
		os.WriteFile(path, []byte(text), 0o600)
		if err := list(); !errors.As(err, &p) || p.Path != path {
			t.Errorf("%s: %v", what, err)
		}
	}
	os.Remove(path)
	c, err := sqlite3.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Exec(`CREATE VIEW session AS SELECT 1 AS id; CREATE TABLE message (id)`); err != nil {
		t.Fatal(err)
	}
	if err := list(); !errors.As(err, &p) || !strings.Contains(p.Reason, "tables") {
		t.Errorf("other tables: %v", err)
	}
}
