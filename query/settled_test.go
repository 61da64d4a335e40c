package query_test

import (
	"context"
	"errors"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// looks counts how often the logs are looked at.
type looks struct {
	query.Refresher
	n int
}

func (l *looks) Refresh(ctx context.Context, s session.Scope, p func(done, total int)) (session.Coverage, error) {
	l.n++
	return l.Refresher.Refresh(ctx, s, p)
}

func TestAsIndexedNeverLooksAtTheLogs(t *testing.T) {
	m := newMemory(t)
	for _, id := range []string{"a", "b", "c"} {
		m.put(header(id, "/w"), "zephyr one", "zephyr two")
	}
	disk := m.Corpus
	counted := &looks{Refresher: m.set}
	disk.Refresher = counted
	e := engine(t, query.Config{Disk: disk})
	req := query.SessionSearch{Query: "zephyr", Sessions: workspaces("/w"), Limit: 2}
	want, err := e.SearchSessions(t.Context(), req)
	if err != nil || counted.n != 1 {
		t.Fatalf("%d looks, %v", counted.n, err)
	}
	still := e.AsIndexed()
	got, err := still.SearchSessions(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if d := gocmp.Diff(ids(want), ids(got)); d != "" {
		t.Error(d)
	}
	found, err := still.Find(t.Context(), session.Key{ID: "a"}, nil)
	if err != nil || len(found) != 1 {
		t.Fatalf("%v, %v", found, err)
	}
	if w, err := still.Read(t.Context(), found[0], false, 1, 1, 0); err != nil || w.Entry.Text != "zephyr two" {
		t.Errorf("%+v, %v", w, err)
	}
	if _, err := still.Lineage(t.Context(), found[0], nil, func(session.Header) bool { return true }); err != nil {
		t.Error(err)
	}
	if counted.n != 1 {
		t.Errorf("%d looks at the logs", counted.n)
	}
	// A page begun by one goes on in the other.
	req.Cursor = want.Next
	if page, err := still.SearchSessions(t.Context(), req); err != nil || len(page.Hits) != 1 {
		t.Errorf("%v, %v", ids(page), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := still.SearchSessions(ctx, query.SessionSearch{Query: "zephyr", Sessions: workspaces("/w"), Limit: 2}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestAsIndexedKeepsTheFailureOfTheDisk(t *testing.T) {
	e := engine(t, query.Config{DiskErr: fault.IndexFailed}).AsIndexed()
	if _, err := e.SearchSessions(t.Context(), query.SessionSearch{Query: "x", Sessions: workspaces("/w"), Limit: 1}); !errors.Is(err, fault.IndexFailed) {
		t.Error(err)
	}
}
