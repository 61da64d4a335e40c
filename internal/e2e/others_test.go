package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// none is what a search says that found nothing.
const none = "No session matches"

// TestEachOthersHistory: the clients work in one folder one after the other, and
// in another one. Each finds what was said to the other in this folder, reads it
// exactly, and finds neither its own session, nor the other folder's, nor any
// search that was made before.
func TestEachOthersHistory(t *testing.T) {
	need(t, claude.name)
	need(t, codex.name)
	h := newHome(t)
	h.setUp(claude)
	h.setUp(codex)
	// Nobody ever says this; it stands in calls of the tools alone.
	sought := step{"session_search", search("zyzzyva quorum"), []string{none}, []string{own}}

	kestrel := h.converse(claude, h.here, "The kestrel archive opens at dawn.",
		sought, sought,
		step{"session_search", search("kestrel archive"), []string{none}, []string{own}},
		step{"session_trace", `{}`, []string{own}, nil},
	)
	osprey := h.converse(claude, h.away, "The osprey vault opens at noon.", sought)
	puffin := h.converse(codex, h.away, "The puffin tower opens at noon.", sought)

	seq, record := h.record(h.here, kestrel, "kestrel archive", filepath.Join(".claude", "projects", "*", kestrel+".jsonl"))
	heron := h.converse(codex, h.here, "The heron cellar opens at dusk.",
		sought, sought,
		step{"session_search", search("kestrel archive"), []string{kestrel + " "}, []string{own, osprey}},
		step{"session_search", search("osprey vault"), []string{none}, []string{osprey}},
		step{"session_search", search("puffin tower"), []string{none}, []string{puffin}},
		step{"session_event_search", fmt.Sprintf(`{"query":"kestrel","session_id":%q}`, kestrel), []string{fmt.Sprintf("\n #%d user/message", seq)}, nil},
		step{"session_event_read", fmt.Sprintf(`{"session_id":%q,"seq":%d}`, kestrel, seq), []string{record}, nil},
		step{"session_event_read", fmt.Sprintf(`{"session_id":%q,"seq":%d}`, osprey, seq), []string{"SESSION_QUERY_TOOL_UNAUTHORIZED"}, []string{"vault"}},
		step{"session_event_trace", fmt.Sprintf(`{"session_id":%q,"seq":%d}`, kestrel, seq), []string{"current"}, nil},
		step{"session_search", search("heron cellar"), []string{none}, []string{own}},
		step{"session_trace", `{}`, []string{own}, nil},
	)

	seq, record = h.record(h.here, heron, "heron cellar", filepath.Join(".codex", "sessions", "*", "*", "*", "rollout-*"+heron+".jsonl"))
	h.converse(claude, h.here, "The merlin attic opens at midnight.",
		sought,
		step{"session_search", search("heron cellar"), []string{heron + " "}, []string{own, kestrel}},
		step{"session_event_read", fmt.Sprintf(`{"session_id":%q,"seq":%d}`, heron, seq), []string{record}, nil},
		step{"session_search", search("kestrel archive"), []string{kestrel + " "}, []string{own, heron}},
		step{"session_search", search("puffin tower"), []string{none}, []string{puffin}},
		step{"session_search", search("merlin attic"), []string{none}, []string{own}},
		step{"session_trace", `{}`, []string{own}, nil},
	)
}

// record returns where a person said something in a session, by the command
// line, and the line of the client's log that holds it.
func (h *home) record(dir, id, said, pattern string) (seq int64, line string) {
	h.t.Helper()
	out := h.exec(dir, nil, h.yore, "events", "--json", "--type", "user/message", id, said)
	var hit struct{ Event struct{ Seq int64 } }
	first, _, _ := bytes.Cut([]byte(out), []byte("\n"))
	if err := json.Unmarshal(first, &hit); err != nil || hit.Event.Seq == 0 {
		h.t.Fatalf("yore events %s: %v\n%s", id, err, out)
	}
	read := h.exec(dir, nil, h.yore, "read", "--raw", id, fmt.Sprint(hit.Event.Seq))
	paths, err := filepath.Glob(filepath.Join(h.dir, pattern))
	if err != nil || len(paths) != 1 {
		h.t.Fatalf("logs of %s: %v, %v", id, paths, err)
	}
	text, err := os.ReadFile(paths[0])
	if err != nil {
		h.t.Fatal(err)
	}
	for l := range bytes.Lines(text) {
		l = bytes.TrimSpace(l)
		if bytes.Contains(l, []byte(said)) && bytes.Equal(l, bytes.TrimSpace([]byte(read))) {
			return hit.Event.Seq, string(l)
		}
	}
	h.t.Fatalf("no line of %s is what `yore read` gives:\n%s", paths[0], read)
	return 0, ""
}
