package codex

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/readertest"
	"github.com/yorehq/yore/session"
)

// branches is what Codex 0.171.0 wrote when it was told to take three turns, fork
// behind the first, revert twice, fork again, revert the fork to before the fork's
// own beginning, and compact. Only long strings of the vendor are trimmed.
const branches = "testdata/branches"

// What the client then sent to the model, as the model's side recorded it, and
// the answer it got: that is what the surface has to be. (The base instructions,
// sent first, are in no log as an item.)
func TestBranchesAgainstTheWire(t *testing.T) {
	const (
		thread = "01a22c56-b4ba-7632-9741-a652e1e64aaf"
		fork   = "01a22c56-b7e3-7a41-be4f-eb22560266a7"
		second = "01a22c56-bbc5-73a2-bb1a-762d9d16ff8a"
	)
	sent := map[session.ID][]string{
		thread: {"human: prompt one", "injected", "injected", "human: prompt five", "summary: [trimmed 407 chars]", "human: prompt six", "assistant: answer nine"},
		fork:   {"injected", "injected", "human: prompt one", "assistant", "assistant: answer one", "human: fork prompt", "assistant: answer four"},
		second: {"injected", "injected", "human: back before the fork", "assistant: answer eight"},
	}
	headers := map[session.ID]session.Header{
		thread: {CreatedAt: 1796040209621},
		fork:   {CreatedAt: 1796040210408, ParentSession: thread, SeedLength: 16},
		second: {CreatedAt: 1796040211402, ParentSession: thread, SeedLength: 28},
	}
	found := readertest.Discover(t, New(), branches)
	if len(found) != 6 {
		t.Fatalf("%d files", len(found))
	}
	var whole = map[session.ID][]session.Event{}
	for _, src := range found {
		id := src.Header.ID
		want := headers[id]
		want.Agent, want.ID, want.Cwd = session.Codex, id, "/home/dev/proj"
		if src.Header != want {
			t.Errorf("header %+v, want %+v", src.Header, want)
		}
		events, tail := readAll(t, src)
		if diff := cmp.Diff(sent[id], surface(t, events)); diff != "" || len(tail.Skips) > 0 {
			t.Errorf("%s, skips %+v (-sent +surface):\n%s", filepath.Base(src.Path), tail.Skips, diff)
		}
		if before, ok := whole[id]; ok && !cmp.Equal(before, events) {
			t.Errorf("%s gives other events than another file of its thread", filepath.Base(src.Path))
		}
		whole[id] = events
		everyWay(t, src)
	}
	// Abandoned turns stay in the log.
	var prompts []string
	for i := range whole[thread] {
		if e := &whole[thread][i]; e.Body.Speaker == session.Human {
			prompts = append(prompts, said(e))
		}
	}
	if diff := cmp.Diff([]string{"human: prompt one", "human: prompt two", "human: prompt three", "human: prompt four", "human: prompt five", "human: prompt six"}, prompts); diff != "" {
		t.Errorf("prompts (-want +got):\n%s", diff)
	}
	title, ok, err := New().Title(context.Background(), reader.Source{Root: branches, Header: session.Header{ID: thread}})
	if title != "My name" || !ok || err != nil {
		t.Errorf("title %q, %v, %v", title, ok, err)
	}
}

// The newest file of each thread satisfies the suite. (Growth is not tested by it
// here: what the suite calls new does not count lines of other files.)
func TestBranchesConformance(t *testing.T) {
	newest := map[session.ID]reader.Source{}
	for _, src := range readertest.Discover(t, New(), branches) {
		newest[src.Header.ID] = src // in the order of names, which is that of time
	}
	for _, src := range newest {
		t.Run(string(src.Header.ID), func(t *testing.T) {
			readertest.Cut(t, New(), src)
			readertest.Stop(t, New(), src)
			readertest.Revise(t, New(), src)
			readertest.Window(t, New(), src)
			readertest.Cancel(t, New(), src)
		})
	}
}
