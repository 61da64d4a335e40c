package readertest

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

// How large the extremes are. What they may cost does not grow with them.
var (
	hole = flag.Int64("hole", 64<<20, "bytes of the holes in sparse logs (3221225472: 3 GB)")
	long = flag.Int("long", 24<<20, "bytes of a long line (209715200: 200 MB)")
)

const (
	// room is what a reading of a small log may allocate whatever stands in it, in
	// bytes: a few times the most that is kept of one line.
	room = 192 << 20

	// patience is how long anything may take on a busy machine.
	patience = 2 * time.Minute
)

// Extremes checks what a reader makes of a session whose files have become
// something else: what is no plain file, a log that changes while it is read,
// holes, values that lie deep in one another, very long lines. All of it must end
// soon and cost bounded memory, and what can be read must be read.
func Extremes(t *testing.T, r reader.Reader, src reader.Source) {
	t.Run("no plain file", func(t *testing.T) { noPlainFile(t, r, src) })
	t.Run("beside it", func(t *testing.T) { besideIt(t, r, src) })
	t.Run("grows below", func(t *testing.T) { growsBelow(t, r, src) })
	t.Run("shrinks below", func(t *testing.T) { shrinksBelow(t, r, src) })
	if testing.Short() {
		return
	}
	t.Run("holes", func(t *testing.T) { holes(t, r, src) })
	content, err := os.ReadFile(reader.FileOf(src.Path))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.HasPrefix(content, []byte("{")) {
		t.Run("deep", func(t *testing.T) { deep(t, r, src) })
		t.Run("long", func(t *testing.T) { longLine(t, r, src) })
	}
}

// largest is the whole file among sources with the most bytes, for Extremes.
func largest(sources []reader.Source) (found reader.Source, ok bool) {
	most := int64(-1)
	for _, src := range sources {
		if info, err := os.Stat(src.Path); err == nil && info.Size() > most {
			found, most, ok = src, info.Size(), true
		}
	}
	return found, ok
}

// wholeCopy copies a source's whole root, with all that its reader may look at.
func wholeCopy(t *testing.T, src reader.Source) reader.Source {
	t.Helper()
	rel, err := filepath.Rel(src.Root, src.Path)
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	if err := os.CopyFS(root, os.DirFS(src.Root)); err != nil {
		t.Fatal(err)
	}
	src.Root, src.Path = root, filepath.Join(root, rel)
	return src
}

// soon fails if work does not end, or allocates more than its room.
func soon(t *testing.T, what string, most uint64, work func(ctx context.Context) error) error {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- work(ctx) }()
	var err error
	select {
	case err = <-done:
	case <-time.After(patience + 10*time.Second):
		t.Fatalf("%s: it does not end", what)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("%s: it took more than %v", what, patience)
	}
	runtime.ReadMemStats(&after)
	if spent := after.TotalAlloc - before.TotalAlloc; spent > most {
		t.Errorf("%s took %d bytes, more than %d", what, spent, most)
	}
	return err
}

// strange puts something in a file's place that is no plain file.
var strange = []struct {
	name string
	make func(path string) error
}{
	{"a pipe", func(path string) error { return exec.Command("mkfifo", path).Run() }},
	{"an endless device", func(path string) error { return os.Symlink("/dev/zero", path) }},
	{"a folder", func(path string) error { return os.Mkdir(path, 0o700) }},
	{"a link to itself", func(path string) error { return os.Symlink(path, path) }},
}

// noPlainFile exchanges the log: no method may wait for it or take it for a
// session, and nothing that was read of it may count as still there.
func noPlainFile(t *testing.T, r reader.Reader, src reader.Source) {
	_, tail := mustRead(t, r, src, reader.Position{})
	for _, s := range strange {
		src, _ := copyOf(t, src)
		file := reader.FileOf(src.Path)
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		if err := s.make(file); err != nil {
			t.Logf("%s cannot be made here: %v", s.name, err)
			continue
		}
		_ = soon(t, s.name, room, func(ctx context.Context) error {
			if _, err := r.Identify(ctx, src.Root, src.Path); err == nil || errors.Is(err, reader.ErrPending) {
				t.Errorf("%s is identified: %v", s.name, err)
			}
			if got, _, err := r.Revise(ctx, src, tail.Position); err == nil && (got == reader.Unchanged || got == reader.Grown) {
				t.Errorf("%s is a revision %d", s.name, got)
			}
			if _, err := r.Read(ctx, src, reader.Position{}, func(session.Event) error { return nil }); err == nil {
				t.Errorf("%s is read", s.name)
			}
			if _, err := r.Window(ctx, src, session.Checkpoint{}, 0, 5, session.Every(), func(session.Raw) error { return nil }); err == nil {
				t.Errorf("%s has a window", s.name)
			}
			return nil
		})
	}
}

// besideIt exchanges each other file that lies with the log, one after another:
// a reader that looks at it may miss what it says, and must not wait for it or
// take it into memory.
func besideIt(t *testing.T, r reader.Reader, src reader.Source) {
	src = wholeCopy(t, src)
	var others []string
	err := filepath.WalkDir(src.Root, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() && path != reader.FileOf(src.Path) && len(others) < 24 {
			others = append(others, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	sparse := func(path string) error {
		return errors.Join(os.WriteFile(path, []byte("{"), 0o600), os.Truncate(path, *hole*4))
	}
	kinds := append(strange[:2:2], struct {
		name string
		make func(path string) error
	}{"a hole", sparse})
	for _, other := range others {
		kept := other + ".kept"
		if err := os.Rename(other, kept); err != nil {
			t.Fatal(err)
		}
		for _, s := range kinds {
			if s.make(other) != nil {
				continue
			}
			rel, _ := filepath.Rel(src.Root, other)
			_ = soon(t, s.name+" as "+rel, room, func(ctx context.Context) error {
				_, identified := r.Identify(ctx, src.Root, src.Path)
				_, err := r.Read(ctx, src, reader.Position{}, func(session.Event) error { return nil })
				return errors.Join(identified, err)
			})
			if err := os.Remove(other); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Rename(kept, other); err != nil {
			t.Fatal(err)
		}
	}
}

// growsBelow appends to a log at every event that is read of it: nothing may be
// lost or come twice, and a position before the end may not count as the end.
func growsBelow(t *testing.T, r reader.Reader, src reader.Source) {
	want, _ := mustRead(t, r, src, reader.Position{})
	src, content := copyOf(t, src)
	written := len(content) / 2
	write(t, src.Path, content[:written])
	grow := func() {
		n := min(len(content), written+len(content)/16+1)
		f, err := os.OpenFile(reader.FileOf(src.Path), os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.Write(content[written:n])
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		written = n
	}
	var got []session.Event
	var at reader.Position
	for {
		if written == len(content) && len(got) > 0 {
			if revision, _, err := r.Revise(context.Background(), src, at); err != nil || len(got) < len(want) && revision != reader.Grown {
				t.Fatalf("behind %d events of %d: revision %d, %v", len(got), len(want), revision, err)
			}
		}
		whole := written == len(content)
		tail, err := r.Read(context.Background(), src, at, func(e session.Event) error {
			e.Resume, e.Breaks = "", false // as ReadFrom
			got = append(got, e)
			if written < len(content) {
				grow()
			}
			return nil
		})
		switch {
		case errors.Is(err, reader.ErrPending):
			grow()
		case err != nil:
			t.Fatalf("behind %d events, %d bytes written: %v", len(got), written, err)
		default:
			at = tail.Position
			if !whole && written < len(content) {
				grow()
			}
		}
		if whole {
			break
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("read while it grew (-at once +growing):\n%s", diff)
	}
}

// shrinksBelow cuts a log while it is read: what is emitted is what was there, or
// it is said that something is wrong.
func shrinksBelow(t *testing.T, r reader.Reader, src reader.Source) {
	want, _ := mustRead(t, r, src, reader.Position{})
	for _, part := range []int{0, 3, 7} {
		src, content := copyOf(t, src)
		var got []session.Event
		var tail reader.Tail
		err := soon(t, "a log that shrinks", room, func(ctx context.Context) (err error) {
			tail, err = r.Read(ctx, src, reader.Position{}, func(e session.Event) error {
				if len(got) == 0 {
					if err := os.Truncate(reader.FileOf(src.Path), int64(len(content)*part/8)); err != nil {
						return err
					}
				}
				e.Resume, e.Breaks = "", false
				got = append(got, e)
				return nil
			})
			return err
		})
		if err != nil {
			continue // it is said
		}
		if diff := cmp.Diff(want[:min(len(want), len(got))], got); len(got) > 0 && diff != "" {
			t.Errorf("cut to %d eighths while it was read (-whole +cut):\n%s", part, diff)
		}
		if revision, _, err := r.Revise(context.Background(), src, tail.Position); err == nil && revision == reader.Unchanged && len(got) == len(want) {
			t.Errorf("cut to %d eighths while it was read: it counts as read to its end", part)
		}
	}
}

// holes puts NULs, as a crash leaves them, before, into and behind a log.
func holes(t *testing.T, r reader.Reader, src reader.Source) {
	want, _ := mustRead(t, r, src, reader.Position{})
	for _, c := range []struct {
		name string
		at   func(content []byte) int
	}{
		{"a hole before it", func([]byte) int { return 0 }},
		{"a hole in it", func(content []byte) int { return len(content)/2 + bytes.IndexByte(content[len(content)/2:], '\n') + 1 }},
		{"a hole behind it", func(content []byte) int { return len(content) }},
	} {
		src, content := copyOf(t, src)
		file, at := reader.FileOf(src.Path), c.at(content)
		write(t, src.Path, content[:at])
		err := os.Truncate(file, int64(at)+*hole)
		if err == nil && at < len(content) {
			var f *os.File
			if f, err = os.OpenFile(file, os.O_WRONLY|os.O_APPEND, 0); err == nil {
				_, err = f.Write(content[at:])
				err = errors.Join(err, f.Close())
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		var got []session.Event
		err = soon(t, c.name, room, func(ctx context.Context) error {
			_, _ = r.Identify(ctx, src.Root, src.Path)
			_, err := r.Read(ctx, src, reader.Position{}, func(e session.Event) error {
				e.Resume, e.Breaks = "", false
				got = append(got, e)
				return nil
			})
			return err
		})
		if at == 0 {
			continue // whether that is still a session is the format's
		}
		aProblem(t, c.name, err)
		n := min(len(got), len(want))
		if at < len(content) {
			n = min(n, len(eventsOf(t, r, src, content[:at])))
		}
		if diff := cmp.Diff(want[:n], got[:n]); n > 0 && diff != "" {
			t.Errorf("%s (-without +with):\n%s", c.name, diff)
		}
		if at == len(content) && err == nil && len(got) < len(want) {
			t.Errorf("%s: %d events of %d", c.name, len(got), len(want))
		}
	}
}

// eventsOf reads other content in a source's place.
func eventsOf(t *testing.T, r reader.Reader, src reader.Source, content []byte) []session.Event {
	t.Helper()
	write(t, src.Path, content)
	events, _, err := ReadFrom(r, src, reader.Position{})
	aProblem(t, "what is left of it", err)
	return events
}

// aProblem checks that a reading ended well or with what is wrong and where.
func aProblem(t *testing.T, what string, err error) {
	t.Helper()
	var p *reader.Problem
	if err != nil && !errors.As(err, &p) && !errors.Is(err, reader.ErrPending) {
		t.Errorf("%s: %v", what, err)
	}
}

// within puts a member that no format knows first into the middle record of a log
// in JSON lines.
func within(content []byte, value string) []byte {
	at := bytes.LastIndexByte(content[:len(content)/2], '\n') + 1
	for !bytes.HasPrefix(content[at:], []byte("{\"")) {
		at += bytes.IndexByte(content[at:], '\n') + 1
	}
	return bytes.Join([][]byte{content[:at+1], []byte(`"zz":` + value + `,`), content[at+1:]}, nil)
}

// between puts a line that no format knows into the middle of a log.
func between(content []byte, line string) []byte {
	at := bytes.LastIndexByte(content[:len(content)/2], '\n') + 1
	return bytes.Join([][]byte{content[:at], []byte(line + "\n"), content[at:]}, nil)
}

// deep puts values into a log that lie 10,000 and more deep in one another.
func deep(t *testing.T, r reader.Reader, src reader.Source) {
	for _, n := range []int{9_000, 10_000, 500_000} {
		odd(t, r, src, strings.Repeat(`[`, n)+strings.Repeat(`]`, n))
		odd(t, r, src, strings.Repeat(`{"a":`, n)+`0`+strings.Repeat(`}`, n))
		odd(t, r, src, strings.Repeat(`[`, n)) // it never ends
	}
}

// longLine puts lines into a log that are too long to be kept.
func longLine(t *testing.T, r reader.Reader, src reader.Source) {
	odd(t, r, src, `"`+strings.Repeat("long text ", *long/10)+`"`)
	odd(t, r, src, `[`+strings.Repeat(`{"a":1},`, *long/8)+`0]`)
	odd(t, r, src, strings.Repeat("x", *long)) // it is no JSON
}

// odd reads a log with a value in it that is of no use: as a member of a record,
// which changes nothing if it is JSON (and no list that crowds the rest of its
// record out); as a line of its own, around which the rest is served; as such a
// line at the end of the file, without its newline.
func odd(t *testing.T, r reader.Reader, src reader.Source, value string) {
	t.Helper()
	want, _ := mustRead(t, r, src, reader.Position{})
	whole := strings.HasSuffix(value, "]") || strings.HasSuffix(value, "}") || strings.HasSuffix(value, `"`)
	src, content := copyOf(t, src)
	for _, c := range []struct {
		name string
		text []byte
		same bool // the events are those without it
	}{
		{"a member", within(content, value), whole},
		{"a line", between(content, `{"zz":`+value+`}`), false},
		{"a tail", append(bytes.Clone(content), `{"zz":`+value...), true},
	} {
		name := c.name + " " + value[:min(len(value), 8)] + "…"
		write(t, src.Path, c.text)
		var got []session.Event
		err := soon(t, name, room, func(ctx context.Context) error {
			_, identified := r.Identify(ctx, src.Root, src.Path)
			aProblem(t, name+", identified", identified)
			_, err := r.Read(ctx, src, reader.Position{}, func(e session.Event) error {
				got = append(got, e)
				return nil
			})
			return err
		})
		aProblem(t, name, err)
		if err != nil {
			t.Logf("%s of %d bytes: %v", name, len(value), err)
			continue
		}
		spoken := said(got)
		if crowded := len(value) > 8<<20 && value[0] == '['; c.same && !crowded || whole && !crowded {
			if diff := cmp.Diff(said(want), spoken); diff != "" {
				t.Errorf("%s of %d bytes (-without +with):\n%s", name, len(value), diff)
			}
		} else if len(spoken) == 0 {
			t.Errorf("%s of %d bytes: nothing is served", name, len(value))
		}
	}
}

// said is who says what in events, without those that say nothing.
func said(events []session.Event) []string {
	var list []string
	for i := range events {
		if text := Said(&events[i]); text != "" {
			list = append(list, text)
		}
	}
	return list
}
