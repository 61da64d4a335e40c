package openclaw

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ncruces/go-sqlite3"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/readertest"
	"github.com/yorehq/yore/session"
)

// recorded makes a database of what 2026.9.6 wrote under a scripted model: the tables
// that are read with the columns that are, its own folder under another name.
func recorded(t testing.TB) *claw {
	t.Helper()
	text, err := os.ReadFile("testdata/2026.9.6/store.sql")
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	c := &claw{t: t, root: root, path: filepath.Join(root, agentsDir, "main", databaseDir, database)}
	if err := os.MkdirAll(filepath.Dir(c.path), 0o700); err != nil {
		t.Fatal(err)
	}
	if c.db, err = sqlite3.Open(c.path); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.db.Close() })
	c.exec(`PRAGMA journal_mode = WAL; BEGIN;` + string(text) + `COMMIT`)
	return c
}

// Three windows of two chats: the main one, a fork of it before its second prompt,
// and what the main one became when it was rewound. All copied entries keep ids.
func TestRecordedHeaders(t *testing.T) {
	const main, fork, rewound = "7fa0c176-01ca-482d-92cd-35b5e3f66e0c", "2b4b69bf-675b-41ec-b076-7d899586c56b", "c382bccf-dc45-455e-b55e-8bf94355bdd2"
	found := recorded(t).sources()
	want := map[session.ID]session.Header{
		main:    {},
		fork:    {ParentSession: main, SeedLength: 11}, // 9 entries, one of which makes two calls
		rewound: {ParentSession: main, SeedLength: 35}, // 31 entries with four calls
	}
	for id, h := range want {
		h.Agent, h.ID, h.Cwd, h.CreatedAt = session.OpenClaw, id, "/home/dev/here", found[id].Header.CreatedAt
		if diff := cmp.Diff(h, found[id].Header); diff != "" {
			t.Errorf("%s (-want +got):\n%s", id, diff)
		}
	}
	if len(found) != len(want) {
		t.Errorf("%d sessions", len(found))
	}
}

// What the agent sent to its model is the proof of the surface: each request, in
// order, is what one of its sessions shows at some moment.
func TestRecordedRequests(t *testing.T) {
	text, err := os.ReadFile("testdata/2026.9.6/requests.json")
	if err != nil {
		t.Fatal(err)
	}
	var requests [][][3]string // role, text, id of a call
	if err := json.Unmarshal(text, &requests); err != nil {
		t.Fatal(err)
	}
	var moments [][]string
	for _, src := range recorded(t).sources() {
		events, tail := read(t, src, reader.Position{})
		if len(tail.Skips) > 0 {
			t.Errorf("%s: %+v", src.Path, tail.Skips)
		}
		var fold session.Fold
		for i := range events {
			if _, err := fold.Apply(&events[i]); err != nil {
				t.Fatal(err)
			}
			var moment []string
			for _, seq := range fold.Surface() {
				moment = append(moment, shown(&events[seq])...)
			}
			moments = append(moments, moment)
		}
	}
	for n, request := range requests {
		var want []string
		for _, m := range request {
			want = append(want, sent(m[0], m[1], m[2])...)
		}
		if !slices.ContainsFunc(moments, func(m []string) bool { return slices.Equal(m, want) }) {
			t.Errorf("request %d was never a surface:\n  %s", n, strings.Join(want, "\n  "))
		}
	}
	if len(requests) < 15 {
		t.Errorf("%d requests", len(requests))
	}
}

// shown is what an event on the surface says, a line each.
func shown(e *session.Event) (list []string) {
	switch e.Type {
	case session.ToolResult:
		_, said, _ := strings.Cut(readertest.Said(e), ": ")
		return []string{"tool " + signs.Replace(e.Body.CallID) + ": " + said}
	case session.AssistantMessage:
		for _, b := range e.Body.Blocks {
			list = append(list, "assistant: "+b.Text)
		}
		return list
	}
	for _, b := range e.Body.Blocks {
		list = append(list, "user: "+strings.TrimSpace(b.Text))
	}
	return list
}

var (
	signs  = strings.NewReplacer("_", "", "-", "")
	stamp  = regexp.MustCompile(`^\[[A-Z][a-z]{2} [0-9-]{10} [0-9:]{5} UTC\] `)
	queued = regexp.MustCompile(`(?s)^\[Queued user message[^\n]*\]\n.*?\n\n`) // a prompt that a kill left without an answer
)

// sent is what a message of a request says, without what the agent puts around it on
// the wire alone.
func sent(role, text, call string) []string {
	switch role {
	case "result":
		return []string{"tool " + signs.Replace(call) + ": " + text}
	case "assistant":
		return []string{"assistant: " + text}
	}
	text = queued.ReplaceAllString(stamp.ReplaceAllString(text, ""), "")
	if strings.HasPrefix(text, "Follow the heartbeat monitor") {
		text = "[OpenClaw session event]"
	}
	if _, within, ok := strings.Cut(text, "was compacted into the following summary:\n\n<summary>\n"); ok {
		text = strings.TrimSuffix(within, "\n</summary>")
	}
	return []string{"user: " + strings.TrimSpace(text)}
}
