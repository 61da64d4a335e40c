package openclaw

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/readertest"
	"github.com/yorehq/yore/session"
)

const at = "\"timestamp\":\"2026-09-21T13:13:22.000Z\""

// What steers the tree: rewinds, controls, side entries, resets, by hand from the
// agent's rules.
func TestSurface(t *testing.T) {
	root := t.TempDir()
	for name, c := range map[string]struct {
		entries []string
		want    []string
	}{
		"a plain talk": {[]string{user("a", "", "hi"), assistant("b", "a", "hello")}, []string{"user/message hi", "assistant/message hello"}},
		"a rewind by an older parent": {
			[]string{user("a", "", "hi"), assistant("b", "a", "one"), assistant("c", "a", "two")}, []string{"user/message hi", "assistant/message two"},
		},
		"a control chooses an earlier leaf, and what hangs on it hangs there": {
			[]string{user("a", "", "hi"), assistant("b", "a", "one"), `{"type":"leaf","id":"l","parentId":"b","targetId":"a",` + at + `}`, assistant("c", "l", "two")},
			[]string{"user/message hi", "assistant/message two"},
		},
		"a control chooses nothing": {[]string{user("a", "", "hi"), `{"type":"leaf","id":"l","parentId":"a","targetId":null,` + at + `}`}, nil},
		"a control that names what is not there": {
			[]string{user("a", "", "hi"), `{"type":"leaf","id":"l","parentId":"a","targetId":"zz",` + at + `}`, assistant("b", "l", "one")},
			[]string{"user/message hi", "assistant/message one"},
		},
		"an entry written beside": {
			[]string{user("a", "", "hi"), strings.Replace(assistant("s", "a", "aside"), `{"type"`, `{"appendMode":"side","type"`, 1), assistant("b", "s", "one")},
			[]string{"user/message hi", "assistant/message one"},
		},
		"an unknown type does not become the leaf": {
			[]string{user("a", "", "hi"), assistant("b", "a", "one"), `{"type":"plugin","id":"p","parentId":"a",` + at + `}`, user("c", "p", "more")},
			[]string{"user/message hi", "assistant/message one", "user/message more"},
		},
		"an entry without a parent goes on at the leaf": {
			[]string{user("a", "", "hi"), strings.Replace(assistant("b", "", "one"), `"parentId":null,`, "", 1)}, []string{"user/message hi", "assistant/message one"},
		},
		"a reset": {
			[]string{user("a", "", "old"), `{"type":"reset","id":"r","parentId":"a",` + at + `}`, user("b", "r", "new")}, []string{"user/message new"},
		},
		"a reset keeps from an entry on": {
			[]string{user("a", "", "old"), user("k", "a", "kept"), `{"type":"reset","id":"r","parentId":"k","firstKeptEntryId":"k",` + at + `}`, user("b", "r", "new")},
			[]string{"user/message kept", "user/message new"},
		},
		"nothing goes back behind a reset": {
			[]string{
				user("a", "", "old"), `{"type":"reset","id":"r","parentId":"a",` + at + `}`, user("b", "r", "new"),
				`{"type":"leaf","id":"l","parentId":"b","targetId":"a",` + at + `}`, user("c", "a", "late"),
			}, []string{"user/message new", "user/message late"},
		},
		"a compaction": {
			[]string{
				user("a", "", "old"), user("k", "a", "kept"), `{"type":"compaction","id":"x","parentId":"k","summary":"sum","firstKeptEntryId":"k",` + at + `}`, user("b", "x", "new"),
			}, []string{"user/message sum", "user/message kept", "user/message new"},
		},
	} {
		t.Run(name, func(t *testing.T) { shows(t, root, name, c.entries, c.want) })
	}
	readertest.Run(t, New(), root)
}

// shows holds what entries leave on the surface to what is wanted: as rows, read at
// once and row by row, and as a file.
func shows(t *testing.T, root, name string, entries, want []string) {
	t.Helper()
	db := newClaw(t)
	db.start("s1", "agent:main:main", 1000)
	db.add("s1", entries...)
	whole, _ := read(t, db.sources()["s1"], reader.Position{})
	if diff := cmp.Diff(want, current(t, whole)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	steps := newClaw(t)
	steps.start("s1", "agent:main:main", 1000)
	var grown []session.Event
	var from reader.Position
	for _, e := range append([]string{""}, entries...) {
		if e != "" {
			steps.add("s1", e)
		}
		src := steps.sources()["s1"]
		if from.Stamp != (reader.Stamp{}) {
			if rev, _, err := New().Revise(context.Background(), src, from); err != nil || rev != reader.Grown {
				t.Fatalf("revision %d, %v", rev, err)
			}
		}
		more, tail := read(t, src, from)
		grown, from = append(grown, more...), tail.Position
	}
	if diff := cmp.Diff(whole, grown); diff != "" {
		t.Errorf("row by row (-at once +row by row):\n%s", diff)
	}
	src := file(t, root, strings.ReplaceAll(name, " ", "-"), entries...)
	events, _ := read(t, src, reader.Position{})
	if diff := cmp.Diff(want, current(t, events)); diff != "" {
		t.Errorf("file (-want +got):\n%s", diff)
	}
}

// file writes a session as it was before databases.
func file(t testing.TB, root, id string, entries ...string) reader.Source {
	t.Helper()
	path := filepath.Join(root, agentsDir, "main", sessionsDir, id+logSuffix)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	header := `{"type":"session","version":3,"id":"` + id + `","timestamp":"2026-09-21T13:13:20.000Z","cwd":"/home/dev/notes"}`
	if err := os.WriteFile(path, []byte(strings.Join(append([]string{header}, entries...), "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h, err := New().Identify(context.Background(), root, path)
	if err != nil {
		t.Fatal(err)
	}
	return reader.Source{Agent: session.OpenClaw, Root: root, Path: path, Header: h}
}

// Compressed rows and archives say what the rows said.
func TestStoredOtherwise(t *testing.T) {
	talk := []string{user("a", "", "hi"), assistant("b", "a", strings.Repeat("long ", 400)), user("c", "b", "bye")}
	plain := newClaw(t)
	plain.start("s1", "k", 1000)
	plain.add("s1", talk...)
	want, tail := read(t, plain.sources()["s1"], reader.Position{})
	if len(want) != 3 {
		t.Fatalf("%q", all(want))
	}
	for name, change := range map[string]func(c *claw){
		"compressed": func(c *claw) { c.pack("s1", 2) },
		"in a file":  func(c *claw) { c.freeze("s1", false) },
		"in a row":   func(c *claw) { c.freeze("s1", true) },
	} {
		c := newClaw(t)
		c.start("s1", "k", 1000)
		c.add("s1", talk...)
		change(c)
		src := c.sources()["s1"]
		if src.Header.Cwd != "/home/dev/notes" || src.Header.CreatedAt != 1000 {
			t.Errorf("%s: %+v", name, src.Header)
		}
		got, _ := read(t, src, reader.Position{})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		stale := tail.Position
		stale.Stamp.Device++
		if rev, _, err := New().Revise(context.Background(), src, stale); err != nil || rev != reader.Grown {
			t.Errorf("%s: revision %d, %v: what was read is the same", name, rev, err)
		}
		for from := range want {
			var raws []session.Raw
			_, err := New().Window(context.Background(), src, session.Checkpoint{}, int64(from), int64(from), session.Every(), func(r session.Raw) error {
				raws = append(raws, r)
				return nil
			})
			if err != nil || len(raws) != 1 || raws[0].Event.Seq != int64(from) || string(raws[0].Native) != talk[from] {
				t.Errorf("%s: window %d: %+v, %v", name, from, raws, err)
			}
		}
	}
}

// What is damaged is left out and said, and never takes more memory than bounded.
func TestDamage(t *testing.T) {
	c := newClaw(t)
	c.start("s1", "k", 1000)
	c.add("s1", user("a", "", "hi"), `{"type":`, user("b", "a", "bomb"), user("d", "b", "bye"))
	bomb := packed(t, strings.Repeat("0", 64<<20))
	c.exec(`UPDATE transcript_events SET event_json = NULL, event_zstd = ?, event_utf8_bytes = 100 WHERE seq = 3`, bomb)
	events, tail := read(t, c.sources()["s1"], reader.Position{})
	if diff := cmp.Diff([]string{"user/message hi", "x/unparsed", "x/unparsed", "user/message bye"}, all(events)); diff != "" || len(tail.Skips) != 2 {
		t.Errorf("%d skips (-want +got):\n%s", len(tail.Skips), diff)
	}
	c.start("s2", "k2", 1000)
	c.add("s2", user("a", "", "hi"))
	path := c.freeze("s2", false)
	if err := os.WriteFile(path, []byte("other"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, ok := c.sources()["s2"]; ok {
		t.Error("an archive that is not what the agent put there is a session")
	}
}

// Headers: a subagent names the window that spawned it, a fork what it copied.
func TestLineage(t *testing.T) {
	c := newClaw(t)
	c.start("old", "agent:main:main", 1000)
	c.add("old", user("a", "", "hi"), assistant("b", "a", "one"))
	c.start("new", "agent:main:main", 5000)
	c.add("new", user("n", "", "later"))
	c.start("child", "agent:main:subagent:x", 2000)
	c.add("child", user("c", "", "task"))
	c.exec(`UPDATE session_nodes SET spawned_by = 'agent:main:main' WHERE session_key = 'agent:main:subagent:x'`)
	c.start("fork", "agent:main:fork", 3000)
	c.add("fork", user("a", "", "hi"), user("z", "a", "else"))
	c.exec(`UPDATE session_nodes SET fork_source_session_id = 'old', label = 'A fork' WHERE session_key = 'agent:main:fork'`)
	found := c.sources()
	base := session.Header{Agent: session.OpenClaw, Cwd: "/home/dev/notes"}
	want := map[session.ID]session.Header{}
	for id, change := range map[session.ID]func(h *session.Header){
		"old": func(h *session.Header) { h.CreatedAt = 1000 },
		"new": func(h *session.Header) { h.CreatedAt = 5000 },
		"child": func(h *session.Header) {
			h.CreatedAt, h.ParentSession, h.Origin, h.DelegationDepth = 2000, "old", session.OriginSubagent, 1
		},
		"fork": func(h *session.Header) { h.CreatedAt, h.ParentSession, h.SeedLength = 3000, "old", 1 },
	} {
		h := base
		h.ID = id
		change(&h)
		want[id] = h
	}
	got := map[session.ID]session.Header{}
	for id, src := range found {
		got[id] = src.Header
		if h, err := New().Identify(context.Background(), c.root, src.Path); err != nil || h != src.Header {
			t.Errorf("%s is identified as %+v, %v", id, h, err)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if title, ok, err := New().Title(context.Background(), found["fork"]); title != "A fork" || !ok || err != nil {
		t.Errorf("title %q, %t, %v", title, ok, err)
	}
}

// Which window a window follows on, and how deep what was spawned is. By the
// agent's own tables: what a rewind, a compaction or a recovery begins goes on; a
// reset and a rollover begin something new; who spawned is known to the window or
// to its chat, and what names itself comes from nowhere.
func TestWindows(t *testing.T) {
	c := newClaw(t)
	c.start("w0", "agent:main:main", 1000)
	c.add("w0", user("a", "", "hi"))
	for i, reason := range []string{"rewind", "compaction", "recovery", "reset", "rollover", "switch"} {
		id := "w-" + reason
		c.start(id, "agent:main:main", 2000+i)
		c.add(id, user("a", "", "hi"), user("b", "a", reason))
		c.exec(`UPDATE session_windows SET reason = ?, previous_session_id = 'w0' WHERE session_id = ?`, reason, id)
	}
	c.start("child", "agent:main:subagent:1", 1500)
	c.add("child", user("c", "", "task"))
	c.exec(`UPDATE session_windows SET spawned_by = 'agent:main:main' WHERE session_id = 'child'`)
	c.start("grandchild", "agent:main:subagent:2", 1600)
	c.add("grandchild", user("d", "", "smaller task"))
	c.exec(`UPDATE session_nodes SET spawned_by = 'agent:main:subagent:1' WHERE session_key = 'agent:main:subagent:2'`)
	c.start("late", "agent:main:subagent:3", 9000)
	c.add("late", user("e", "", "later task"))
	c.exec(`UPDATE session_nodes SET spawned_by = 'agent:main:main' WHERE session_key = 'agent:main:subagent:3'`)
	c.start("self", "agent:main:self", 3000)
	c.add("self", user("f", "", "me"))
	c.exec(`UPDATE session_nodes SET fork_source_session_id = 'self' WHERE session_key = 'agent:main:self'`)
	c.start("reset-fork", "agent:main:other", 3100)
	c.add("reset-fork", user("g", "", "after a reset of a fork"))
	c.exec(`UPDATE session_nodes SET fork_source_session_id = 'w0' WHERE session_key = 'agent:main:other'`)
	c.exec(`UPDATE session_windows SET reason = 'reset' WHERE session_id = 'reset-fork'`)
	type from struct {
		parent session.ID
		depth  int
		seed   int64
	}
	want := map[session.ID]from{
		"w0": {}, "w-rewind": {"w0", 0, 1}, "w-compaction": {"w0", 0, 1}, "w-recovery": {"w0", 0, 1}, "w-reset": {}, "w-rollover": {}, "w-switch": {},
		"child": {"w0", 1, 0}, "grandchild": {"child", 2, 0}, "late": {"w-switch", 1, 0}, "self": {}, "reset-fork": {},
	}
	got := map[session.ID]from{}
	for id, src := range c.sources() {
		got[id] = from{src.Header.ParentSession, int(src.Header.DelegationDepth), src.Header.SeedLength}
		if (src.Header.Origin == session.OriginSubagent) != (src.Header.DelegationDepth > 0) {
			t.Errorf("%s: %+v", id, src.Header)
		}
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(from{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A title is the label that somebody gave, else the name the agent shows, else the
// subject of a group in the list, else the window's own name.
func TestTitles(t *testing.T) {
	c := newClaw(t)
	for i, set := range []string{
		`label = 'a label', display_name = 'a name', entry_json = '{"subject":"a subject"}'`, `display_name = ' a  name ', entry_json = '{"subject":"a subject"}'`,
		`entry_json = '{"subject":"a subject","displayName":""}'`, `entry_json = 'no json'`, `entry_json = '{"label":"listed","displayName":"named"}'`,
	} {
		id, key := fmt.Sprintf("t%d", i), fmt.Sprintf("k%d", i)
		c.start(id, key, 1000)
		c.add(id, user("a", "", "hi"))
		c.exec(`UPDATE session_windows SET display_name = 'a window' WHERE session_id = ?`, id)
		c.exec(`UPDATE session_nodes SET ` + set + ` WHERE session_key = '` + key + `'`)
	}
	for id, src := range c.sources() {
		want := map[session.ID]string{"t0": "a label", "t1": "a name", "t2": "a subject", "t3": "a window", "t4": "listed"}[id]
		if title, _, err := New().Title(context.Background(), src); title != want || err != nil {
			t.Errorf("%s: %q, want %q: %v", id, title, want, err)
		}
	}
}

func TestPaths(t *testing.T) {
	for rel, want := range map[string]reader.Kind{
		"agents/main/agent/openclaw-agent.sqlite": reader.Shelf, "agents/main/agent/openclaw-agent.sqlite-wal": reader.Ignore,
		"agents/main/sessions/x.jsonl": reader.File, "agents/main/sessions/x.jsonl.deleted.1": reader.Ignore,
		"agents/main/sessions/cold/x.jsonl": reader.Ignore, "agents/main/sessions/archive/x.jsonl": reader.Ignore, "credentials/x.jsonl": reader.Ignore,
	} {
		if got := New().Classify(rel, false); got != want {
			t.Errorf("%s: %d, want %d", rel, got, want)
		}
	}
	for rel, want := range map[string]reader.Kind{
		".": reader.Folder, "agents": reader.Folder, "agents/main": reader.Folder, "agents/main/agent": reader.Folder, "agents/main/sessions": reader.Folder,
		"agents/main/qmd": reader.Ignore, "workspace": reader.Ignore, "agents/main/sessions/cold": reader.Ignore,
	} {
		if got := New().Classify(rel, true); got != want {
			t.Errorf("%s: %d, want %d", rel, got, want)
		}
	}
	for _, c := range []struct {
		env  map[string]string
		want []string
	}{
		{nil, []string{"/h/.openclaw", "/h/.clawdbot", "/h/.moldbot", "/h/.moltbot"}},
		{map[string]string{"OPENCLAW_STATE_DIR": "~/claw"}, []string{"/h/claw"}},
		{map[string]string{"OPENCLAW_HOME": "/o", "OPENCLAW_PROFILE": "work"}, []string{"/o/.openclaw-work"}},
		{map[string]string{"OPENCLAW_HOME": "~/o", "OPENCLAW_STATE_DIR": "~"}, []string{"/h/o"}},
		{map[string]string{"OPENCLAW_HOME": "~", "OPENCLAW_STATE_DIR": "~x"}, []string{"/h/.openclaw", "/h/.clawdbot", "/h/.moldbot", "/h/.moltbot"}},
		{map[string]string{"OPENCLAW_PROFILE": "Default"}, []string{"/h/.openclaw", "/h/.clawdbot", "/h/.moldbot", "/h/.moltbot"}},
		{map[string]string{"OPENCLAW_PROFILE": "../x"}, []string{"/h/.openclaw", "/h/.clawdbot", "/h/.moldbot", "/h/.moltbot"}},
	} {
		if diff := cmp.Diff(c.want, New().DefaultRoots(func(name string) string { return c.env[name] }, "/h")); diff != "" {
			t.Errorf("%v (-want +got):\n%s", c.env, diff)
		}
	}
}

func TestResumeCommand(t *testing.T) {
	for h, want := range map[session.Header]string{
		{ID: "0b9f-1", Cwd: "/home/dev"}: `openclaw agent --session-id 0b9f-1 --message "$(cat)"`,
		{ID: "it's"}:                     `openclaw agent --session-id 'it'\''s' --message "$(cat)"`,
		{ID: "x\n"}:                      "",
		{ID: "--deliver"}:                "",
		{ID: "s", Origin: session.OriginSubagent}: "",
		{ID: ""}: "",
	} {
		if got := New().ResumeCommand(h); got != want {
			t.Errorf("%q: %q, want %q", h.ID, got, want)
		}
	}
}
