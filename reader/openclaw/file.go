package openclaw

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/reader/linelog"
	"github.com/yorehq/yore/session"
)

// headerBytes is how far into a file its header is looked for.
const headerBytes = 1 << 20

// maxLabels is how long the list of an agent's sessions may be, in bytes.
const maxLabels = 16 << 20

// identify reads the header of a file. A file that the agent has taken over into
// its database is none any more.
func identify(ctx context.Context, f io.ReaderAt, size int64, _, path string) (session.Header, error) {
	h := session.Header{Agent: session.OpenClaw}
	found, foreign := false, false
	parent := ""
	_, err := linelog.Each(ctx, f, 0, min(size, headerBytes), func(r *linelog.Record) (bool, error) {
		if found = jsonl.Is(r.X.Field(r.Value, "type"), "session") && jsonl.Filled(r.X.Field(r.Value, "id")); found {
			parent = headerOf(r.Value, &h)
		}
		foreign = !found
		return false, nil
	})
	switch {
	case err != nil:
		return h, err
	case foreign:
		return h, reader.Unreadable(path, 1, 0, "the file does not begin with the header of a session")
	case !found && size >= headerBytes:
		return h, reader.Unreadable(path, 1, 0, "no header stands in the first %d bytes", headerBytes)
	case !found:
		return h, reader.ErrPending
	}
	// A chat with topics has a file for each, and the same id in all of them.
	if stem := strings.TrimSuffix(filepath.Base(path), logSuffix); strings.HasPrefix(stem, string(h.ID)+"-topic-") {
		h.ID = session.ID(stem)
	}
	if stem, ok := strings.CutSuffix(parent[strings.LastIndexAny(parent, `/\`)+1:], logSuffix); ok && stem != string(h.ID) {
		h.ParentSession = session.ID(stem)
	}
	taken, err := taken(ctx, path, h.ID)
	if err == nil && taken {
		err = reader.ErrPending
	}
	return h, err
}

// headerOf takes what the first entry of a transcript states; it returns the path
// of the file that it was forked from, "" if there is none.
func headerOf(value []byte, h *session.Header) (parent string) {
	c := jsonl.Enter(value)
	for name, v, ok := c.Member(); ok; name, v, ok = c.Member() {
		switch string(name) {
		case "id":
			h.ID = session.ID(jsonl.Text(v))
		case "cwd":
			h.Cwd = jsonl.Text(v)
		case "timestamp":
			if t, ok := jsonl.Instant(v); ok {
				h.CreatedAt = max(0, t.UnixMilli())
			}
		case "parentSession":
			parent = jsonl.Text(v)
		}
	}
	return parent
}

// taken reports whether the database of a file's agent holds a session.
func taken(ctx context.Context, path string, id session.ID) (bool, error) {
	db := filepath.Join(filepath.Dir(filepath.Dir(path)), databaseDir, database)
	s, err := openStore(ctx, db)
	var p *reader.Problem
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.As(err, &p):
		return false, nil // whatever is wrong with it, the file can be read
	case err != nil:
		return false, err
	}
	defer s.db.Close()
	_, err = s.find(ctx, id)
	if errors.Is(err, fs.ErrNotExist) || errors.As(err, &p) {
		return false, nil
	}
	return err == nil, err
}

// Title implements reader.Titler: the label or else the name that is kept beside
// the transcript.
func (r *Reader) Title(ctx context.Context, src reader.Source) (string, bool, error) {
	if !onShelf(src.Path) {
		return labelOf(ctx, filepath.Join(filepath.Dir(src.Path), labels), src.Header.ID)
	}
	s, err := openStore(ctx, reader.FileOf(src.Path))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return "", false, nil
		}
		return "", false, err
	}
	defer s.db.Close()
	e, err := s.find(ctx, idOf(src))
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	return e.title, err == nil && e.title != "", err
}

// labelOf finds a session's title in the list of an agent's sessions.
func labelOf(ctx context.Context, path string, id session.ID) (string, bool, error) {
	if err := ctx.Err(); err != nil {
		return "", false, err
	}
	f, _, err := reader.OpenRegular(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxLabels))
	if err != nil || !jsonl.Valid(text) {
		return "", false, err
	}
	text = text[jsonl.SkipSpace(text, 0):]
	if !jsonl.IsObject(text) {
		return "", false, nil
	}
	c := jsonl.Enter(text)
	for _, v, ok := c.Member(); ok; _, v, ok = c.Member() {
		if jsonl.IsObject(v) && jsonl.Is(jsonl.Field(v, "sessionId"), string(id)) {
			title := titleIn(v)
			return title, title != "", nil
		}
	}
	return "", false, nil
}

// titleIn returns the title that an entry of the list of sessions gives; "" if
// it has none.
func titleIn(entry []byte) string {
	for _, name := range []string{"label", "displayName", "subject"} {
		if title := linelog.Headline(jsonl.Text(jsonl.Field(entry, name))); title != "" {
			return title
		}
	}
	return ""
}
