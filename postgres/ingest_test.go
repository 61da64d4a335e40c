package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/postgres"
	"github.com/yorehq/yore/postgres/postgrestest"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// TestBatchesAreAppliedOnce: a known batch is answered with its generation, and
// its work does not run again; one that failed leaves nothing.
func TestBatchesAreAppliedOnce(t *testing.T) {
	db := postgrestest.Open(t, postgres.Options{})
	tenant := db.Tenant("acme").As("ann")
	num := say(t, tenant, "/w", "one")
	runs := 0
	apply := func(batch string, seq int64, fail error) (uint64, bool, error) {
		return tenant.Apply(t.Context(), "/w", batch, func(w *postgres.Writer) error {
			runs++
			if err := w.Append(t.Context(), num, &ingest.Batch{Entries: []ingest.Entry{entry(seq, "word")}}); err != nil {
				return err
			}
			return fail
		})
	}
	onPurpose := errors.New("on purpose")
	if _, _, err := apply("a", 0, onPurpose); !errors.Is(err, onPurpose) {
		t.Errorf("work that failed: %v", err)
	}
	first, again, err := apply("a", 0, nil)
	if err != nil || again {
		t.Fatalf("the first time: %v, %v", again, err)
	}
	if n := found(t, tenant, "/w", "word"); n != 1 {
		t.Errorf("%d documents right behind the answer", n)
	}
	if view, err := tenant.Snapshot(t.Context(), "/w"); err != nil || view.Generation() != first {
		t.Errorf("the answer says generation %d, a look another one, %v", first, err)
	} else {
		view.Close()
	}
	second, _, err := apply("b", 1, nil)
	if err != nil || second <= first {
		t.Errorf("generation %d behind %d, %v", second, first, err)
	}
	if same, again, err := apply("a", 2, nil); same != first || !again || err != nil {
		t.Errorf("the same batch: generation %d, again %v, %v; want %d", same, again, err, first)
	}
	if n := found(t, tenant, "/w", "word"); runs != 3 || n != 2 {
		t.Errorf("work ran %d times, and there are %d documents", runs, n)
	}
	err = tenant.Write(t.Context(), "/w", func(w ingest.Writer) error {
		who, err := w.(*postgres.Writer).PersonOf(t.Context(), session.Key{Agent: session.DSH, ID: "one"})
		if who != "ann" {
			t.Errorf("the session is %q's", who)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	for _, id := range []string{"", string(make([]byte, 257))} {
		if _, _, err := apply(id, 3, nil); err == nil {
			t.Errorf("a batch id of %d bytes was taken", len(id))
		}
	}
}

// TestTwoWriters send to one workspace through two servers, some batches twice:
// each is there once, in order, and nobody reads half of one.
func TestTwoWriters(t *testing.T) {
	dsn := postgrestest.Shared(t).Database(t)
	const writers, batches = 3, 15
	var wait sync.WaitGroup
	failed := make(chan error, 2*writers)
	stop := make(chan struct{})
	var reading sync.WaitGroup
	reading.Go(func() {
		db, err := postgres.Open(t.Context(), postgres.Options{DSN: dsn})
		if err != nil {
			failed <- err
			return
		}
		defer db.Close()
		last := uint64(0)
		for {
			select {
			case <-stop:
				return
			default:
			}
			view, err := db.Tenant("acme").Snapshot(t.Context(), "/w")
			if err != nil || view == nil {
				if err != nil {
					failed <- err
				}
				continue
			}
			pairs, err := query.Collect(t.Context(), view, []string{"pair"}, nil)
			if err != nil || len(pairs)%2 != 0 || view.Generation() < last {
				failed <- fmt.Errorf("a look found %d documents at generation %d behind %d: %w", len(pairs), view.Generation(), last, err)
			}
			last = view.Generation()
			view.Close()
		}
	})
	for n := range writers {
		wait.Go(func() {
			db, err := postgres.Open(t.Context(), postgres.Options{DSN: dsn, LockWait: time.Minute})
			if err != nil {
				failed <- err
				return
			}
			defer db.Close()
			tenant := db.Tenant("acme")
			num := int64(0)
			for i := range 2 * batches { // each batch twice
				_, _, err := tenant.Apply(t.Context(), "/w", fmt.Sprint(n, i/2), func(w *postgres.Writer) error {
					if num == 0 {
						st := ingest.Stored{Source: fmt.Sprint(n), Header: session.Header{Agent: session.DSH, ID: session.ID(fmt.Sprint(n)), Cwd: "/w"}, LastStep: -1}
						if err := w.Put(t.Context(), &st); err != nil {
							return err
						}
						num = st.Num
					}
					at := int64(i)
					return w.Append(t.Context(), num, &ingest.Batch{Entries: []ingest.Entry{entry(at, "pair one"), entry(at+1, "pair two")}})
				})
				if err != nil {
					failed <- err
				}
			}
		})
	}
	wait.Wait()
	close(stop)
	reading.Wait()
	close(failed)
	for err := range failed {
		t.Error(err)
	}
	db, err := postgres.Open(t.Context(), postgres.Options{DSN: dsn})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if n := found(t, db.Tenant("acme"), "/w", "pair"); n != 2*writers*batches {
		t.Errorf("%d documents, want %d", n, 2*writers*batches)
	}
}

// TestBusyWorkspace: who does not get the lock says so, and other workspaces go on.
func TestBusyWorkspace(t *testing.T) {
	db := postgrestest.Open(t, postgres.Options{LockWait: 50 * time.Millisecond})
	tenant := db.Tenant("acme")
	say(t, tenant, "/w", "one", "word")
	err := tenant.Write(t.Context(), "/w", func(ingest.Writer) error {
		err := tenant.Write(t.Context(), "/w", func(ingest.Writer) error { return nil })
		if !errors.Is(err, ingest.ErrBusy) {
			t.Errorf("a second writer: %v", err)
		}
		say(t, tenant, "/other", "one", "word")
		if n := found(t, tenant, "/w", "word"); n != 1 {
			t.Errorf("a reader beside the writer finds %d", n)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		if err := tenant.Write(ctx, "/w", func(ingest.Writer) error { return nil }); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a deadline in the queue: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestManyViews opens more views than may keep a connection: the others answer as
// long as nothing changes, and say so when it does.
func TestManyViews(t *testing.T) {
	db := postgrestest.Open(t, postgres.Options{MaxConns: 4})
	tenant := db.Tenant("acme")
	say(t, tenant, "/w", "one", "word")
	var views []query.Snapshot
	for range 10 {
		view, err := tenant.Snapshot(t.Context(), "/w")
		if err != nil {
			t.Fatal(err)
		}
		defer view.Close()
		views = append(views, view)
	}
	look := func() (moved int) {
		for i, v := range views {
			text, err := v.Text(t.Context(), query.NewDocID(1, 0))
			switch {
			case errors.Is(err, query.ErrMoved):
				moved++
			case err != nil || text != "word":
				t.Errorf("view %d: %q, %v", i, text, err)
			}
		}
		return moved
	}
	if n := look(); n != 0 {
		t.Errorf("%d views have moved although nothing changed", n)
	}
	say(t, tenant, "/w", "two", "word")
	if n := look(); n != 8 {
		t.Errorf("%d views have moved, want those 8 of 10 that keep no connection", n)
	}
}

// TestExactBytes keeps runs and long events and gives back what was kept, whatever
// the borders; provisional ones go with Withdraw.
func TestExactBytes(t *testing.T) {
	db := postgrestest.Open(t, postgres.Options{})
	tenant := db.Tenant("acme")
	num := say(t, tenant, "/w", "one")
	var all []postgres.Event
	big := make([]byte, 300_000)
	for i := range big {
		big[i] = byte('a' + i*i%23)
	}
	for seq := int64(0); seq < 60; seq++ {
		e := postgres.Event{Span: 1, Raw: session.Raw{
			Event:  session.Event{Seq: seq, Type: session.UserMessage, Time: 1000 + seq, NativeID: fmt.Sprint("n", seq), Op: session.Op{Kind: session.OpAppend}},
			Native: fmt.Appendf(nil, `{"seq":%d, "odd":"\u00e9"}`, seq),
		}}
		switch {
		case seq == 7:
			e.Native = []byte("\xff\x00 no text")
		case seq == 20 || seq == 21:
			e.Native = big
		case seq >= 30 && seq < 40: // a run of ten
			e.Event = session.Event{Seq: seq, Type: session.AssistantChunk, Time: 1000 + seq}
			if seq == 30 {
				e.Span = 10
			}
		}
		all = append(all, e)
	}
	keep := func(events []postgres.Event) error {
		return tenant.Write(t.Context(), "/w", func(w ingest.Writer) error { return w.(*postgres.Writer).Keep(t.Context(), num, events) })
	}
	if err := keep(all[:25]); err != nil {
		t.Fatal(err)
	}
	for _, wrong := range [][]postgres.Event{all[26:28], all[24:26], {all[25], all[27]}, all[25:35]} {
		if err := keep(wrong); err == nil {
			t.Errorf("events from %d to %d were kept behind 24", wrong[0].Event.Seq, wrong[len(wrong)-1].Event.Seq)
		}
	}
	if err := keep(all[25:]); err != nil {
		t.Fatal(err)
	}
	closer := postgres.Event{Span: 1, Raw: session.Raw{Event: session.Event{Seq: 60, Type: session.TurnEnd, Provisional: true}, Native: []byte("{}")}}
	if err := keep([]postgres.Event{closer}); err != nil {
		t.Fatal(err)
	}
	window := func(from, to int64, natives session.Range) (got []session.Raw) {
		t.Helper()
		h, err := tenant.Window(t.Context(), "/logs//wone", session.Checkpoint{}, from, to, natives, func(r session.Raw) error {
			got = append(got, r)
			return nil
		})
		if err != nil || h.ID != "one" {
			t.Fatalf("%v, %v", h, err)
		}
		return got
	}
	for _, r := range [][2]int64{{0, 99}, {0, 0}, {7, 7}, {19, 22}, {24, 26}, {33, 36}, {29, 41}, {59, 60}, {61, 70}} {
		got := window(r[0], r[1], session.Every())
		want := max(0, min(r[1], 60)-r[0]+1)
		if int64(len(got)) != want {
			t.Errorf("%v: %d events, want %d", r, len(got), want)
		}
		for i, raw := range got {
			seq := r[0] + int64(i)
			expect := closer.Raw
			if seq < 60 {
				expect = all[seq].Raw
			}
			raw.Event.Place, raw.Event.Span, expect.Event.Span = session.Place{}, 0, 0
			if diff := cmp.Diff(expect, raw); diff != "" {
				t.Fatalf("event %d (-kept +read):\n%s", seq, diff)
			}
		}
	}
	for _, raw := range window(5, 9, session.One(7)) {
		if (raw.Native != nil) != (raw.Event.Seq == 7) {
			t.Errorf("event %d has bytes: %v", raw.Event.Seq, raw.Native != nil)
		}
	}
	if err := tenant.Write(t.Context(), "/w", func(w ingest.Writer) error { return w.Withdraw(t.Context(), num) }); err != nil {
		t.Fatal(err)
	}
	if got := window(58, 99, session.Every()); len(got) != 2 {
		t.Errorf("%d events behind Withdraw", len(got))
	}
	if _, err := tenant.Window(t.Context(), "/logs//none", session.Checkpoint{}, 0, 1, session.Every(), func(session.Raw) error { return nil }); err == nil {
		t.Error("a source that is not there was read")
	}
}
