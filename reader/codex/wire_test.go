package codex

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/readertest"
	"github.com/yorehq/yore/session"
)

// recorded are homes that releases of the client wrote while a scripted model
// answered; wire.jsonl beside them holds every request that the model got. See
// testdata/README.md.
func recorded(t testing.TB) []string {
	t.Helper()
	found, err := filepath.Glob("testdata/*/wire.jsonl")
	if err != nil || len(found) == 0 {
		t.Fatalf("no recorded homes: %v", err)
	}
	var dirs []string
	for _, path := range found {
		dirs = append(dirs, filepath.Dir(path))
	}
	return dirs
}

// requests returns what the model was sent for each thread, in order. A line
// holds how many items it shares with the line of its thread before, and the rest.
func requests(t testing.TB, dir string) map[session.ID][][]string {
	t.Helper()
	all := map[session.ID][][]string{}
	f, err := os.Open(filepath.Join(dir, "wire.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for in := bufio.NewScanner(f); in.Scan(); {
		var line struct {
			Thread session.ID
			Keep   int
			Then   []string
		}
		if err := json.Unmarshal(in.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		var items []string
		if before := all[line.Thread]; len(before) > 0 {
			items = before[len(before)-1][:line.Keep]
		}
		all[line.Thread] = append(all[line.Thread], slices.Concat(items, line.Then))
	}
	return all
}

// onTheWire shows an event's own record as wire.jsonl shows an item.
func onTheWire(t testing.TB, native []byte) string {
	t.Helper()
	type item struct {
		Type, Role, Message string
		CallID              string `json:"call_id"`
		Content             json.RawMessage
	}
	var line struct {
		item
		Payload *item
	}
	if err := json.Unmarshal(native, &line); err != nil {
		t.Fatalf("%v in %s", err, native)
	}
	it := line.item
	if line.Payload != nil {
		it = *line.Payload
	}
	switch {
	case line.Type == "compacted":
		return "user: " + it.Message
	case strings.HasSuffix(it.Type, "_output"):
		return "output: " + it.CallID
	case it.Type != "message" && it.Type != "agent_message":
		return it.Type
	}
	var texts []string
	var blocks []struct{ Type, Text string }
	if err := json.Unmarshal(it.Content, &blocks); err != nil {
		t.Fatalf("%v in %s", err, native)
	}
	for _, b := range blocks {
		if !strings.HasSuffix(b.Type, "text") {
			b.Text = "[" + b.Type + "]"
		}
		texts = append(texts, b.Text)
	}
	if it.Type == "agent_message" {
		return "agent_message: " + strings.Join(texts, "\n")
	}
	return it.Role + ": " + strings.Join(texts, " | ")
}

// unrecorded are threads whose requests, from one on, no log can tell: release
// 0.107 drops turns from what it holds, but makes it anew from its log when it is
// started again, and here that comes to something else.
var unrecorded = map[session.ID]int{"01a22cac-cc36-7301-b20b-c34fbcb727b7": 15}

// The requests are the truth of what was current: for each of them, in order,
// there is a moment in the log at which the surface is exactly what was sent, and
// at the end it begins with the last of them.
func TestSurfaceAgainstTheWire(t *testing.T) {
	for _, dir := range recorded(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			sent := requests(t, dir)
			for _, src := range threads(t, dir) {
				if len(sent[src.Header.ID]) == 0 {
					t.Errorf("no request of %s", src.Header.ID)
				}
				compareWithWire(t, src, sent[src.Header.ID])
				delete(sent, src.Header.ID)
				if formOf(src.Path) != packed {
					everyWay(t, src) // of what is packed each piece costs all of it
				}
			}
			for id := range sent {
				t.Errorf("%s is on the wire and in no log", id)
			}
		})
	}
}

// threads returns one source of each thread below a root, the newest.
func threads(t testing.TB, root string) []reader.Source {
	t.Helper()
	var list []reader.Source
	for _, src := range readertest.Discover(t, New(), root) {
		same := func(s reader.Source) bool { return s.Header.ID == src.Header.ID }
		if i := slices.IndexFunc(list, same); i >= 0 {
			list[i] = src
			continue
		}
		list = append(list, src)
	}
	return list
}

func compareWithWire(t *testing.T, src reader.Source, sent [][]string) {
	t.Helper()
	events, tail := readAll(t, src)
	if len(tail.Skips) > 0 {
		t.Errorf("%s: skips %+v", src.Path, tail.Skips)
	}
	raws := window(t, src, 0, int64(len(events)))
	var f session.Fold
	var shown [][]string // behind each event
	for i := range events {
		if _, err := f.Apply(&events[i]); err != nil {
			t.Fatal(err)
		}
		var now []string
		for _, seq := range f.Surface() {
			now = append(now, onTheWire(t, bytes.TrimSpace(raws[seq].Native)))
		}
		shown = append(shown, now)
	}
	answered := map[string]bool{}
	for i := range raws {
		if raws[i].Event.Type != session.ToolResult {
			continue
		}
		answered[onTheWire(t, bytes.TrimSpace(raws[i].Native))] = true
	}
	at := 0
	for n, want := range sent {
		// A request answers every call; what the client makes up for one that was
		// cut off is in no log.
		want = slices.DeleteFunc(want, func(item string) bool { return strings.HasPrefix(item, "output: ") && !answered[item] })
		sent[n] = want
		found := slices.IndexFunc(shown[at:], func(now []string) bool { return slices.Equal(now, want) })
		if from := unrecorded[src.Header.ID]; from > 0 && n >= from {
			if found >= 0 {
				t.Errorf("%s: request %d is in the log after all", src.Header.ID, n)
			}
			continue
		}
		if found < 0 {
			t.Errorf("%s: request %d is never the surface behind event %d (-sent +surface):\n%s", src.Header.ID, n, at, cmp.Diff(want, closest(shown[at:], want)))
			continue
		}
		at += found
	}
	if unrecorded[src.Header.ID] > 0 {
		return
	}
	last := sent[len(sent)-1]
	if end := shown[len(shown)-1]; len(end) < len(last) || !slices.Equal(end[:len(last)], last) {
		t.Errorf("%s: the end (-sent +surface):\n%s", src.Header.ID, cmp.Diff(last, end))
	}
}

// closest is the first surface that ends as a request does.
func closest(shown [][]string, want []string) []string {
	for _, now := range shown {
		if len(now) > 0 && now[len(now)-1] == want[len(want)-1] {
			return now
		}
	}
	return nil
}

// What was done in the client: which thread forked or spawned which, and how many
// lines of its file (events, where a compaction gives two) it had from there. The
// releases up to 0.107 write a context at the fork that cannot be told from the
// copy: it is in their counts.
func TestRecordedLineage(t *testing.T) {
	fork := func(parent session.ID, seed int64) session.Header {
		return session.Header{ParentSession: parent, SeedLength: seed}
	}
	child := func(parent session.ID, seed, depth int64) session.Header {
		return session.Header{ParentSession: parent, SeedLength: seed, DelegationDepth: depth, Origin: session.OriginSubagent}
	}
	want := map[session.ID]session.Header{
		// branches-0.171.0: a fork, a fork of that, one of the old mode that was migrated, a review
		"01a22cc7-faab-7c82-9fc6-00c302aad072": fork("01a22cc7-f3fa-7b83-8bc8-bb3e858f5717", 71+1),
		"01a22cc7-fcec-76f3-a3ff-4a65098b90b9": fork("01a22cc7-faab-7c82-9fc6-00c302aad072", 82+1),
		"01a22cc8-01b5-7ba3-8a7e-f5536d88ee6a": fork("01a22cc7-fee2-7ec3-a756-748226ce8c6f", 44+1),
		"01a22cc8-0349-7031-bf3d-f10a6a502364": child("01a22cc7-fcec-76f3-a3ff-4a65098b90b9", 0, 1),
		// rollback-0.87.0, -0.107.0, -0.144.5
		"01a22cb7-78d5-7801-9a37-3e50d9c4eb5e": fork("01a22cb7-761c-7970-9ef1-500f8622d912", 100),
		"01a22cac-d9b8-7cc0-87a3-3575f5ddf5ac": fork("01a22cac-cc36-7301-b20b-c34fbcb727b7", 131+2+1),
		"01a22ca7-f253-7003-9d79-d9e93cea923c": fork("01a22ca7-ee6c-7d91-9863-a86a6d2dce5e", 114+1),
		// rollback-compaction-0.87.0, -0.152.0
		"01a22cb5-6f54-7b22-bb1e-743d6e8b3591": fork("01a22cb5-600a-70b0-9f7c-205ad81d5813", 121),
		"01a22cb1-aefd-7ca2-824d-a4fcd04f53de": fork("01a22cb1-9971-7393-b473-809a918b94b4", 160+2),
		// subagents-0.107.0, -0.144.5, -0.171.0: a child, its child, one without the context
		"01a22cb2-28f6-7341-95b1-dd8656c0d1a9": child("01a22cb2-271e-72f2-b180-fe2db968682f", 21+2, 1),
		"01a22cb2-2a46-7a50-a0d7-95e3e1801d5e": child("01a22cb2-28f6-7341-95b1-dd8656c0d1a9", 36+2, 2),
		"01a22cb2-2ef9-7070-8c5a-c305041d6a60": child("01a22cb2-271e-72f2-b180-fe2db968682f", 0, 1),
		"01a22cb1-f7dc-7291-b068-c85b656fd776": child("01a22cb1-f6fd-7e01-867d-3269812ed7a9", 16, 1),
		"01a22cb1-f8f3-7813-928a-2abe6c33c432": child("01a22cb1-f7dc-7291-b068-c85b656fd776", 22, 2),
		"01a22cb1-fbf1-7302-b557-62283d9c1909": child("01a22cb1-f6fd-7e01-867d-3269812ed7a9", 0, 1),
		"01a22cb1-e2a0-7ec0-b174-68e97cd75f8b": child("01a22cb1-e0a1-7b91-b2fd-1ff48ea446db", 12, 1),
		"01a22cb1-e379-7201-81f7-6257dfea95ab": child("01a22cb1-e2a0-7ec0-b174-68e97cd75f8b", 15, 2),
		"01a22cb1-e549-7a30-8328-2ed2f27096ea": child("01a22cb1-e0a1-7b91-b2fd-1ff48ea446db", 0, 1),
		// subagents-v2-0.171.0
		"01a22cb1-ee71-7711-88f5-172e20f9d840": child("01a22cb1-ed45-7cd1-9c8f-1f665fa49718", 19, 1),
		"01a22cb1-f072-7f32-a30d-7659681b6c14": child("01a22cb1-ed45-7cd1-9c8f-1f665fa49718", 0, 1),
	}
	// Where a migration leaves other lines; it also states that all is inherited.
	migrated := map[session.ID]session.Header{
		"01a22cb1-f7dc-7291-b068-c85b656fd776": child("01a22cb1-f6fd-7e01-867d-3269812ed7a9", 15, 1),
		"01a22cb1-f8f3-7813-928a-2abe6c33c432": child("01a22cb1-f7dc-7291-b068-c85b656fd776", 20, 2),
		"01a22cb1-fbf1-7302-b557-62283d9c1909": child("01a22cb1-f6fd-7e01-867d-3269812ed7a9", 0, 1),
	}
	seen := map[session.ID]bool{}
	for _, dir := range recorded(t) {
		for _, src := range threads(t, dir) {
			h, expected := src.Header, want[src.Header.ID]
			if strings.Contains(dir, "migrated-") {
				expected = migrated[h.ID]
			} else {
				seen[h.ID] = true
			}
			expected.ID, expected.Agent, expected.Cwd = h.ID, session.Codex, "/home/dev/proj"
			expected.CreatedAt = h.CreatedAt
			if born, ok := bornAt(string(h.ID)); !ok || h.CreatedAt < born || h.CreatedAt > born+100 {
				t.Errorf("%s was made at %d and created at %d", h.ID, born, h.CreatedAt)
			}
			if diff := cmp.Diff(expected, h); diff != "" {
				t.Errorf("%s (-want +got):\n%s", filepath.Base(dir), diff)
			}
		}
	}
	for id := range want {
		if !seen[id] {
			t.Errorf("%s was not found", id)
		}
	}
}
