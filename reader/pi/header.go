package pi

import (
	"context"
	"io"
	"path/filepath"
	"strings"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/reader/linelog"
	"github.com/yorehq/yore/session"
)

// headerBytes is how far into a file its header is looked for, as the agent does.
const headerBytes = 1 << 20

// stated is what a header says.
type stated struct {
	header session.Header
	parent string // path of the file that it was forked from
	made   int64  // when, epoch milliseconds
	found  bool
}

// identify reads the header of a file. Entries that a fork copied are older than
// its header; it is a session as soon as it holds an entry of its own.
func identify(ctx context.Context, f io.ReaderAt, size int64, root, path string) (session.Header, error) {
	var got stated
	foreign := false
	_, err := linelog.Each(ctx, f, 0, min(size, headerBytes), func(r *linelog.Record) (bool, error) {
		if got.found = jsonl.Is(r.X.Field(r.Value, "type"), "session") && jsonl.Filled(r.X.Field(r.Value, "id")); got.found {
			got.take(r)
		}
		foreign = !got.found
		return false, nil
	})
	h := got.header
	h.Agent = session.Pi
	switch {
	case err != nil:
		return h, err
	case foreign:
		return h, reader.Unreadable(path, 1, 0, "the file does not begin with the header of a session")
	case !got.found && size >= headerBytes:
		return h, reader.Unreadable(path, 1, 0, "no header stands in the first %d bytes", headerBytes)
	case !got.found:
		return h, reader.ErrPending
	case got.parent == "":
		return h, nil
	}
	if h.ParentSession = parentOf(ctx, root, got.parent); h.ParentSession == h.ID {
		h.ParentSession = ""
	}
	copied, own, err := copiedBytes(ctx, f, size, got.made)
	if err == nil && copied > 0 {
		h.SeedLength, err = (&linelog.Format{New: decoder}).Count(ctx, f, reader.Source{Agent: session.Pi, Root: root, Path: path}, copied)
	}
	if err == nil && !own {
		err = reader.ErrPending
	}
	return h, err
}

// take takes what a header states. Version 1 called the parent branchedFrom.
func (s *stated) take(r *linelog.Record) {
	c := r.X.Enter(r.Value)
	for name, v, ok := c.Member(); ok; name, v, ok = c.Member() {
		switch string(name) {
		case "id":
			s.header.ID = session.ID(jsonl.Text(v))
		case "cwd":
			s.header.Cwd = jsonl.Text(v)
		case "timestamp":
			if t, ok := jsonl.Instant(v); ok {
				s.made = max(0, t.UnixMilli())
			}
		case "parentSession", "branchedFrom":
			s.parent = jsonl.Text(v)
		}
	}
	s.header.CreatedAt = s.made
}

// copiedBytes returns where the entries that are older than a header end, and
// whether others follow.
func copiedBytes(ctx context.Context, f io.ReaderAt, size, made int64) (end int64, own bool, err error) {
	_, err = linelog.Each(ctx, f, 0, size, func(r *linelog.Record) (bool, error) {
		if jsonl.Is(r.X.Field(r.Value, "type"), "session") {
			return true, nil
		}
		t, ok := jsonl.Instant(r.X.Field(r.Value, "timestamp"))
		if own = !ok || t.UnixMilli() >= made; !own {
			end = r.End
		}
		return !own, nil
	})
	return end, own, err
}

// parentOf returns the id of the session in a file, by the file's name, which
// ends in it. Only a name that was chosen by hand makes a look into the file
// needed, which may be gone by now.
//
// The path is the log's own word, so that nothing outside of the root is opened.
func parentOf(ctx context.Context, root, path string) session.ID {
	name := path[strings.LastIndexAny(path, `/\`)+1:]
	if stem, ok := strings.CutSuffix(name, logSuffix); ok {
		stamp, id, ok := strings.Cut(stem, "_")
		if ok && id != "" && len(stamp) == len("2006-01-02T15-04-05-000Z") && strings.HasSuffix(stamp, "Z") {
			return session.ID(id)
		}
	}
	if rel, err := filepath.Rel(root, path); err != nil || !filepath.IsLocal(rel) {
		return ""
	}
	f, stamp, err := reader.OpenRegular(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	var got stated
	_, err = linelog.Each(ctx, f, 0, min(stamp.Size, headerBytes), func(r *linelog.Record) (bool, error) {
		if jsonl.Is(r.X.Field(r.Value, "type"), "session") {
			got.take(r)
		}
		return false, nil
	})
	if err != nil {
		return ""
	}
	return got.header.ID
}
