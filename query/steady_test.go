package query_test

import (
	"context"
	"errors"
	"testing"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// restless is a store whose snapshots move under whoever reads them, so often.
type restless struct {
	query.Store
	left, taken int
	early       bool // they move at once, not while phrases are compared
}

func (r *restless) Snapshot(ctx context.Context, workspace string) (query.Snapshot, error) {
	s, err := r.Store.Snapshot(ctx, workspace)
	if s == nil || err != nil {
		return s, err
	}
	r.taken++
	return &restlessView{s, r}, nil
}

type restlessView struct {
	query.Snapshot
	r *restless
}

func (v *restlessView) Match(ctx context.Context, phrase []string, within []query.Span, least *query.Least, found func(*query.Run) error) error {
	if v.r.left > 0 {
		v.r.left--
		return &fault.Error{Code: fault.StaleCursor, Cause: query.ErrMoved}
	}
	return v.Snapshot.Match(ctx, phrase, within, least, found)
}

func (v *restlessView) Sessions(ctx context.Context) ([]query.Row, error) {
	if v.r.early && v.r.left > 0 {
		v.r.left--
		return nil, &fault.Error{Code: fault.StaleCursor, Cause: query.ErrMoved}
	}
	return v.Snapshot.Sessions(ctx)
}

// Whatever is asked of one session begins again as well: who asks knows nothing
// of pages or views.
func TestEveryAnswerBeginsAgainWhenAShardMoves(t *testing.T) {
	m := newMemory(t)
	m.put(header("a", "/w/one"), "zephyr", "again")
	store := &restless{Store: m.Store, early: true}
	corpus := m.Corpus
	corpus.Store = store
	e := engine(t, query.Config{Disk: corpus, Window: 5})
	at := locate(t, e, "a")
	ctx := t.Context()
	for name, answer := range map[string]func() error{
		"events":       func() error { _, err := e.Events(ctx, at, false, query.EventFilter{}, 5, ""); return err },
		"info":         func() error { _, err := e.Info(ctx, at, false); return err },
		"ordinal":      func() error { _, _, err := e.OrdinalOf(ctx, at, false, 1); return err },
		"passages":     func() error { _, err := e.Passages(ctx, at, false, 0, 5, -1); return err },
		"read":         func() error { _, err := e.Read(ctx, at, false, 1, 1, 0); return err },
		"replacements": func() error { _, _, err := e.Replacements(ctx, at, false); return err },
		"search": func() error {
			_, err := e.SearchEvents(ctx, at, query.EventSearch{Query: "zephyr", Limit: 5})
			return err
		},
		"step": func() error {
			if _, err := e.LatestStep(ctx, at); !errors.Is(err, fault.NoCurrentStep) {
				return err
			}
			return nil
		},
		"surface": func() error { _, _, err := e.Surface(ctx, at, false); return err },
		"trace":   func() error { _, err := e.TraceEvent(ctx, at, false, 1); return err },
	} {
		store.left = 0
		if err := answer(); err != nil {
			t.Fatalf("%s at rest: %v", name, err)
		}
		store.left = 3
		if err := answer(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if store.left != 0 {
			t.Errorf("%s: nothing moved", name)
		}
	}
}

// A shard that is written to while many are searched costs another round, and
// an error only if it never rests.
func TestASearchBeginsAgainWhenAShardMoves(t *testing.T) {
	m := newMemory(t)
	m.put(header("a", "/w/one"), "zephyr")
	m.put(header("b", "/w/two"), "zephyr")
	store := &restless{Store: m.Store}
	corpus := m.Corpus
	corpus.Store = store
	e := engine(t, query.Config{Disk: corpus})
	req := query.SessionSearch{Query: "zephyr", Limit: 5, Sessions: workspaces("/w/one", "/w/two")}
	for _, moves := range []int{0, 1, 7} {
		store.left, store.taken = moves, 0
		page, err := e.SearchSessions(t.Context(), req)
		if err != nil || len(page.Hits) != 2 || store.taken != 2*(moves+1) {
			t.Errorf("%d moves: %d hits, %d snapshots, %v", moves, len(page.Hits), store.taken, err)
		}
	}
	store.left = 1 << 20
	if _, err := e.SearchSessions(t.Context(), req); !errors.Is(err, fault.StaleCursor) {
		t.Errorf("a shard that never rests gives %v", err)
	}
	if done := 1<<20 - store.left; done > 16 {
		t.Errorf("%d rounds", done)
	}
}

// broken is a store of which one shard cannot be opened.
type broken struct {
	query.Store
	workspace string
}

func (b broken) Snapshot(ctx context.Context, workspace string) (query.Snapshot, error) {
	if workspace == b.workspace {
		return nil, fault.New(fault.IndexFailed, "no rights")
	}
	return b.Store.Snapshot(ctx, workspace)
}

// Of everything a shard that cannot be opened is left out; who asks for its
// workspace is told.
func TestAShardWithoutRightsIsLeftOut(t *testing.T) {
	m := newMemory(t)
	m.put(header("a", "/w/one"), "zephyr")
	m.put(header("b", "/w/two"), "zephyr")
	corpus := m.Corpus
	corpus.Store = broken{m.Store, "/w/one"}
	e := engine(t, query.Config{Disk: corpus})
	req := query.SessionSearch{Query: "zephyr", Limit: 5, Sessions: query.SessionFilter{Scope: session.Scope{All: true}}}
	page, err := e.SearchSessions(t.Context(), req)
	if err != nil || len(page.Hits) != 1 || page.Hits[0].Info.Header.ID != "b" {
		t.Errorf("%+v, %v", page.Hits, err)
	}
	req.Sessions.Scope = session.Scope{Workspaces: []string{"/w/one"}}
	if _, err := e.SearchSessions(t.Context(), req); !errors.Is(err, fault.IndexFailed) {
		t.Errorf("the workspace alone gives %v", err)
	}
}
