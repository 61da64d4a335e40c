package dsh

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

func TestDefaultRoots(t *testing.T) {
	for home, want := range map[string]string{
		"":          filepath.Join("/home/ada", ".dsh", "sessions"),
		"  \t":      filepath.Join("/home/ada", ".dsh", "sessions"),
		"/data/dsh": filepath.Join("/data/dsh", "sessions"),
	} {
		env := func(name string) string {
			if name == "DSH_HOME" {
				return home
			}
			return ""
		}
		if diff := cmp.Diff([]string{want}, New().DefaultRoots(env, "/home/ada")); diff != "" {
			t.Errorf("DSH_HOME=%q (-want +got):\n%s", home, diff)
		}
	}
}

func TestClassify(t *testing.T) {
	for _, c := range []struct {
		rel  string
		dir  bool
		want reader.Kind
	}{
		{".", true, reader.Folder},
		{"", true, reader.Folder},
		{"--srv-code--", true, reader.Folder},
		{"_no-cwd", true, reader.Folder},
		{"--srv-code--", false, reader.Shelf}, // by its first bytes
		{".", false, reader.Shelf},
		{"sessions.sqlite", false, reader.Shelf},
		{"sessions.sqlite-wal", false, reader.Ignore},
		{"sessions.sqlite-shm", false, reader.Ignore},
		{"--srv-code--/sessions.sqlite", false, reader.Ignore},
		{"stray.jsonl", false, reader.Ignore},
		{"--srv-code--/one", true, reader.Leaf},
		{"--srv-code--/one.jsonl", true, reader.Leaf},
		{"--srv-code--/one.jsonl", false, reader.Misplaced},
		{"--srv-code--/one.txt", false, reader.Ignore},
		{"--srv-code--/one/session.jsonl", false, reader.File},
		{"--srv-code--/one/session.jsonl.zstd", false, reader.File},
		{"--srv-code--/one/session.jsonl", true, reader.Ignore},
		{"--srv-code--/one/session.jsonl.0123456789ab.tmp", false, reader.Ignore},
		{"--srv-code--/one/session.jsonl.zstd.0123456789ab.tmp", false, reader.Ignore},
		{"--srv-code--/one/notes.jsonl", false, reader.Ignore},
		{"--srv-code--/.dsh-mkdir-1", true, reader.Ignore},
		{".dsh-mkdir-1", true, reader.Ignore},
		{"--srv-code--/.dsh-mkdir-1/session.jsonl", false, reader.Ignore},
		{"--srv-code--/one/two/session.jsonl", false, reader.Ignore},
		{"--srv-code--/one/two", true, reader.Ignore},
	} {
		if got := New().Classify(c.rel, c.dir); got != c.want {
			t.Errorf("%q (folder: %t): %d, want %d", c.rel, c.dir, got, c.want)
		}
	}
}

func TestFolderNames(t *testing.T) {
	for _, c := range []struct{ cwd, want string }{
		{`"/home/ada/my app"`, "--home-ada-my~0020app--"},
		{`"C:\\w\\p"`, "--C-w-p--"},
		{`"/"`, "--root--"},
		{`""`, "--root--"},
		{`"/srv//code:\\x"`, "--srv-code-x--"},
		{`"/a~b"`, "--a~007Eb--"},
		{`"/\ud83d\ude80"`, "--~D83D~DE80--"},
		{`"/🚀"`, "--~D83D~DE80--"},
		{`"/\ud800x"`, "--~D800x--"},
		{`"/tab\there\u00e9\/"`, "--tab~0009here~00E9---"},
		{`"` + "/" + strings.Repeat("é", 100) + `"`, "--" + strings.Repeat("~00E9", 50) + "~--"},
	} {
		if got := projectKey(units([]byte(c.cwd))); got != c.want {
			t.Errorf("workspace %s: %s, want %s", c.cwd, got, c.want)
		}
	}
	for _, c := range []struct{ id, want string }{
		{`"a/b"`, "a~002Fb"},
		{`"."`, "~002E"},
		{`".."`, "~002E~002E"},
		{`"..."`, "..."},
		{`"odd id/with slash"`, "odd~0020id~002Fwith~0020slash"},
		{`"日本-id"`, "~65E5~672C-id"},
		{`"%"`, "~0025"},
	} {
		if got := encodeSegment(units([]byte(c.id))); got != c.want {
			t.Errorf("id %s: %s, want %s", c.id, got, c.want)
		}
	}
}

func TestParseHeader(t *testing.T) {
	for _, c := range []struct {
		line, reason string
		want         session.Header
	}{
		{
			`{"type":"session","version":0,"id":"c","createdAt":5,"cwd":"/a","parentSession":"p","seedLength":3,"origin":"subagent","delegationDepth":1,"agentPreset":"reviewer"}`, "",
			session.Header{Agent: "dsh", ID: "c", CreatedAt: 5, Cwd: "/a", ParentSession: "p", SeedLength: 3, Origin: "subagent", DelegationDepth: 1, AgentPreset: "reviewer"},
		},
		{`{"type":"session","version":7,"id":"c","createdAt":5.0,"delegationDepth":0,"mood":[]}`, "", session.Header{Agent: "dsh", ID: "c", CreatedAt: 5, Version: 7}},
		{`{"type":"session","version":0,"id":"a","id":"b","createdAt":1,"delegationDepth":0}`, "", session.Header{Agent: "dsh", ID: "b", CreatedAt: 1}},
		{`{"type":"session","version":"0","id":"c","createdAt":5,"delegationDepth":0}`, "version", session.Header{Agent: "dsh", ID: "c", CreatedAt: 5, Version: -1}},
		{`{"type":"note","version":0,"id":"c","createdAt":5,"delegationDepth":0}`, "no session header", session.Header{Agent: "dsh", ID: "c", CreatedAt: 5}},
		{`{"type":"session","version":0,"createdAt":5,"delegationDepth":0}`, "no id", session.Header{Agent: "dsh", CreatedAt: 5}},
		{`{"type":"session","version":0,"id":"","createdAt":5,"delegationDepth":0}`, "no id", session.Header{Agent: "dsh", CreatedAt: 5}},
		{`{"type":"session","version":0,"id":"c","createdAt":9007199254740992,"delegationDepth":0}`, "createdAt", session.Header{Agent: "dsh", ID: "c", CreatedAt: 9007199254740992}},
		{`{"type":"session","version":0,"id":"c","createdAt":5,"delegationDepth":0,"origin":"fork"}`, "origin", session.Header{Agent: "dsh", ID: "c", CreatedAt: 5, Origin: "subagent"}},
		{`{"type":"session","version":0,"id":"c","createdAt":5,"delegationDepth":0,"agentPreset":null}`, "agentPreset", session.Header{Agent: "dsh", ID: "c", CreatedAt: 5}},
		{`{"type":"session","version":0,"id":"c","createdAt":5,"delegationDepth":0,"seedLength":-1}`, "seedLength", session.Header{Agent: "dsh", ID: "c", CreatedAt: 5, SeedLength: -1}},
		{`["session"]`, "no record", session.Header{Agent: "dsh"}},
		{`{"type":"session"`, "no JSON", session.Header{Agent: "dsh"}},
	} {
		h, reason := parseHeader([]byte(c.line))
		if c.reason == "" && reason != "" || !strings.Contains(reason, c.reason) {
			t.Errorf("%s: reason %q, want %q", c.line, reason, c.reason)
		}
		if diff := cmp.Diff(c.want, h.Header); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.line, diff)
		}
	}
}

func TestKnownTypesAreSorted(t *testing.T) {
	if !slices.IsSorted(knownTypes[:]) {
		t.Error("the types must be sorted to be found")
	}
	for _, name := range knownTypes {
		if got, ok := typeName([]byte(`"` + name + `"`)); !ok || got != name {
			t.Errorf("%s is found as %q, %t", name, got, ok)
		}
	}
	if name, ok := typeName([]byte(`"turn\/end"`)); !ok || name != session.TurnEnd {
		t.Errorf("an escaped name is found as %q, %t", name, ok)
	}
}
