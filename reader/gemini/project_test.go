package gemini

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/readertest"
	"github.com/yorehq/yore/session"
)

// No log states its folder: it is the one whose hash it states, wherever the agent
// has written that one down. Names of folders are never taken apart.
func TestWorkspace(t *testing.T) {
	for _, tc := range []struct {
		name, project string
		files         map[string]string
		want          string
	}{
		{"the project's own mark", "proj", map[string]string{"tmp/proj/.project_root": folder + "\n"}, folder},
		{"a mark of another folder, and the registry has the right one", "proj",
			map[string]string{"tmp/proj/.project_root": "/else", "projects.json": `{"projects":{"/a":"x","` + folder + `":"y"}}`}, folder},
		{"a folder that bears the hash, as old releases name it", hashOf(folder), map[string]string{"projects.json": `{"projects":{"` + folder + `":"y"}}`}, folder},
		{"known by the list of trusted folders alone", hashOf(folder), map[string]string{"trustedFolders.json": `{"` + folder + `":"TRUST_FOLDER"}`}, folder},
		{"a hash of nothing that is known: the mark stands", "proj", map[string]string{"tmp/proj/.project_root": "/moved"}, "/moved"},
		{"or the registry", "proj", map[string]string{"projects.json": `{"projects":{"/moved":"proj"}}`}, "/moved"},
		{"nothing is known", "home-dev-proj", map[string]string{"projects.json": `broken`}, ""},
	} {
		root := home(t, tc.files)
		path := filepath.Join(root, projectsDir, tc.project, chatsDir, "session-x.jsonl")
		if got := New().workspace(root, path, hashOf(folder)); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

// Subagents have files of their own in a folder that bears their session's id.
func TestSubagent(t *testing.T) {
	name := "tmp/proj/chats/" + idA + "/sub-1.jsonl"
	log := `{"sessionId":"sub-1","projectHash":"` + hashOf(folder) + `","startTime":"2026-11-30T08:55:00.000Z","kind":"subagent","directories":["/else"]}`
	root := home(t, map[string]string{name: lines(log, user("u1", "look")), "tmp/proj/.project_root": folder})
	want := session.Header{Agent: session.Gemini, ID: "sub-1", CreatedAt: 1796028900000, Cwd: folder, ParentSession: idA, Origin: session.OriginSubagent, DelegationDepth: 1}
	src := sourceOf(t, root, name)
	if src.Header != want {
		t.Errorf("the header is %+v", src.Header)
	}
	// Its task is the model's, not a person's, and names it.
	events, _, err := readertest.ReadFrom(New(), src, reader.Position{})
	if diff := cmp.Diff([]string{`0 user/message append title="look" injected: look`}, readertest.Outline(events)); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if got := New().ResumeCommand(want); got != "" {
		t.Errorf("a subagent is resumed by %q", got)
	}
	if got := New().ResumeCommand(session.Header{ID: idA, Cwd: "/home/dev/my proj"}); got != "cd '/home/dev/my proj' && gemini --resume "+idA {
		t.Errorf("it is resumed by %q", got)
	}
}

func TestClassify(t *testing.T) {
	for rel, want := range map[string]reader.Kind{
		".": reader.Folder, "tmp/": reader.Folder, "tmp/proj/": reader.Folder, "tmp/proj/chats/": reader.Folder, "tmp/proj/chats/x/": reader.Folder,
		"tmp/proj/chats/x/y/": reader.Ignore, "tmp/proj/tool-outputs/": reader.Ignore, "history/": reader.Ignore,
		chat: reader.File, chat[:len(chat)-1]: reader.File, "tmp/proj/chats/x/sub-1.jsonl": reader.File,
		"tmp/proj/logs.json": reader.Ignore, "tmp/proj/chats/checkpoint.json": reader.Ignore, "tmp/proj/chats/session-a.jsonl.tmp-12": reader.Ignore,
		"tmp/proj/chats/session-a.jsonl.unreadable-1": reader.Ignore, "settings.json": reader.Ignore,
		"session-a.jsonl": reader.Misplaced, "old/chats/session-a.json": reader.Misplaced, "old/session-a.json": reader.Ignore,
	} {
		dir := rel == "." || rel[len(rel)-1] == '/'
		name := rel
		if dir && rel != "." {
			name = rel[:len(rel)-1]
		}
		if got := New().Classify(name, dir); got != want {
			t.Errorf("%s is %d, want %d", rel, got, want)
		}
	}
	getenv := func(moved string) func(string) string {
		return func(name string) string { return map[string]string{"GEMINI_CLI_HOME": moved}[name] }
	}
	for moved, want := range map[string]string{"": "/home/dev/.gemini", "/srv": "/srv/.gemini"} {
		if got := New().DefaultRoots(getenv(moved), "/home/dev"); len(got) != 1 || filepath.ToSlash(got[0]) != want {
			t.Errorf("GEMINI_CLI_HOME=%s: %v", moved, got)
		}
	}
}

func TestRetention(t *testing.T) {
	const day = 24 * time.Hour
	for settings, want := range map[string]time.Duration{
		``: 30 * day, `{}`: 30 * day, `{"general":{"sessionRetention":{"maxAge":"7d"}}}`: 7 * day, `{"general":{"sessionRetention":{"maxAge":"36h"}}}`: 36 * time.Hour,
		`{"general":{"sessionRetention":{"maxAge":"2w"}}}`: 14 * day, `{"general":{"sessionRetention":{"maxAge":"odd"}}}`: 30 * day,
		`{"general":{"sessionRetention":{"enabled":false,"maxAge":"7d"}}}`: 0,
	} {
		root := home(t, map[string]string{"settings.json": settings})
		if got, ok := New().PrunesAfter(root); got != want || ok != (want > 0) {
			t.Errorf("%s: %s, %t", settings, got, ok)
		}
	}
}
