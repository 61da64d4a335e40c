package qwen

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/readertest"
	"github.com/yorehq/yore/session"
)

const oldest = "testdata/0.1.3"

// The document was written by 0.1.3 under a scripted model; what was said in it was
// read off by hand. No folder is stated: nothing beside it says which one has the hash.
func TestDocument(t *testing.T) {
	found := readertest.Discover(t, New(), oldest)
	if len(found) != 1 {
		t.Fatalf("%d sessions", len(found))
	}
	src := found[0]
	want := session.Header{Agent: session.Qwen, ID: "4f137c66-5cb2-4eee-ad1a-8c0fe2d44e01", Version: ofDocuments, CreatedAt: 1796098232748}
	if diff := cmp.Diff(want, src.Header); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	events, _, err := readertest.ReadFrom(New(), src, reader.Position{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{
		`0 user/message append title="Count the lanterns in the hall." human: Count the lanterns in the hall.`,
		`1 assistant/message step append assistant: There are seven lanterns.`,
		`2 user/message append human: Now count the candles.`,
		`3 assistant/message step append assistant: Nine candles, two of wax.`,
		`4 user/message append human: And what of the mirrors?`,
		`5 assistant/message step append assistant: No mirrors at all.`,
	}, readertest.Outline(events)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if command := New().ResumeCommand(src.Header); command != "" {
		t.Errorf("it is resumed by %q, and the agent cannot", command)
	}
}

// What the client sent to its model is the proof of the surface, as far as it was
// written down: texts, but neither calls nor results.
func TestDocumentIsWhatWasSent(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(oldest, "requests.json"))
	if err != nil {
		t.Fatal(err)
	}
	var sent [][]string
	if err := json.Unmarshal(text, &sent); err != nil || len(sent) == 0 {
		t.Fatal(len(sent), err)
	}
	events, _, err := readertest.ReadFrom(New(), readertest.Discover(t, New(), oldest)[0], reader.Position{})
	if err != nil {
		t.Fatal(err)
	}
	var f session.Fold
	next := 0
	for i := range events {
		if _, err := f.Apply(&events[i]); err != nil {
			t.Fatal(err)
		}
		var shown []string
		for _, seq := range f.Surface() {
			shown = append(shown, readertest.Said(&events[seq]))
		}
		for next < len(sent) && slices.Equal(shown, sent[next]) {
			next++
		}
	}
	if next < len(sent) {
		t.Errorf("request %d was never the surface: %q", next, sent[next])
	}
}

// A document satisfies what does not depend on being appended to.
func TestDocumentsConform(t *testing.T) {
	src := readertest.Discover(t, New(), oldest)[0]
	readertest.Stop(t, New(), src)
	readertest.Window(t, New(), src)
	readertest.Cancel(t, New(), src)
}

// The folder of a document is the one with its hash, of those that the agent trusts
// or that later sessions are of.
func TestFolderOfADocument(t *testing.T) {
	sum := sha256.Sum256([]byte(folder))
	hash := hex.EncodeToString(sum[:])
	name := "tmp/" + hash + "/chats/session-2025-11-01T08-55-11111111.json"
	document := `{"sessionId":"` + idA + `","projectHash":"` + hash + `","startTime":"2025-11-01T08:55:00.000Z",` +
		`"messages":[{"id":"m","timestamp":"2025-11-01T08:55:01.000Z","type":"user","content":"go"}]}`
	for _, tc := range []struct {
		name, file, text, want string
	}{
		{"nothing tells", "settings.json", `{}`, ""},
		{"it is trusted", "trustedFolders.json", `{"` + folder + `":"TRUST_FOLDER"}`, folder},
		{"a later session is of it", "projects/-home-dev-proj/chats/x.jsonl", user("u1", "", "hi") + "\n", folder},
		{"a later session is of another that is written alike", "projects/-home-dev-proj/chats/x.jsonl",
			`{"uuid":"u","sessionId":"s","type":"user","cwd":"/home/dev-proj"}` + "\n", ""},
		{"a later session is torn", "projects/-home-dev-proj/chats/x.jsonl", `{"uuid":"u","cwd":"` + folder, ""},
	} {
		root := t.TempDir()
		for file, text := range map[string]string{name: document, tc.file: tc.text} {
			path := filepath.Join(root, filepath.FromSlash(file))
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		h, err := New().Identify(context.Background(), root, filepath.Join(root, filepath.FromSlash(name)))
		if err != nil || h.Cwd != tc.want || h.Agent != session.Qwen {
			t.Errorf("%s: %+v, %v", tc.name, h, err)
		}
	}
}

// Below the folder of the older form lies more than documents.
func TestWhereDocumentsLie(t *testing.T) {
	for rel, want := range map[string]reader.Kind{
		"tmp":                               reader.Folder,
		"tmp/abc":                           reader.Folder,
		"tmp/abc/chats":                     reader.Folder,
		"tmp/abc/checkpoints":               reader.Ignore,
		"tmp/session-writer-locks":          reader.Folder, // a project may be called anything
		"tmp/session-writer-locks/x.lock":   reader.Ignore,
		"tmp/abc/chats/session-x.json":      reader.File,
		"tmp/abc/chats/session-x.jsonl":     reader.Ignore,
		"tmp/abc/chats/other.json":          reader.Ignore,
		"tmp/abc/chats/" + idA:              reader.Folder,
		"tmp/abc/chats/" + idA + "/a.jsonl": reader.Ignore,
		"tmp/abc/logs.json":                 reader.Ignore,
		"projects/-p/chats/session-x.json":  reader.Ignore,
	} {
		dir := filepath.Ext(rel) == ""
		if got := New().Classify(rel, dir); got != want {
			t.Errorf("%s is %v, want %v", rel, got, want)
		}
	}
}
