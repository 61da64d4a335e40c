// Package readertest holds what every reader.Reader must satisfy, as tests that
// a reader's own package calls with sample logs: resumption, stable numbers,
// revisions, windows, cancellation, extremes and bounded memory.
//
// It knows no format: it copies a sample root, cuts, grows and rewrites the
// primary files as bytes, and compares what the reader makes of them. Start at
// Run.
package readertest

import (
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

// Run checks a reader with every sound session below the roots. Sessions that
// the reader refuses are left out; at least one must be sound. A session's
// primary file must be one that its agent only appends to.
func Run(t *testing.T, r reader.Reader, roots ...string) {
	t.Helper()
	sound := 0
	var files []reader.Source
	for _, root := range roots {
		for _, src := range Discover(t, r, root) {
			if _, _, err := ReadFrom(r, src, reader.Position{}); err != nil {
				continue
			}
			sound++
			file, part := reader.SplitPart(src.Path)
			if part == "" {
				files = append(files, src)
			}
			rel, _ := filepath.Rel(root, file)
			t.Run(filepath.Base(root)+"/"+filepath.ToSlash(filepath.Dir(rel))+"/"+part, func(t *testing.T) {
				t.Run("grow", func(t *testing.T) { Grow(t, r, src) })
				t.Run("cut", func(t *testing.T) { Cut(t, r, src) })
				t.Run("stop", func(t *testing.T) { Stop(t, r, src) })
				t.Run("revise", func(t *testing.T) { Revise(t, r, src) })
				t.Run("window", func(t *testing.T) { Window(t, r, src) })
				t.Run("cancel", func(t *testing.T) { Cancel(t, r, src) })
				if part == "" {
					t.Run("divide", func(t *testing.T) { Divide(t, r, src) })
				}
			})
		}
	}
	if sound == 0 {
		t.Fatal("no sound session below the roots")
	}
	if src, ok := largest(files); ok {
		t.Run("extremes", func(t *testing.T) { Extremes(t, r, src) })
	}
}

// Discover finds the sessions below a root as ingest does: by classification,
// then by header, and parts of files by what reading these has found. Nothing is
// said of where the parts end.
func Discover(t testing.TB, r reader.Reader, root string) []reader.Source {
	t.Helper()
	var found []reader.Source
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		switch kind := r.Classify(filepath.ToSlash(rel), entry.IsDir()); {
		case entry.IsDir() && kind == reader.Ignore:
			return fs.SkipDir
		case kind != reader.File:
			return nil
		}
		header, err := r.Identify(context.Background(), root, path)
		if err != nil {
			return nil // doctor's business
		}
		src := reader.Source{Agent: r.Agent(), Root: root, Path: path, Header: header}
		found = append(found, src)
		for _, part := range Parts(t, r, src) {
			part.End = 0
			found = append(found, part)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// Parts reads a file's own session and returns the parts that this found.
func Parts(t testing.TB, r reader.Reader, src reader.Source) []reader.Source {
	t.Helper()
	d, ok := r.(reader.Divider)
	if !ok {
		return nil
	}
	_, tail, err := ReadFrom(r, src, reader.Position{})
	if err != nil {
		return nil
	}
	return d.Parts(src, tail.Position.State)
}

// ReadFrom reads a source from a position and collects the events, without what
// they offer for windows: that may depend on where a reading began.
func ReadFrom(r reader.Reader, src reader.Source, at reader.Position) ([]session.Event, reader.Tail, error) {
	var events []session.Event
	tail, err := r.Read(context.Background(), src, at, func(e session.Event) error {
		e.Resume, e.Breaks = "", false
		events = append(events, e)
		return nil
	})
	return events, tail, err
}

// Checkpoints reads a source and returns the checkpoints with states that it
// offers, as a store gives them back for a seq.
func Checkpoints(t testing.TB, r reader.Reader, src reader.Source) func(seq int64) session.Checkpoint {
	t.Helper()
	var all []session.Checkpoint
	var breaks []int64
	_, err := r.Read(context.Background(), src, reader.Position{}, func(e session.Event) error {
		if e.Resume != "" {
			all = append(all, session.Checkpoint{Seq: e.Seq, Place: e.Place, State: e.Resume})
		}
		if e.Breaks {
			breaks = append(breaks, e.Seq)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return func(seq int64) (at session.Checkpoint) {
		for _, c := range all {
			if c.Seq <= seq {
				at = c
			}
		}
		for _, b := range breaks {
			if at.State != "" && b >= at.Seq {
				at.Until = b
				break
			}
		}
		return at
	}
}

// copyOf copies the folder of a source, so that its file can be changed.
func copyOf(t *testing.T, src reader.Source) (reader.Source, []byte) {
	t.Helper()
	root := t.TempDir()
	file, part := reader.SplitPart(src.Path)
	rel, err := filepath.Rel(src.Root, filepath.Dir(file))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(root, rel)
	if err := os.CopyFS(dir, os.DirFS(filepath.Dir(file))); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	src.Root, src.Path = root, filepath.Join(dir, filepath.Base(file))
	if part != "" {
		src.Path = reader.PartPath(src.Path, part)
	}
	return src, content
}

func mustRead(t *testing.T, r reader.Reader, src reader.Source, at reader.Position) ([]session.Event, reader.Tail) {
	t.Helper()
	events, tail, err := ReadFrom(r, src, at)
	if err != nil {
		t.Fatal(err)
	}
	checkSequence(t, events, at.Next, tail.Position.Next)
	return events, tail
}

// checkSequence checks that events are numbered without gaps.
func checkSequence(t *testing.T, events []session.Event, from, to int64) {
	t.Helper()
	for i := range events {
		if events[i].Seq != from {
			t.Fatalf("event %d has seq %d", from, events[i].Seq)
		}
		from += events[i].Len()
	}
	if from != to {
		t.Fatalf("the position says that %d is next, the events say %d", to, from)
	}
}

// cuts returns ascending lengths of a prefix: all of them for a small file, else
// a random choice.
func cuts(size, most int) []int {
	var list []int
	random := rand.New(rand.NewPCG(1, uint64(size)))
	chance := float64(most) / float64(size+1)
	for n := range size {
		if size <= most || random.Float64() < chance {
			list = append(list, n)
		}
	}
	return append(list, size)
}

// Grow lets a file grow from nothing in many steps and checks that reading on at
// each of them gives what reading at once gives, closing records included, and
// that nothing is read twice.
func Grow(t *testing.T, r reader.Reader, src reader.Source) {
	want, wantTail := mustRead(t, r, src, reader.Position{})
	src, content := copyOf(t, src)
	var at reader.Position
	var got []session.Event
	var last reader.Tail
	for _, n := range cuts(len(content), 16) {
		write(t, src.Path, content[:n])
		if at.Offset > 0 {
			revision, stamp, err := r.Revise(context.Background(), src, at)
			if err != nil || revision != reader.Grown || stamp.Size != int64(n) {
				t.Fatalf("at %d bytes: revision %d of %d bytes, %v", n, revision, stamp.Size, err)
			}
		}
		events, tail, err := ReadFrom(r, src, at)
		if errors.Is(err, reader.ErrPending) && at.Offset == 0 {
			continue
		}
		if err != nil {
			t.Fatalf("at %d bytes: %v", n, err)
		}
		if tail.Position.Next < at.Next || tail.Position.Offset < at.Offset {
			t.Fatalf("at %d bytes: the position went back from %+v to %+v", n, at, tail.Position)
		}
		if most := int64(n) - at.Offset; tail.Bytes > most {
			t.Fatalf("at %d bytes: %d bytes were parsed, %d are new", n, tail.Bytes, most)
		}
		checkSequence(t, events, at.Next, tail.Position.Next)
		got, at, last = append(got, events...), tail.Position, tail
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("read in pieces (-at once +in pieces):\n%s", diff)
	}
	if diff := cmp.Diff(wantTail.Closers, last.Closers); diff != "" {
		t.Errorf("closing records (-at once +in pieces):\n%s", diff)
	}
}

// Cut checks that a file cut anywhere still gives the events before the cut, with
// the same numbers, and closing records that follow them.
func Cut(t *testing.T, r reader.Reader, src reader.Source) {
	want, _ := mustRead(t, r, src, reader.Position{})
	src, content := copyOf(t, src)
	for _, n := range cuts(len(content), 16) {
		write(t, src.Path, content[:n])
		got, tail, err := ReadFrom(r, src, reader.Position{})
		if errors.Is(err, reader.ErrPending) {
			continue
		}
		if err != nil {
			t.Fatalf("cut at %d: %v", n, err)
		}
		if len(got) > len(want) {
			t.Fatalf("cut at %d: %d events of %d", n, len(got), len(want))
		}
		if diff := cmp.Diff(want[:len(got)], got, cmp.Transformer("list", func(e []session.Event) []session.Event {
			return append([]session.Event{}, e...)
		})); len(got) > 0 && diff != "" {
			t.Fatalf("cut at %d (-whole +cut):\n%s", n, diff)
		}
		for i, c := range tail.Closers {
			if c.Seq != tail.Position.Next+int64(i) || !c.Provisional {
				t.Fatalf("cut at %d: closing record %d is %+v", n, i, c)
			}
		}
	}
}

func write(t *testing.T, path string, content []byte) {
	t.Helper()
	path = reader.FileOf(path)
	// In place: an agent that appends keeps the file's identity.
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Write(content)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}
