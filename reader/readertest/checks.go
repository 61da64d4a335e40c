package readertest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

// Revise checks what a reader says of a file that is unchanged, touched, grown
// by nothing it can use, rewritten, shortened, exchanged and removed.
func Revise(t *testing.T, r reader.Reader, src reader.Source) {
	src, content := copyOf(t, src)
	_, tail := mustRead(t, r, src, reader.Position{})
	at := tail.Position
	expect := func(what string, want reader.Revision) {
		t.Helper()
		got, _, err := r.Revise(context.Background(), src, at)
		if err != nil || got != want {
			t.Errorf("%s: revision %d, %v; want %d", what, got, err, want)
		}
	}
	expect("unchanged", reader.Unchanged)

	// Other bytes behind an equal stamp: only a reader that reads would notice.
	changed := append([]byte(nil), content...)
	changed[0] ^= 1
	write(t, src.Path, changed)
	touch(t, src.Path, time.Unix(0, at.Stamp.ModTime))
	expect("an equal stamp", reader.Unchanged)

	touch(t, src.Path, time.Unix(0, at.Stamp.ModTime).Add(time.Minute))
	expect("rewritten at its head", reader.Replaced)

	write(t, src.Path, content)
	touch(t, src.Path, time.Unix(0, at.Stamp.ModTime).Add(2*time.Minute))
	expect("written again with the same bytes", reader.Grown)

	changed[0] ^= 1
	changed[at.Offset-1] ^= 1
	write(t, src.Path, append(changed, content...))
	expect("rewritten at the position and longer", reader.Replaced)

	write(t, src.Path, content[:at.Offset-1])
	expect("shortened", reader.Replaced)

	file := reader.FileOf(src.Path)
	if err := os.Rename(file, file+".old"); err != nil {
		t.Fatal(err)
	}
	expect("removed", reader.Gone)
	if err := os.WriteFile(file, append(content, content...), 0o600); err != nil {
		t.Fatal(err)
	}
	expect("exchanged", reader.Replaced)
}

func touch(t *testing.T, path string, at time.Time) {
	t.Helper()
	path = reader.FileOf(path)
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
}

// Window checks that windows at random checkpoints hold the events that a read
// gives, runs taken apart, and nothing else, and so do windows at the checkpoints
// that the read offers.
func Window(t *testing.T, r reader.Reader, src reader.Source) {
	events, tail := mustRead(t, r, src, reader.Position{})
	random := rand.New(rand.NewPCG(2, uint64(len(events))))
	checkWindow(t, r, src, events, session.Checkpoint{}, 0, tail.Position.Next+5)
	offered := Checkpoints(t, r, src)
	checkWindow(t, r, src, events, offered(0), 0, tail.Position.Next+5)
	for range 20 {
		if len(events) == 0 {
			return
		}
		i := random.IntN(len(events))
		at := session.Checkpoint{Seq: events[i].Seq, Place: events[i].Place}
		from := at.Seq + random.Int64N(tail.Position.Next-at.Seq)
		checkWindow(t, r, src, events, at, from, from+random.Int64N(6))
		checkWindow(t, r, src, events, offered(from), from, from+random.Int64N(6))
	}
}

func checkWindow(t *testing.T, r reader.Reader, src reader.Source, events []session.Event, at session.Checkpoint, from, to int64) {
	t.Helper()
	got, header := windowOf(t, r, src, at, from, to, session.Every())
	if from%3 == 0 {
		checkNatives(t, r, src, got, at, from, to)
	}
	if header != src.Header {
		t.Errorf("the window states the header %+v, identified was %+v", header, src.Header)
	}
	next := from
	for i := range events {
		e := &events[i]
		for seq := max(e.Seq, from); seq < e.Seq+e.Len() && seq <= to; seq++ {
			if len(got) == 0 {
				t.Fatalf("window %d to %d from %+v ends before %d", from, to, at, seq)
			}
			checkRaw(t, e, seq, got[0])
			got, next = got[1:], seq+1
		}
	}
	if len(got) > 0 {
		t.Errorf("window %d to %d from %+v: %d events more, behind %d", from, to, at, len(got), next)
	}
}

// checkNatives checks that a window gives the same events, and the bytes of those
// alone that are asked for.
func checkNatives(t *testing.T, r reader.Reader, src reader.Source, want []session.Raw, at session.Checkpoint, from, to int64) {
	t.Helper()
	some := session.Range{First: from + 1, End: from + 3}
	partly, _ := windowOf(t, r, src, at, from, to, some)
	if len(partly) != len(want) {
		t.Fatalf("window %d to %d from %+v: %d events with all bytes, %d with some", from, to, at, len(want), len(partly))
	}
	for i, raw := range partly {
		want := want[i]
		if !some.Has(want.Event.Seq) {
			want.Native = nil
		}
		if diff := cmp.Diff(want, raw); diff != "" {
			t.Fatalf("window %d to %d from %+v, the bytes of %+v asked for (-want +got):\n%s", from, to, at, some, diff)
		}
	}
}

func windowOf(t *testing.T, r reader.Reader, src reader.Source, at session.Checkpoint, from, to int64, natives session.Range) ([]session.Raw, session.Header) {
	t.Helper()
	var got []session.Raw
	header, err := r.Window(context.Background(), src, at, from, to, natives, func(raw session.Raw) error {
		got = append(got, raw)
		return nil
	})
	if err != nil {
		t.Fatalf("window %d to %d from %+v: %v", from, to, at, err)
	}
	return got, header
}

func checkRaw(t *testing.T, e *session.Event, seq int64, raw session.Raw) {
	t.Helper()
	want := *e
	if e.Len() > 1 {
		// A member of a run: its time is its own.
		want = session.Event{
			Seq: seq, Type: e.Type, Time: raw.Event.Time, Place: e.Place, Ignorable: e.Ignorable, Reconstructed: e.Reconstructed,
		}
		if seq == e.Seq {
			want.Time = e.Time
		}
	}
	want.Span, raw.Event.Span = 0, 0
	if diff := cmp.Diff(want, raw.Event); diff != "" {
		t.Fatalf("event %d (-read +window):\n%s", seq, diff)
	}
	if len(raw.Native) == 0 {
		t.Fatalf("event %d has no native record", seq)
	}
}

// Stop ends reads early, again and again, and checks that each gives a place to
// go on from, without closing records, and that all pieces together are what
// reading at once gives.
func Stop(t *testing.T, r reader.Reader, src reader.Source) {
	want, whole := mustRead(t, r, src, reader.Position{})
	random := rand.New(rand.NewPCG(3, uint64(len(want))))
	var got []session.Event
	var at reader.Position
	for {
		left := 1 + random.IntN(20)
		asked := false
		tail, err := r.Read(context.Background(), src, at, func(e session.Event) error {
			e.Resume, e.Breaks = "", false // as ReadFrom
			got = append(got, e)
			if left--; left <= 0 {
				asked = true
				return reader.ErrStop
			}
			return nil
		})
		if err != nil {
			t.Fatalf("behind %d events: %v", len(got), err)
		}
		if asked && len(got) < len(want) {
			if tail.Position.Next <= at.Next || len(tail.Closers) > 0 {
				t.Fatalf("behind %d events: next is %d after %d, %d closing records", len(got), tail.Position.Next, at.Next, len(tail.Closers))
			}
		}
		at = tail.Position
		if !asked {
			if diff := cmp.Diff(whole.Closers, tail.Closers); diff != "" {
				t.Errorf("closing records (-at once +in pieces):\n%s", diff)
			}
			break
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("read in pieces (-at once +in pieces):\n%s", diff)
	}
	if at.Next != whole.Position.Next || at.Offset != whole.Position.Offset {
		t.Errorf("the pieces end at %+v, reading at once at %+v", at, whole.Position)
	}
}

// Cancel checks that an ended context stops everything with its own error, and
// that an error of the receiver comes back as it is.
func Cancel(t *testing.T, r reader.Reader, src reader.Source) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	want := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want the context's error", what, err)
		}
	}
	_, err := r.Identify(ended, src.Root, src.Path)
	want("Identify", err)
	_, _, err = r.Revise(ended, src, reader.Position{})
	want("Revise", err)
	_, err = r.Read(ended, src, reader.Position{}, func(session.Event) error { return nil })
	want("Read", err)
	_, err = r.Window(ended, src, session.Checkpoint{}, 0, 1, session.Every(), func(session.Raw) error { return nil })
	want("Window", err)

	events, tail := mustRead(t, r, src, reader.Position{})
	if len(events) > 1 {
		during, cancel := context.WithCancel(context.Background())
		_, err = r.Read(during, src, reader.Position{}, func(session.Event) error { cancel(); return nil })
		want("Read, cancelled by its receiver", err)
		cancel()
	}
	if tail.Position.Next == 0 {
		return
	}
	mine := errors.New("the receiver's own")
	_, err = r.Read(context.Background(), src, reader.Position{}, func(session.Event) error { return mine })
	if err != mine {
		t.Errorf("Read gives %v for the receiver's error", err)
	}
	_, err = r.Window(context.Background(), src, session.Checkpoint{}, 0, 0, session.Every(), func(session.Raw) error { return mine })
	if err != mine {
		t.Errorf("Window gives %v for the receiver's error", err)
	}
}

// Memory reads a source and checks how many bytes were allocated on the way, all
// together. It returns the events for further checks.
func Memory(t *testing.T, r reader.Reader, src reader.Source, most uint64) []session.Event {
	t.Helper()
	var events []session.Event
	bounded(t, "reading", most, func() (err error) {
		events, _, err = ReadFrom(r, src, reader.Position{})
		return err
	})
	return events
}

// WindowMemory is Memory for the window of all events, with the bytes of some.
func WindowMemory(t *testing.T, r reader.Reader, src reader.Source, natives session.Range, most uint64) []session.Raw {
	t.Helper()
	var raws []session.Raw
	bounded(t, fmt.Sprintf("the window with the bytes of %+v", natives), most, func() error {
		_, err := r.Window(context.Background(), src, session.Checkpoint{}, 0, session.MaxSafe, natives, func(raw session.Raw) error {
			raws = append(raws, raw)
			return nil
		})
		return err
	})
	return raws
}

func bounded(t *testing.T, what string, most uint64, work func() error) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	err := work()
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatal(err)
	}
	if spent := after.TotalAlloc - before.TotalAlloc; spent > most {
		t.Errorf("%s took %d bytes, more than %d", what, spent, most)
	}
}
