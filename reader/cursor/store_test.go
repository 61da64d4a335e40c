package cursor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ncruces/go-sqlite3"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/readertest"
	"github.com/yorehq/yore/session"
)

// editor is the editor's database as a test writes it, by docs/formats/cursor.md.
type editor struct {
	t    testing.TB
	root string
	path string
	c    *sqlite3.Conn
	now  time.Time
}

const born = 1796000000000 // epoch milliseconds of everything below

func newEditor(t testing.TB) *editor {
	t.Helper()
	e := &editor{t: t, root: t.TempDir(), now: time.UnixMilli(born + 60_000)}
	e.path = filepath.Join(e.root, "globalStorage", "state.vscdb")
	e.c = state1(t, e.path)
	return e
}

// state1 makes a database with the two tables of the editor.
func state1(t testing.TB, path string) *sqlite3.Conn {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	c, err := sqlite3.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.Exec(`PRAGMA journal_mode = wal; PRAGMA synchronous = off;
		CREATE TABLE ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB);
		CREATE TABLE cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB);`); err != nil {
		t.Fatal(err)
	}
	return c
}

func put(t testing.TB, c *sqlite3.Conn, table, key, value string) {
	t.Helper()
	stmt, _, err := c.Prepare(`INSERT INTO ` + table + ` VALUES (?, ?)`)
	if err != nil {
		t.Fatal(err)
	}
	defer stmt.Close()
	err = errors.Join(stmt.BindText(1, key), stmt.BindBlob(2, []byte(value)))
	if err := errors.Join(err, stmt.Exec()); err != nil {
		t.Fatal(err)
	}
}

func (e *editor) put(key, value string) { e.t.Helper(); put(e.t, e.c, "cursorDiskKV", key, value) }

func (e *editor) reader() *Reader { return &Reader{now: func() time.Time { return e.now }} }

// composer writes a composer with the order of its bubbles.
func (e *editor) composer(id, members string, bubbles ...string) {
	e.t.Helper()
	heads := []string{}
	for _, b := range bubbles {
		heads = append(heads, fmt.Sprintf(`{"bubbleId":%q,"type":2}`, b))
	}
	e.put("composerData:"+id, fmt.Sprintf(`{"_v":10,"composerId":%q,"createdAt":%d%s,"fullConversationHeadersOnly":[%s]}`, id, int64(born), members, strings.Join(heads, ",")))
}

func (e *editor) bubble(composer, id, members string) {
	e.t.Helper()
	e.put("bubbleId:"+composer+":"+id, fmt.Sprintf(`{"_v":3,"bubbleId":%q,%s}`, id, members))
}

func (e *editor) list() map[string]reader.Listed {
	e.t.Helper()
	all := map[string]reader.Listed{}
	if err := e.reader().List(context.Background(), e.root, e.path, func(l reader.Listed) error {
		all[l.Name] = l
		return nil
	}); err != nil {
		e.t.Fatal(err)
	}
	return all
}

func (e *editor) source(id string) reader.Source {
	e.t.Helper()
	l, ok := e.list()[id]
	if !ok || l.Problem != nil {
		e.t.Fatalf("%s is not listed: %+v", id, l.Problem)
	}
	return reader.Source{Agent: session.Cursor, Root: e.root, Path: reader.PartPath(e.path, l.Name), Header: l.Header}
}

// lines renders events as lines.
func lines(events []session.Event) (all []string) {
	for i := range events {
		ev := &events[i]
		line := fmt.Sprintf("%d %s", ev.Time-born, ev.Type)
		if ev.Body.CallID != "" {
			line += " #" + ev.Body.CallID
		}
		for _, b := range ev.Body.Blocks {
			line += " " + b.Name + "|" + b.Text
			for _, c := range b.Content {
				line += c.Text
			}
		}
		if ev.Body.ErrorName != "" {
			line += " !" + ev.Body.ErrorName
		}
		if ev.Body.Title != nil {
			line += " =" + *ev.Body.Title
		}
		all = append(all, line)
	}
	return all
}

func (e *editor) read(src reader.Source, at reader.Position) ([]session.Event, reader.Position) {
	e.t.Helper()
	events, tail, err := readertest.ReadFrom(e.reader(), src, at)
	if err != nil {
		e.t.Fatal(err)
	}
	return events, tail.Position
}

func (e *editor) revise(src reader.Source, at reader.Position, want reader.Revision) {
	e.t.Helper()
	got, _, err := e.reader().Revise(context.Background(), src, at)
	if err != nil || got != want {
		e.t.Errorf("revision %d, %v; want %d", got, err, want)
	}
}

const listCall = `"type":2,"text":"","createdAt":"2026-11-30T00:53:23.000Z","toolFormerData":{"name":"run_terminal_cmd","toolCallId":"t1","rawArgs":"{\"command\":\"ls\"}","params":"{}","result":%q,"status":%q}`

// A composer as the format's page has it, bubble by bubble, in the order of its
// head, which is neither that of the keys nor that of the times.
func TestComposer(t *testing.T) {
	e := newEditor(t)
	e.composer("c1", `,"name":"List files","lastUpdatedAt":1796000050000,"status":"completed"`, "zz", "b1", "b2", "b3", "b4", "b5", "zz", "b6")
	e.bubble("c1", "zz", `"type":1,"text":"List them","createdAt":"2026-11-30T00:53:21.000Z"`) // born + 1 s
	e.bubble("c1", "b1", `"type":2,"text":"","thinking":{"text":"hm"}`)
	e.bubble("c1", "b2", fmt.Sprintf(listCall, `{"output":"a b"}`, "completed"))
	e.bubble("c1", "b3", `"type":2,"text":"Two files.","timingInfo":{"clientStartTime":4745281.3,"clientRpcSendTime":1796000004000}`)
	e.bubble("c1", "b4", `"type":1,"text":"And now?","createdAt":1796000005000`)
	e.bubble("c1", "b5", `"type":2,"text":"","toolFormerData":{"name":"edit_file","params":{"path":"x"},"result":"","status":"error"}`)
	e.put("bubbleId:c1:b6", `no JSON`)
	e.bubble("c1", "never", `"type":1,"text":"of no order"`)
	e.bubble("c10", "b1", `"type":1,"text":"of another composer"`)
	src := e.source("c1")
	if want := (session.Header{Agent: session.Cursor, ID: "c1", CreatedAt: born}); src.Header != want {
		t.Errorf("the header is %+v", src.Header)
	}
	events, at := e.read(src, reader.Position{})
	if diff := cmp.Diff([]string{
		"0 session/title =List files",
		"1000 user/message |List them",
		"1000 cursor/thinking",
		`3000 tool/call #t1 run_terminal_cmd|{"command":"ls"}`,
		`3000 tool/result #t1 |{"output":"a b"}`,
		"4000 assistant/message |Two files.",
		"5000 user/message |And now?",
		`5000 tool/call #b5 edit_file|{"path":"x"}`,
		"5000 tool/result #b5 | !error",
		"5000 x/unparsed",
	}, lines(events)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var steps []int64
	for i := range events {
		if events[i].Step {
			steps = append(steps, events[i].Seq)
		}
	}
	if diff := cmp.Diff([]int64{3, 7}, steps); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	e.revise(src, at, reader.Unchanged)

	var raws []string
	h, err := e.reader().Window(context.Background(), src, session.Checkpoint{}, 5, 6, session.Every(), func(r session.Raw) error {
		raws = append(raws, r.Event.Type+" "+string(r.Native))
		return nil
	})
	if diff := cmp.Diff([]string{
		`assistant/message {"_v":3,"bubbleId":"b3","type":2,"text":"Two files.","timingInfo":{"clientStartTime":4745281.3,"clientRpcSendTime":1796000004000}}`,
		`user/message {"_v":3,"bubbleId":"b4","type":1,"text":"And now?","createdAt":1796000005000}`,
	}, raws); diff != "" || err != nil || h != src.Header {
		t.Errorf("%v, %+v (-want +got):\n%s", err, h, diff)
	}
}

// A composer grows: what is not finished stays out until it is, and what was given
// is never taken back or given twice.
func TestComposerGrows(t *testing.T) {
	e := newEditor(t)
	e.bubble("c", "u", `"type":1,"text":"Go"`)
	e.composer("c", `,"lastUpdatedAt":1796000001000`, "u")
	src := e.source("c")
	var got []string
	var at reader.Position
	look := func(want ...string) {
		t.Helper()
		if at.Next > 0 {
			e.revise(src, at, reader.Grown)
		}
		events, next := e.read(src, at)
		if diff := cmp.Diff(want, lines(events)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		got, at = append(got, lines(events)...), next
		e.revise(src, at, reader.Unchanged)
	}
	look("0 cursor/composer", "0 user/message |Go =Go")
	e.bubble("c", "a", fmt.Sprintf(listCall, "", "loading"))
	e.composer("c", `,"lastUpdatedAt":1796000002000`, "u", "a")
	look()
	e.composer("c", `,"lastUpdatedAt":1796000002001`, "u", "a", "not-there-yet")
	look()
	e.bubble("c", "a", fmt.Sprintf(listCall, "out", "completed")) // with no word in the composer
	look(`3000 tool/call #t1 run_terminal_cmd|{"command":"ls"}`, "3000 tool/result #t1 |out")
	e.composer("c", `,"lastUpdatedAt":1796000002002,"status":"generating"`, "u", "a", "b")
	e.bubble("c", "b", `"type":2,"text":"Do"`)
	look()
	e.bubble("c", "b", `"type":2,"text":"Done."`)
	e.composer("c", `,"lastUpdatedAt":1796000002003,"status":"completed"`, "u", "a", "b")
	look("3000 assistant/message |Done.")
	e.bubble("c", "u", `"type":1,"text":"Go","context":{"more":1}`) // written anew, says the same
	look()

	whole, _ := e.read(src, reader.Position{})
	if diff := cmp.Diff(lines(whole), got); diff != "" {
		t.Errorf("in pieces (-at once +in pieces):\n%s", diff)
	}
	e.bubble("c", "b", `"type":2,"text":"Gone."`)
	e.revise(src, at, reader.Replaced)
	e.bubble("c", "b", `"type":2,"text":"Done."`)
	e.revise(src, at, reader.Grown)
	e.composer("c", `,"name":"Named","lastUpdatedAt":1796000002003`, "u", "a", "b")
	e.revise(src, at, reader.Replaced)
	e.composer("c", `,"lastUpdatedAt":1796000002003`, "u") // went back to a checkpoint
	e.revise(src, at, reader.Replaced)
	if err := e.c.Exec(`DELETE FROM cursorDiskKV`); err != nil {
		t.Fatal(err)
	}
	e.revise(src, at, reader.Gone)
}

// A tool call that never ended holds up nothing for ever: a prompt behind it, or an
// hour, says that it is over.
func TestAbandonedCall(t *testing.T) {
	for name, over := range map[string]func(e *editor){
		"a prompt": func(e *editor) { e.composer("c", "", "u", "a", "n") },
		"an hour":  func(e *editor) { e.now = time.UnixMilli(born + 61*60_000) },
	} {
		e := newEditor(t)
		e.bubble("c", "u", `"type":1,"text":"Go"`)
		e.bubble("c", "a", fmt.Sprintf(listCall, "", "loading"))
		e.bubble("c", "n", `"type":1,"text":"Next"`)
		e.composer("c", "", "u", "a")
		src := e.source("c")
		events, at := e.read(src, reader.Position{})
		if len(events) != 2 {
			t.Fatalf("%s: %q", name, lines(events))
		}
		over(e)
		e.revise(src, at, reader.Grown)
		if events, _ = e.read(src, at); len(events) == 0 || lines(events)[0] != `3000 tool/call #t1 run_terminal_cmd|{"command":"ls"}` || events[len(events)-1].Type == session.ToolResult {
			t.Errorf("%s: %q", name, lines(events))
		}
	}
}

// What changes one composer changes no other one's stamp; what was opened and never
// used is not listed; early versions keep bubbles in the composer.
func TestComposerList(t *testing.T) {
	e := newEditor(t)
	e.composer("a", "", "u")
	e.bubble("a", "u", `"type":1,"text":"x"`)
	e.composer("b", "", "u")
	e.bubble("b", "u", `"type":1,"text":"x"`)
	e.composer("empty", `,"text":"typed and not sent"`)
	e.put("composerData:old", `{"composerId":"old","createdAt":1796000000000,"conversation":[{"type":1,"bubbleId":"q","text":"Early"},{"type":2,"text":"Yes"}]}`)
	e.put("composerData:broken", `{"composerId`)
	first := e.list()
	if len(first) != 3 || first["a"].Name == "" || first["old"].Name == "" {
		t.Fatalf("%d are listed: %+v", len(first), first)
	}
	events, _ := e.read(e.source("old"), reader.Position{})
	if diff := cmp.Diff([]string{"0 cursor/composer", "0 user/message |Early =Early", "0 assistant/message |Yes"}, lines(events)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	e.bubble("a", "u", `"type":1,"text":"y"`) // of the same length, and no word in the composer
	second := e.list()
	if second["a"].Stamp == first["a"].Stamp || second["b"].Stamp != first["b"].Stamp || second["old"].Stamp != first["old"].Stamp {
		t.Error("the stamps do not follow what changed")
	}
}

// Values of any size are passed by in a list, and a long bubble is cut, not lost.
func TestLongBubble(t *testing.T) {
	e := newEditor(t)
	long := strings.Repeat("word ", 9<<20/5)
	e.composer("c", "", "u", "a")
	e.bubble("c", "u", `"type":1,"text":"Go"`)
	e.bubble("c", "a", `"type":2,"text":"`+long+`"`)
	src := e.source("c")
	events, _ := e.read(src, reader.Position{})
	last := events[len(events)-1]
	if last.Type != session.AssistantMessage || !last.Body.Clipped || len(last.Body.Blocks[0].Text) < 1<<20 {
		t.Fatalf("%s, clipped %v", last.Type, last.Body.Clipped)
	}
	size := 0
	if _, err := e.reader().Window(context.Background(), src, session.Checkpoint{}, last.Seq, last.Seq, session.Every(), func(r session.Raw) error {
		size = len(r.Native)
		return nil
	}); err != nil || size < len(long) {
		t.Errorf("%d bytes, %v", size, err)
	}
}

// Later versions keep heads apart, in a table or in a list; a subagent names its
// parent.
func TestHeads(t *testing.T) {
	const child = `{"composerId":"c","createdAt":1796000000000,"lastUpdatedAt":1796000009000,"name":"Sub","subagentInfo":{"parentComposerId":"p"},"workspaceIdentifier":{"id":"w","uri":{"fsPath":"/home/dev/a b","external":"file:///home/dev/a%20b","path":"/home/dev/a b","scheme":"file"}}}`
	for name, write := range map[string]func(e *editor){
		"table": func(e *editor) {
			if err := e.c.Exec(`CREATE TABLE composerHeaders (composerId TEXT PRIMARY KEY, workspaceId TEXT, createdAt INTEGER, lastUpdatedAt INTEGER, value TEXT);
				INSERT INTO composerHeaders VALUES ('c', 'w', 1796000000000, 1796000009000, '` + child + `')`); err != nil {
				t.Fatal(err)
			}
		},
		"list": func(e *editor) { put(t, e.c, "ItemTable", "composer.composerHeaders", `{"allComposers":[`+child+`]}`) },
		"value": func(e *editor) {
			e.put("composerData:c", strings.TrimSuffix(child, "}")+`,"fullConversationHeadersOnly":[{"bubbleId":"u"}]}`)
		},
	} {
		e := newEditor(t)
		e.composer("c", "", "u")
		e.bubble("c", "u", `"type":1,"text":"x"`)
		write(e)
		l := e.list()["c"]
		want := session.Header{Agent: session.Cursor, ID: "c", CreatedAt: born, Cwd: "/home/dev/a b", ParentSession: "p", Origin: session.OriginSubagent, DelegationDepth: 1}
		if l.Header != want || l.Stamp.ModTime != 1796000009000*1e6 {
			t.Errorf("%s: %+v, %+v", name, l.Header, l.Stamp)
		}
		if events, _ := e.read(e.source("c"), reader.Position{}); lines(events)[0] != "0 session/title =Sub" {
			t.Errorf("%s: %q", name, lines(events))
		}
	}
}

// The workspace of a composer of earlier versions is the one whose storage lists it.
func TestWorkspaceOfComposer(t *testing.T) {
	e := newEditor(t)
	space := func(name, folder string, composers ...string) {
		dir := filepath.Join(e.root, "workspaceStorage", name)
		c := state1(t, filepath.Join(dir, "state.vscdb"))
		var all []map[string]string
		for _, id := range composers {
			all = append(all, map[string]string{"composerId": id})
		}
		list, _ := json.Marshal(map[string]any{"allComposers": all})
		put(t, c, "ItemTable", "composer.composerData", string(list))
		text, _ := json.Marshal(map[string]string{"folder": folder})
		if err := os.WriteFile(filepath.Join(dir, "workspace.json"), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	space("0a", "file:///home/dev/my%20proj", "here")
	space("0b", "vscode-remote://ssh-remote%2Bbox/home/dev/my%20proj", "remote")
	space("0c", "file:///c%3A/Users/dev/proj", "windows")
	for _, id := range []string{"here", "remote", "windows", "nowhere"} {
		e.composer(id, "", "u")
		e.bubble(id, "u", `"type":1,"text":"x"`)
	}
	e.composer("named", `,"workspaceIdentifier":{"id":"0a"}`, "u")
	e.bubble("named", "u", `"type":1,"text":"x"`)
	all := e.list()
	for id, want := range map[string]string{"here": "/home/dev/my proj", "remote": "", "windows": `C:\Users\dev\proj`, "nowhere": "", "named": "/home/dev/my proj"} {
		if got := all[id].Header.Cwd; got != want {
			t.Errorf("%s: %q, want %q", id, got, want)
		}
		h, err := e.reader().Identify(context.Background(), e.root, reader.PartPath(e.path, id))
		if err != nil || h != all[id].Header {
			t.Errorf("%s: %+v, %v", id, h, err)
		}
	}
}

func TestFolders(t *testing.T) {
	for uri, want := range map[string]string{
		"file:///home/dev/a%20b/": "/home/dev/a b", "file:///": "/", "file:///c%3A/x": `C:\x`, "file:///D:/": `D:\`,
		"file://server/share/x": `\\server\share\x`, "vscode-remote://wsl%2Bubuntu/home/dev": "", "": "", "/home/dev": "", "file:": "", "file:///%zz": "",
		"vscode-vfs://github/x/y": "", "file:///home/100%25": "/home/100%",
	} {
		if got := folderOf(uri); got != want {
			t.Errorf("%q: %q, want %q", uri, got, want)
		}
	}
	// Instants from `date -u -d`.
	for text, want := range map[string]int64{
		"<timestamp>Friday, Sep 18, 2026, 9:02 PM (UTC-7)</timestamp>\n<user_query>x</user_query>": 1789790520000,
		"<timestamp>Saturday, Sep 19, 2026, 9:32 AM (UTC+5:30)</timestamp>":                        1789790520000,
		"<timestamp>Saturday, September 19, 2026, 4:02 AM (UTC)</timestamp>":                       1789790520000,
		"<timestamp>Saturday, Sep 19, 2026, 4:02 AM</timestamp>":                                   0,
		"<timestamp>Saturday, Sep 19, 2026, 4:02 AM (UTC+99)</timestamp>":                          0,
		"<timestamp>Monday</timestamp>":                                                            0, "see <timestamp>Saturday, Sep 19, 2026, 4:02 AM (UTC)</timestamp>": 0, "<timestamp>": 0,
	} {
		if got, ok := stated(text); got != want || ok != (want > 0) {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

// What is no database of the editor's is no shelf, and nothing else goes wrong.
func TestNoShelf(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(root, "globalStorage", "state.vscdb")
	list := func() error {
		return New().List(context.Background(), root, path, func(reader.Listed) error { return nil })
	}
	if err := list(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := list(); !errors.Is(err, reader.ErrNoShelf) {
		t.Errorf("text: %v", err)
	}
	os.Remove(path)
	c := state1(t, path)
	if err := c.Exec(`DROP TABLE cursorDiskKV`); err != nil {
		t.Fatal(err)
	}
	if err := list(); !errors.Is(err, reader.ErrNoShelf) {
		t.Errorf("another table: %v", err)
	}
	r := New()
	for rel, want := range map[string]reader.Kind{
		"globalStorage/state.vscdb": reader.Shelf, "globalStorage/state.vscdb-wal": reader.Ignore, "globalStorage/state.vscdb.backup": reader.Ignore,
		"globalStorage/storage.json": reader.Ignore, "workspaceStorage/0a/state.vscdb": reader.Ignore, "History/x.json": reader.Ignore,
		dir + "a.txt": reader.File, dir + "a.json": reader.File, dir + "a/a.txt": reader.File, dir + "a/b.txt": reader.Ignore,
		dir + ".json": reader.Ignore, "chats/x/y/meta.json": reader.Ignore, "projects/p/mcps/x.json": reader.Ignore,
	} {
		if got := r.Classify(rel, false); got != want {
			t.Errorf("%s: %d, want %d", rel, got, want)
		}
	}
	for rel, want := range map[string]reader.Kind{".": reader.Folder, "globalStorage": reader.Folder, "globalStorage/ext": reader.Ignore, "workspaceStorage": reader.Ignore} {
		if got := r.Classify(rel, true); got != want {
			t.Errorf("%s: %d, want %d", rel, got, want)
		}
	}
	roots := r.DefaultRoots(func(name string) string { return map[string]string{"XDG_CONFIG_HOME": "/xdg"}[name] }, "/h")
	if diff := cmp.Diff([]string{"/h/.cursor", "/xdg/Cursor/User", "/h/Library/Application Support/Cursor/User", "/h/AppData/Roaming/Cursor/User"}, roots); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The name of a chat of the command line, in the hexadecimal digits of
// {"name":"Fix it"}, written by hand.
func TestTitleOfChat(t *testing.T) {
	root := home(t, map[string]string{name: talk, "chats/0123/" + id + "/meta.json": `{"createdAtMs":1796028964271}`, dir + "b.jsonl": talk})
	c, err := sqlite3.Open(filepath.Join(root, "chats", "0123", id, "store.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Exec(`CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT); CREATE TABLE blobs (id TEXT, data BLOB);
		INSERT INTO meta VALUES ('0', '7b226e616d65223a22466978206974227d'), ('1', 'not hex')`); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{name: "Fix it", dir + "b.jsonl": ""} {
		if got, ok, err := New().Title(context.Background(), sourceOf(t, root, file)); got != want || ok != (want != "") || err != nil {
			t.Errorf("%s: %q, %v", file, got, err)
		}
	}
}
