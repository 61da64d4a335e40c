package opencode

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/readertest"
	"github.com/yorehq/yore/session"
)

// A message of the first releases may hold any number of parts and calls: what is
// done for one does not go over all of them. (With work for each pair this message
// takes half a minute.)
func TestAMessageOfManyParts(t *testing.T) {
	const n = 20_000
	var parts, about []string
	for i := range n {
		parts = append(parts, fmt.Sprintf(`{"type":"tool-invocation","toolInvocation":{"state":"result","toolCallId":"c%d","toolName":"x","args":{},"result":"r%d"}}`, i, i))
		about = append(about, fmt.Sprintf(`"c%d":{"error":%t,"time":{"start":1,"end":2}}`, i, i%2 == 1))
	}
	for range n {
		parts = append(parts, `{"type":"text","text":"ab"}`)
	}
	root := t.TempDir()
	sessions := filepath.Join(root, "project", "w", "storage", "session")
	for path, text := range map[string]string{
		"info/ses_1.json": `{"id":"ses_1","directory":"/w","title":"t","version":"0.1.174","time":{"created":1,"updated":2}}`,
		"message/ses_1/msg_1.json": `{"id":"msg_1","role":"assistant","metadata":{"time":{"created":1,"completed":2},"tool":{` + strings.Join(about, ",") + `}},"parts":[` +
			strings.Join(parts, ",") + `]}`,
	} {
		path = filepath.Join(sessions, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	sources := readertest.Discover(t, New(), root)
	if len(sources) != 1 {
		t.Fatalf("%d sessions", len(sources))
	}
	results, failed, text := 0, 0, ""
	if _, err := New().Read(t.Context(), sources[0], reader.Position{}, func(e session.Event) error {
		switch e.Type {
		case session.ToolResult:
			results++
			if e.Body.ErrorName != "" {
				failed++
			}
		case session.AssistantMessage:
			for _, b := range e.Body.Blocks {
				text += b.Text
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if results != n || failed != n/2 || text != strings.Repeat("ab", n) {
		t.Errorf("%d results, %d failed, %d bytes of text", results, failed, len(text))
	}
}

// Nothing of a session comes through a link: not its messages, not their parts, and
// no file or folder of these.
func TestTreesFollowNoLinks(t *testing.T) {
	for _, f := range []form{inStorage, inProject} {
		for _, at := range []string{"message", "message/ses_a", "message/ses_a/msg_1.json", "part", "part/…/msg_1", "part/…/msg_1/prt_msg_1_0.json"} {
			g, other := newGrove(t, f), newGrove(t, f)
			for _, one := range []*grove{g, other} {
				one.session("ses_a", `,"directory":"/w"`)
				one.user("ses_a", "msg_1", "zephyr")
			}
			above := ""
			if f == inProject {
				above = "ses_a/"
			}
			rel := filepath.Join(strings.Split(g.under(strings.Replace(at, "…/", above, 1)), "/")...)
			here := filepath.Join(g.root, rel)
			if err := os.RemoveAll(here); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(filepath.Join(other.root, rel), here); err != nil {
				t.Fatal(err)
			}
			events, _ := readIn(t, g, "ses_a")
			if text := strings.Join(said(events), "\n"); strings.Contains(text, "zephyr") {
				t.Errorf("by a link in the place of %s: %s", rel, text)
			}
		}
	}
}
