package codex

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

func TestClassify(t *testing.T) {
	const name = "rollout-2026-11-30T08-57-29-" + idA
	for _, tc := range []struct {
		rel  string
		dir  bool
		want reader.Kind
	}{
		{"", true, reader.Folder},
		{"", false, reader.Ignore},
		{"sessions", true, reader.Folder},
		{"sessions/2026", true, reader.Folder},
		{"sessions/2026/11/30", true, reader.Folder},
		{"sessions/2026/11/30/sub", true, reader.Ignore},
		{"sessions/26", true, reader.Ignore},
		{"sessions/2026/nov", true, reader.Ignore},
		{"archived_sessions", true, reader.Folder},
		{"archived_sessions/2026", true, reader.Ignore},
		{"thread-writer-locks", true, reader.Ignore},
		{".tmp", true, reader.Ignore},
		{"sessions/2026/11/30/" + name + ".jsonl", false, reader.File},
		{"sessions/2026/11/30/" + name + "_" + idB + ".jsonl", false, reader.File},
		{"sessions/2026/11/30/" + name + ".jsonl.zst", false, reader.File},
		{"archived_sessions/" + name + ".jsonl", false, reader.File},
		{"sessions/rollout-2025-04-20-" + idA + ".json", false, reader.File},
		{"sessions/2026/11/30/" + name + ".jsonl.zst.tmp", false, reader.Ignore},
		{"sessions/2026/11/30/" + name + ".tmp", false, reader.Ignore},
		{"sessions/2026/11/30/notes.jsonl", false, reader.Ignore},
		{name + ".jsonl", false, reader.Misplaced},
		{"backup/" + name + ".jsonl", false, reader.Misplaced},
		{"history.jsonl", false, reader.Ignore},
		{"session_index.jsonl", false, reader.Ignore},
		{"state_5.sqlite", false, reader.Ignore},
	} {
		if got := New().Classify(tc.rel, tc.dir); got != tc.want {
			t.Errorf("%q (folder: %v): %d, want %d", tc.rel, tc.dir, got, tc.want)
		}
	}
}

func TestDefaultRoots(t *testing.T) {
	for env, want := range map[string]string{"": "/home/ada/.codex", "  ": "/home/ada/.codex", "/srv/codex": "/srv/codex"} {
		got := New().DefaultRoots(func(name string) string {
			if name == "CODEX_HOME" {
				return env
			}
			return ""
		}, "/home/ada")
		if diff := cmp.Diff([]string{want}, got); diff != "" {
			t.Errorf("CODEX_HOME=%q (-want +got):\n%s", env, diff)
		}
	}
}

func TestSegmentOf(t *testing.T) {
	for _, tc := range []struct {
		name, seg string
		ok        bool
	}{
		{"rollout-2026-11-30T08-57-29-" + idA + ".jsonl", idA, true},
		{"rollout-2026-11-30T08-57-29-" + idA + "_" + idB + ".jsonl.zst", idB, true},
		{"rollout-2025-04-20-" + idA + ".json", idA, true},
		{"rollout-x.jsonl", "", true},
		{"rollout-2026-11-30T08-57-29-" + idA + ".txt", "", false},
		{idA + ".jsonl", "", false},
	} {
		if seg, ok := segmentOf(tc.name); seg != tc.seg || ok != tc.ok {
			t.Errorf("%s: %q %v, want %q %v", tc.name, seg, ok, tc.seg, tc.ok)
		}
	}
}

// The first 48 bits of a version 7 uuid are milliseconds (RFC 9562, section 5.7).
func TestBornAt(t *testing.T) {
	if ms, ok := bornAt("017f22e2-79b0-7cc3-98c4-dc0c0c07398f"); !ok || ms != 1645557742000 { // the RFC's own example
		t.Errorf("%d, %v", ms, ok)
	}
	for _, id := range []string{"", "x", "919108f7-52d1-4320-9bac-f847db4148a8"} {
		if _, ok := bornAt(id); ok {
			t.Errorf("%q tells a time", id)
		}
	}
}

func TestResumeCommand(t *testing.T) {
	for _, tc := range []struct {
		h    session.Header
		want string
	}{
		{session.Header{ID: idA}, "codex resume " + idA},
		{session.Header{ID: idA, Cwd: "/w/a b"}, "cd '/w/a b' && codex resume " + idA},
		{session.Header{ID: idA, Cwd: "/w\x1b]0;x\a"}, ""},
		{session.Header{ID: idA, Origin: session.OriginSubagent}, ""},
		{session.Header{ID: "x; rm -rf ~"}, ""},
		{session.Header{ID: "--yolo"}, ""},
		{session.Header{ID: ""}, ""},
	} {
		if got := New().ResumeCommand(tc.h); got != tc.want {
			t.Errorf("%q: %q, want %q", tc.h.ID, got, tc.want)
		}
	}
}
