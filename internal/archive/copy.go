package archive

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/reader"
	format "github.com/yorehq/yore/reader/archive"
	"github.com/yorehq/yore/session"
)

// unfit says why a session is not archived now.
type unfit struct{ reason string }

func (u *unfit) Error() string { return "not archived: " + u.reason }

const changing = "the log was rewritten while it was read"

// copying brings one session's file in the archive up to date.
//
// The original is read twice from where the archive ends: once for what the
// events do and which of them come in runs, once for the events with their
// bytes, which go straight to disk. Both readings are bounded in memory.
type copying struct {
	original
	dir   string // the archive
	to    string // the session's file in it
	wrote int64
	at    reader.Position // where the original has been read to

	runs  []run
	first session.Checkpoint // of the new events
}

// run is where a run of events begins, and how many they are.
type run struct{ seq, span int64 }

// kept is what the archive has of a session.
type kept struct {
	file   *os.File // nil: nothing
	size   int64
	origin format.Origin
	at     reader.Position // where the original was read to
	end    int64           // where a continuation goes
	whole  bool
}

// open opens a file of the archive; one that is not there has no file.
func open(ctx context.Context, path string) (kept, error) {
	f, stamp, err := reader.OpenRegular(path)
	if errors.Is(err, fs.ErrNotExist) {
		return kept{}, nil
	}
	if err != nil {
		return kept{}, err
	}
	k := kept{file: f, size: stamp.Size}
	k.origin, k.at, k.end, k.whole, err = format.Last(ctx, f, path, stamp.Size)
	var p *reader.Problem
	if errors.As(err, &p) || errors.Is(err, reader.ErrPending) {
		k.whole, err = false, nil // damaged: to be made anew
	}
	if err != nil {
		return kept{}, errors.Join(err, f.Close())
	}
	return k, nil
}

func (k *kept) close() {
	if k.file != nil {
		_ = k.file.Close() // it was only read
	}
}

// run brings the file up to date. An error that is *unfit concerns this session
// alone.
func (c *copying) run(ctx context.Context) (Outcome, error) {
	old, err := open(ctx, c.to)
	if fault.IsContext(err) {
		return Skipped, err
	}
	if err != nil {
		return Skipped, &unfit{"its file in the archive cannot be read: " + err.Error()}
	}
	defer old.close()
	now := format.Origin{Header: c.src.Header, Source: c.src.Path, Mapping: mapping(c.reader)}
	if t, ok := c.reader.(reader.Titler); ok {
		title, ok, err := t.Title(ctx, c.src)
		if fault.IsContext(err) {
			return Skipped, err
		}
		if ok && err == nil {
			now.Title = title
		}
	}
	outcome, from := Added, reader.Position{}
	if old.file != nil {
		outcome = Rewritten
	}
	if old.whole && old.origin == now {
		rev, _, err := c.reader.Revise(ctx, c.src, old.at)
		switch {
		case err != nil:
			return Skipped, verdict(err)
		case rev == reader.Unchanged:
			c.at = old.at
			return Unchanged, nil
		case rev == reader.Grown:
			outcome, from = Continued, old.at
		}
	}
	tail, err := c.survey(ctx, from)
	if err != nil {
		return Skipped, verdict(err)
	}
	if outcome != Continued {
		old.end = 0
	}
	c.at = tail.Position
	return outcome, c.write(ctx, &old, now, from, tail)
}

// verdict makes a failure of reading the original one of this session alone,
// unless the context has ended.
func verdict(err error) error {
	var p *reader.Problem
	var path *fs.PathError
	switch {
	case err == nil || fault.IsContext(err):
		return err
	case errors.As(err, &p):
		return &unfit{p.Reason}
	case errors.Is(err, reader.ErrPending):
		return &unfit{"its header is not complete yet"}
	case errors.As(err, &path):
		return &unfit{path.Err.Error()}
	}
	code, _ := fault.Of(err)
	return &unfit{strings.TrimPrefix(err.Error(), string(code)+": ")}
}

// survey reads the new events, checks that they fold, and notes the runs.
func (c *copying) survey(ctx context.Context, from reader.Position) (reader.Tail, error) {
	fold := &session.Fold{}
	fold.Resume(from.Next)
	whole, seen := from.Next == 0, false
	tail, err := c.reader.Read(ctx, c.src, from, func(e session.Event) error {
		if !seen {
			c.first, seen = session.Checkpoint{Seq: e.Seq, Place: e.Place}, true
		}
		if e.Len() > 1 {
			c.runs = append(c.runs, run{e.Seq, e.Span})
		}
		if session.Needs(&e) && !whole {
			var err error
			if fold, err = c.refold(ctx, from, e.Seq); err != nil {
				return err
			}
			whole = true
		}
		_, err := fold.Apply(&e)
		return err
	})
	return tail, err
}

// refold folds everything before an event: what the archive has, then what came
// since.
func (c *copying) refold(ctx context.Context, from reader.Position, before int64) (*session.Fold, error) {
	fold := &session.Fold{}
	apply := func(until int64) func(session.Event) error {
		return func(e session.Event) error {
			if e.Seq >= until {
				return reader.ErrStop
			}
			_, err := fold.Apply(&e)
			return err
		}
	}
	src := reader.Source{Agent: format.Agent, Root: c.dir, Path: c.to, Header: c.src.Header}
	if _, err := format.New().Read(ctx, src, reader.Position{}, apply(from.Next)); err != nil {
		return nil, err
	}
	_, err := c.reader.Read(ctx, c.src, from, apply(before))
	return fold, err
}

// write writes the file beside the old one and puts it in its place. What the
// old one has up to old.end is taken over as it is.
func (c *copying) write(ctx context.Context, old *kept, now format.Origin, from reader.Position, tail reader.Tail) error {
	folder := filepath.Dir(c.to)
	if err := makeFolders(folder); err != nil {
		return err
	}
	f, err := os.CreateTemp(folder, remains)
	if err != nil {
		return err
	}
	err = c.fill(ctx, f, old, now, from, tail)
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		changed := time.Unix(0, tail.Position.Stamp.ModTime)
		err = os.Chtimes(f.Name(), changed, changed)
	}
	if err == nil {
		err = os.Rename(f.Name(), c.to)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	syncFolder(folder)
	return nil
}

// fill writes the text of the file.
func (c *copying) fill(ctx context.Context, f *os.File, old *kept, now format.Origin, from reader.Position, tail reader.Tail) error {
	out := bufio.NewWriter(f)
	enc, err := format.NewEncoder(out)
	if err != nil {
		return err
	}
	if old.end > 0 {
		n, err := io.Copy(out, io.NewSectionReader(old.file, 0, old.end))
		if err != nil {
			return err
		}
		c.wrote += n
	} else if err := enc.Begin(now); err != nil {
		return verdict(err)
	}
	if err := c.events(ctx, enc, from.Next, tail.Position.Next); err != nil {
		return err
	}
	// Between the two readings the agent may have put another log in its place.
	rev, _, err := c.reader.Revise(ctx, c.src, tail.Position)
	if err != nil {
		return verdict(err)
	}
	if rev != reader.Unchanged && rev != reader.Grown {
		return &unfit{changing}
	}
	if err := enc.End(tail.Position); err != nil {
		return err
	}
	c.wrote += enc.Written()
	return out.Flush()
}

// events writes the events with from ≤ seq < to, as the original gives them.
func (c *copying) events(ctx context.Context, enc *format.Encoder, from, to int64) error {
	if from >= to {
		return nil
	}
	next, runs := from, c.runs
	var failed error // of the writing
	h, err := c.reader.Window(ctx, c.src, c.first, from, to-1, session.Every(), func(raw session.Raw) error {
		if raw.Event.Seq != next {
			return &unfit{changing}
		}
		next++
		span := int64(1)
		if len(runs) > 0 && runs[0].seq == raw.Event.Seq {
			span, runs = runs[0].span, runs[1:]
		}
		failed = enc.Add(raw, span)
		return failed
	})
	switch {
	case failed != nil:
		if _, ok := fault.Of(failed); ok {
			return verdict(failed) // what the archive cannot express
		}
		return failed
	case err != nil:
		return verdict(err)
	case next != to || h != c.src.Header:
		return &unfit{changing}
	}
	return nil
}

// remains is the name of a file that is being written.
const remains = ".yore-*"

// removeRemains removes what interrupted runs left in a folder. What is younger
// than an hour may be another run's.
func removeRemains(folder string) {
	names, _ := filepath.Glob(filepath.Join(folder, remains))
	for _, name := range slices.DeleteFunc(names, func(name string) bool {
		info, err := os.Lstat(name)
		return err != nil || time.Since(info.ModTime()) < time.Hour
	}) {
		_ = os.Remove(name) // the next run tries again
	}
}

// makeFolders makes a folder and those above it, for the person alone.
func makeFolders(folder string) error {
	if info, err := os.Stat(folder); err == nil && info.IsDir() {
		return nil
	}
	parent := filepath.Dir(folder)
	if parent != folder {
		if err := makeFolders(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	syncFolder(parent)
	return nil
}

// syncFolder makes the names in a folder durable, where the system can.
func syncFolder(folder string) {
	f, err := os.Open(folder)
	if err != nil {
		return
	}
	_ = f.Sync()
	_ = f.Close()
}
