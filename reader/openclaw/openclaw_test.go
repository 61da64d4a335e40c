package openclaw

import (
	"context"
	"errors"
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
		t.Run(name, func(t *testing.T) {
			db := newClaw(t)
			db.start("s1", "agent:main:main", 1000)
			db.add("s1", c.entries...)
			whole, _ := read(t, db.sources()["s1"], reader.Position{})
			if diff := cmp.Diff(c.want, current(t, whole)); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
			// The same entries one by one, and as a file.
			steps := newClaw(t)
			steps.start("s1", "agent:main:main", 1000)
			var grown []session.Event
			var from reader.Position
			for _, e := range append([]string{""}, c.entries...) {
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
			src := file(t, root, strings.ReplaceAll(name, " ", "-"), c.entries...)
			events, _ := read(t, src, reader.Position{})
			if diff := cmp.Diff(c.want, current(t, events)); diff != "" {
				t.Errorf("file (-want +got):\n%s", diff)
			}
		})
	}
	readertest.Run(t, New(), root)
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

// A rewritten transcript is another one: by its generation, or by what is gone.
func TestRewrites(t *testing.T) {
	for name, change := range map[string]func(c *claw){
		"another generation": func(c *claw) { c.exec(`UPDATE transcript_rewrite_watermarks SET generation = 'g2'`) },
		"the last row changed": func(c *claw) {
			c.exec(`UPDATE transcript_events SET event_json = ? WHERE seq = 2`, user("b", "a", "other"))
			c.add("s1", user("c", "b", "more"))
		},
		"the last row gone": func(c *claw) { c.exec(`DELETE FROM transcript_events WHERE seq = 2`) },
		"an earlier row gone": func(c *claw) {
			c.exec(`DELETE FROM transcript_events WHERE seq = 1`)
			c.add("s1", user("c", "b", "more"))
		},
		"forked in afterwards": func(c *claw) { c.exec(`UPDATE session_nodes SET spawned_by = 'k'`) },
	} {
		c := newClaw(t)
		c.start("s1", "k", 1000)
		c.add("s1", user("a", "", "hi"), user("b", "a", "two"))
		src := c.sources()["s1"]
		_, tail := read(t, src, reader.Position{})
		if rev, _, err := New().Revise(context.Background(), src, tail.Position); err != nil || rev != reader.Unchanged {
			t.Fatalf("revision %d, %v", rev, err)
		}
		change(c)
		if rev, _, err := New().Revise(context.Background(), src, tail.Position); err != nil || rev != reader.Replaced {
			t.Errorf("%s: revision %d, %v", name, rev, err)
		}
	}
}

// A file that the agent has taken over is no session any more; labels are read.
func TestFilesOfBefore(t *testing.T) {
	c := newClaw(t)
	c.start("s1", "k", 1000)
	src := file(t, c.root, "s2", user("a", "", "hi"))
	list := `{"agent:main:main":{"sessionId":"s2","label":"Reading list"}}`
	if err := os.WriteFile(filepath.Join(filepath.Dir(src.Path), labels), []byte(list), 0o600); err != nil {
		t.Fatal(err)
	}
	if title, ok, err := New().Title(context.Background(), src); title != "Reading list" || !ok || err != nil {
		t.Errorf("title %q, %t, %v", title, ok, err)
	}
	c.start("s2", "k2", 2000)
	if _, err := New().Identify(context.Background(), c.root, src.Path); !errors.Is(err, reader.ErrPending) {
		t.Errorf("a file that was taken over: %v", err)
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
