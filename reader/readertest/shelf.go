package readertest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

// Patched returns a copy of a file with single bytes of it exchanged: each four
// bytes of a patch are an offset, modulo the file's length, and the byte to be
// there. A fuzzing engine reaches every corner of a large file with small inputs.
func Patched(file, patch []byte) []byte {
	file = append([]byte{}, file...)
	for ; len(patch) >= 4; patch = patch[4:] {
		at := int(binary.BigEndian.Uint32(patch) >> 8)
		file[at%len(file)] = patch[3]
	}
	return file
}

// Shelf lists a shelf that may hold anything, and reads what it lists: all of it
// must end soon; what is given must make sense, be the same in two pieces and the
// same number of events in a window; and a failure must be one with a meaning. It
// returns how many sessions were read.
func Shelf(t testing.TB, r reader.Reader, root, path string) (read int) {
	t.Helper()
	start := time.Now()
	ctx := t.Context()
	var found []reader.Source
	names := map[string]bool{}
	err := r.(reader.Shelver).List(ctx, root, path, func(l reader.Listed) error {
		if names[l.Name] {
			t.Errorf("%q is listed twice", l.Name)
		}
		names[l.Name] = true
		if l.Problem == nil && len(found) < 4 {
			found = append(found, reader.Source{Agent: r.Agent(), Root: root, Path: reader.PartPath(path, l.Name), Header: l.Header})
		}
		return nil
	})
	if !errors.Is(err, reader.ErrNoShelf) {
		meant(t, "the list", err)
	}
	for _, src := range found {
		_, err := r.Identify(ctx, root, src.Path)
		meant(t, src.Path, err)
		all, tail, err := ReadFrom(r, src, reader.Position{})
		meant(t, src.Path, err)
		if err != nil {
			continue
		}
		read++
		checkShelved(ctx, t, r, src, all, tail)
	}
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
	return read
}

func checkShelved(ctx context.Context, t testing.TB, r reader.Reader, src reader.Source, all []session.Event, tail reader.Tail) {
	t.Helper()
	var fold session.Fold
	next := int64(0)
	for i := range all {
		if all[i].Seq != next {
			t.Fatalf("event %d has the number %d", next, all[i].Seq)
		}
		next += all[i].Len()
		if _, err := fold.Apply(&all[i]); err != nil {
			t.Fatalf("event %d: %v", all[i].Seq, err)
		}
	}
	if tail.Position.Next != next {
		t.Fatalf("%d events, the next is said to be %d", next, tail.Position.Next)
	}
	// A look may meet damage in a page that reading did not need.
	if got, _, err := r.Revise(ctx, src, tail.Position); err != nil {
		meant(t, src.Path, err)
	} else if got != reader.Unchanged {
		t.Errorf("read to its end, it is a revision %d", got)
	}
	last := min(next, 5000) - 1
	seen := int64(0)
	_, err := r.Window(ctx, src, session.Checkpoint{}, 0, last, session.Every(), func(raw session.Raw) error {
		if raw.Event.Seq != seen {
			return fmt.Errorf("%d stands at %d", raw.Event.Seq, seen)
		}
		seen++
		return nil
	})
	if err != nil || seen != last+1 {
		t.Errorf("%d of %d events in a window: %v", seen, last+1, err)
	}
	if stop := len(all) / 2; stop > 0 {
		half, rest := stop, reader.Position{}
		tail, err := r.Read(ctx, src, rest, func(session.Event) error {
			if half--; half < 0 {
				return reader.ErrStop
			}
			return nil
		})
		if err == nil {
			rest = tail.Position
			_, tail, err = ReadFrom(r, src, rest)
		}
		if err != nil || tail.Position.Next != next {
			t.Errorf("stopped behind %d events and read on, it ends at %d of %d: %v", stop, tail.Position.Next, next, err)
		}
	}
}

// meant fails for a failure that nobody would know what to make of. A file that
// nobody writes to gives no reason to try again.
func meant(t testing.TB, what string, err error) {
	t.Helper()
	if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, reader.ErrPending) {
		return
	}
	if _, ok := fault.Of(err); !ok || errors.Is(err, reader.ErrRetry) {
		t.Errorf("%s: %v", what, err)
	}
}

// ShelfExtremes puts other things in the place of a shelf, of what its agent keeps
// beside it, and behind its end: all of it must end soon and cost bounded memory,
// and what is no database any more must not count as unchanged.
func ShelfExtremes(t *testing.T, r reader.Reader, root, path string) {
	t.Helper()
	sound, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var found []reader.Source
	list := func(ctx context.Context) error {
		found = nil
		return r.(reader.Shelver).List(ctx, root, path, func(l reader.Listed) error {
			if l.Problem == nil {
				found = append(found, reader.Source{Agent: r.Agent(), Root: root, Path: reader.PartPath(path, l.Name), Header: l.Header})
			}
			return nil
		})
	}
	if err := list(t.Context()); err != nil || len(found) == 0 {
		t.Fatalf("%d sessions of the sound one: %v", len(found), err)
	}
	src := found[0]
	want, tail := mustRead(t, r, src, reader.Position{})
	reads := func(ctx context.Context) (events []session.Event, err error) {
		if _, err := r.Identify(ctx, root, src.Path); err != nil {
			return nil, err
		}
		_, err = r.Read(ctx, src, reader.Position{}, func(e session.Event) error { events = append(events, e); return nil })
		return events, err
	}
	restore := func() {
		t.Helper()
		if err := errors.Join(os.RemoveAll(path), os.WriteFile(path, sound, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	others := append(slices.Clone(strange), struct {
		name string
		make func(path string) error
	}{"a dangling link", func(path string) error { return os.Symlink(filepath.Join(root, "nowhere"), path) }})

	for _, s := range others {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := s.make(path); err != nil {
			t.Logf("%s cannot be made here: %v", s.name, err)
			restore()
			continue
		}
		_ = soon(t, s.name+" in its place", room, func(ctx context.Context) error {
			if err := list(ctx); err == nil {
				t.Errorf("%s is listed, with %d sessions", s.name, len(found))
			} else if !errors.Is(err, reader.ErrNoShelf) {
				meant(t, s.name, plain(err))
			}
			if _, err := reads(ctx); err == nil {
				t.Errorf("%s is read", s.name)
			}
			if got, _, err := r.Revise(ctx, src, tail.Position); err == nil && (got == reader.Unchanged || got == reader.Grown) {
				t.Errorf("%s is a revision %d", s.name, got)
			}
			_, _ = r.(reader.Shelver).ShelfStamp(path)
			return nil
		})
		restore()
	}

	// Beside it, where SQLite keeps its log and its journal: what is no plain file is
	// as good as none, or a failure.
	for _, suffix := range []string{"-wal", "-journal", "-shm"} {
		for _, s := range others {
			beside := path + suffix
			if os.RemoveAll(beside) != nil || s.make(beside) != nil {
				continue
			}
			_ = soon(t, s.name+" as its "+suffix, room, func(ctx context.Context) error {
				if events, err := reads(ctx); err == nil && len(events) != len(want) {
					t.Errorf("%s as its %s: %d events of %d", s.name, suffix, len(events), len(want))
				}
				return nil
			})
			if err := os.RemoveAll(beside); err != nil {
				t.Fatal(err)
			}
		}
	}

	// A hole behind its end, as large as a disk's fault may leave it: a page count
	// that the head does not state is none.
	if err := os.Truncate(path, int64(len(sound))+*hole*8); err != nil {
		t.Fatal(err)
	}
	_ = soon(t, "a hole behind it", room, func(ctx context.Context) error {
		if events, err := reads(ctx); err != nil || len(events) != len(want) {
			t.Errorf("a hole behind it: %d events of %d, %v", len(events), len(want), err)
		}
		return nil
	})
	// And one instead of it.
	if err := errors.Join(os.Truncate(path, 0), os.Truncate(path, *hole*8)); err != nil {
		t.Fatal(err)
	}
	_ = soon(t, "a hole in its place", room, func(ctx context.Context) error {
		if err := list(ctx); err == nil {
			t.Error("a hole is listed")
		}
		return nil
	})
	restore()
	if events, err := reads(t.Context()); err != nil || len(events) != len(want) {
		t.Errorf("restored, it has %d events of %d, %v", len(events), len(want), err)
	}
}

// plain takes what the system says of a file that is none for a failure with a
// meaning: ingest names it.
func plain(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) || strings.Contains(err.Error(), "no plain file") {
		return nil
	}
	return err
}
