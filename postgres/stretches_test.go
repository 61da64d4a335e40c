package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/postgres"
	"github.com/yorehq/yore/postgres/postgrestest"
	"github.com/yorehq/yore/session"
)

// growing is a session whose context is compacted now and then, with results
// replaced and a rewind every few events: as long-lived agents log.
type growing struct {
	fold session.Fold
}

// next makes the next event. What it refers to lies at the end of the list, and a
// compaction keeps the first event.
func (g *growing) next() session.Event {
	const context = 100
	e := session.Event{
		Seq: g.fold.Next(), Type: session.UserMessage, Time: 1_700_000_000_000 + g.fold.Next(), Op: session.Op{Kind: session.OpAppend},
		Body: session.Body{Speaker: session.Human, Blocks: []session.Block{{Text: fmt.Sprintf("word%d of many", g.fold.Next())}}},
	}
	list := slices.Clone(g.fold.Surface())
	switch n := len(list); {
	case n >= context:
		e.Sources, e.Op = list[1:], session.Op{Kind: session.OpReplace, Start: list[1], End: list[n-1]}
	case e.Seq%43 == 6 && n > 10:
		e.Sources, e.Op = list[n-5:n-2], session.Op{Kind: session.OpReplace, Start: list[n-5], End: list[n-3]}
	case e.Seq%61 == 30 && n > 10:
		e.Type, e.Op = "x/rewind", session.Op{Kind: session.OpSelect, Keep: list[n-4], Nodes: []int64{list[n-1], list[n-3]}}
	}
	return e
}

// send sends the next events as one stretch.
func (g *growing) send(t *testing.T, tenant *postgres.Tenant, events int) {
	t.Helper()
	from := g.fold.Next()
	var all []session.Event
	for range events {
		e := g.next()
		if _, err := g.fold.Apply(&e); err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	received := ingest.Received{Source: "far/s", Header: session.Header{Agent: session.DSH, ID: "s", Cwd: "/w"}, Mapping: "m", From: from}
	_, _, err := tenant.Apply(t.Context(), "/w", fmt.Sprint("from ", from), func(w *postgres.Writer) error {
		num, _, err := ingest.Receive(t.Context(), w, received, func(add func(session.Event) error) error {
			for _, e := range all {
				if err := add(e); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		var kept []postgres.Event
		for _, e := range all {
			kept = append(kept, postgres.Event{Raw: session.Raw{Event: e, Native: fmt.Appendf(nil, "%d", e.Seq)}, Span: 1})
		}
		return w.Keep(t.Context(), num, kept)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestSmallStretches sends a long session a few events at a time: how much of it a stretch
// has the database read does not grow with what was sent before. The first phase is
// before there are statistics and says nothing.
func TestSmallStretches(t *testing.T) {
	const phase, events = 60, 10
	dsn := postgrestest.Shared(t).Database(t)
	g := &growing{}
	var reads [4]int64 // rows of documents and bytes that each phase read, by an index or not
	before := int64(0)
	for i := range reads {
		db, err := postgres.Open(t.Context(), postgres.Options{DSN: dsn})
		if err != nil {
			t.Fatal(err)
		}
		for range phase {
			g.send(t, db.Tenant("acme"), events)
		}
		db.Close() // whose processes then tell what they have read
		sum := rowsRead(t, dsn)
		reads[i], before = sum-before, sum
		// As PostgreSQL does by itself within a minute. Until then small tables are read as a whole.
		if _, err := connect(t, dsn).Exec(t.Context(), `ANALYZE`); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("rows read for %d stretches of %d events: %d", phase, events, reads)
	if last := reads[len(reads)-1]; last > reads[1]+reads[1]/4 || last > phase*200 {
		t.Errorf("stretches cost more and more: %d rows for each %d of them", reads, phase)
	}

	// And what was stored is right.
	db, err := postgres.Open(t.Context(), postgres.Options{DSN: dsn})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tenant := db.Tenant("acme")
	view, err := tenant.Snapshot(t.Context(), "/w")
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	list, err := view.Log(1).Surface(t.Context())
	if want := g.fold.Surface(); err != nil || fmt.Sprint(list) != fmt.Sprint(want) {
		t.Errorf("the surface is\n%v, %v, want\n%v", list, err, want)
	}
	for _, seq := range []int64{0, 9, 10, 1000, g.fold.Next() - 1} {
		var got []string
		_, err := tenant.Window(t.Context(), "far/s", session.Checkpoint{}, seq, seq, session.Every(), func(r session.Raw) error {
			got = append(got, string(r.Native))
			return nil
		})
		if want := fmt.Sprint([]string{fmt.Sprint(seq)}); err != nil || fmt.Sprint(got) != want {
			t.Errorf("event %d is kept as %v, %v", seq, got, err)
		}
	}
	stopped := errors.New("on purpose")
	if _, _, err := tenant.Apply(t.Context(), "/w", "x", func(w *postgres.Writer) error {
		err := w.Keep(t.Context(), 1, []postgres.Event{{Raw: session.Raw{Event: session.Event{Seq: g.fold.Next() + 1}}, Span: 1}})
		if err == nil {
			t.Error("an event was kept that does not follow")
		}
		return stopped
	}); !errors.Is(err, stopped) {
		t.Error(err)
	}
}

// rowsRead is how many rows of documents and of their bytes have been read in a
// database so far.
func rowsRead(t *testing.T, dsn string) (sum int64) {
	t.Helper()
	c := connect(t, dsn)
	defer c.Close(context.Background())
	err := c.QueryRow(t.Context(), `SELECT sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::bigint FROM pg_stat_user_tables WHERE schemaname = 'yore' AND (relname LIKE 'document%' OR relname LIKE 'chunk%')`).Scan(&sum)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}
