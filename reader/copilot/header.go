package copilot

import (
	"bufio"
	"context"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/reader/linelog"
	"github.com/yorehq/yore/session"
)

// identify reads the header of a file: the first event states it. A file that
// begins otherwise, since its beginning was lost, is known by its own name.
func identify(ctx context.Context, f io.ReaderAt, size int64, root, path string) (session.Header, error) {
	file := reader.FileOf(path)
	h := session.Header{Agent: session.Copilot}
	found := false
	_, err := linelog.Each(ctx, f, 0, size, func(r *linelog.Record) (bool, error) {
		found = true
		start(&h, r)
		return false, nil
	})
	switch {
	case err != nil:
		return h, err
	case !found:
		return h, reader.ErrPending
	}
	if h.ID == "" {
		h.ID = session.ID(nameOfFile(file))
	}
	notes := notesOf(file)
	if h.Cwd == "" {
		h.Cwd = notes["cwd"]
	}
	// A fork states its origin's start; its folder was made when it was.
	if made, err := time.Parse(time.RFC3339, notes["created_at"]); err == nil {
		h.CreatedAt = max(h.CreatedAt, made.UnixMilli())
	}
	if p := partOf(path); p.Name != "" {
		return identifyPart(ctx, f, size, path, p, h)
	}
	return h, nil
}

// start takes what the first event states.
func start(h *session.Header, r *linelog.Record) {
	d := r.X.Field(r.Value, "data")
	for _, stamp := range [][]byte{r.X.Field(d, "startTime"), r.X.Field(r.Value, "timestamp")} {
		if t, ok := jsonl.Instant(stamp); ok && h.CreatedAt == 0 {
			h.CreatedAt = max(0, t.UnixMilli())
		}
	}
	if !jsonl.Is(r.X.Field(r.Value, "type"), "session.start") {
		return
	}
	h.ID = session.ID(jsonl.Text(r.X.Field(d, "sessionId")))
	h.Cwd = jsonl.Text(r.X.Field(r.X.Field(d, "context"), "cwd"))
	if h.ParentSession = session.ID(jsonl.Text(r.X.Field(d, "detachedFromSpawningParentSessionId"))); h.ParentSession == h.ID {
		h.ParentSession = ""
	}
}

// nameOfFile is a session's name by its folder, or by its file where it has none.
func nameOfFile(path string) string {
	if filepath.Base(path) == logName {
		return filepath.Base(filepath.Dir(path))
	}
	return strings.TrimSuffix(filepath.Base(path), logSuffix)
}

// identifyPart completes the header of a subagent: its first record has to stand
// where its path says.
func identifyPart(ctx context.Context, f io.ReaderAt, size int64, path string, p part, own session.Header) (session.Header, error) {
	if p.Start >= size {
		return own, reader.ErrPending
	}
	looked, found := false, false
	_, err := linelog.Each(ctx, f, p.Start, size, func(r *linelog.Record) (bool, error) {
		e := recordOf(r)
		looked, found = true, nameOf(e.agent) == p.Name
		p.Time, p.Preset = e.time, jsonl.Text(e.data.name)
		return false, nil
	})
	switch {
	case err != nil:
		return own, err
	case !looked:
		return own, reader.ErrPending
	case !found:
		return own, reader.Unreadable(path, 0, p.Start, "no subagent begins here")
	}
	return p.header(own), nil
}

// maxNotes is how much of a session's notes is read, in bytes.
const maxNotes = 64 << 10

// notesOf reads the plain values of the notes beside a session's log. They are
// YAML, of which the agent writes the simplest kind: a name and a value a line,
// long values folded below.
func notesOf(file string) map[string]string {
	notes := map[string]string{}
	if filepath.Base(file) != logName {
		return notes
	}
	f, _, err := reader.OpenRegular(filepath.Join(filepath.Dir(file), notesName))
	if err != nil {
		return notes
	}
	defer f.Close()
	lines := bufio.NewScanner(io.LimitReader(f, maxNotes))
	lines.Buffer(nil, maxNotes)
	folded := "" // the name whose value goes on
	for lines.Scan() {
		line := lines.Text()
		if strings.HasPrefix(line, " ") || line == "" {
			if folded != "" {
				notes[folded] = strings.TrimSpace(notes[folded] + " " + strings.TrimSpace(line))
			}
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		if folded = ""; !ok {
			continue
		}
		switch value = strings.TrimSpace(value); {
		case value == "", value[0] == '|', value[0] == '>':
			folded, value = name, ""
		case value[0] == '"' && jsonl.Valid([]byte(value)):
			value = jsonl.Text([]byte(value))
		case len(value) > 1 && value[0] == '\'' && value[len(value)-1] == '\'':
			value = strings.ReplaceAll(value[1:len(value)-1], "''", "'")
		}
		notes[name] = value
	}
	return notes
}

// Title implements reader.Titler: the name of a session is kept in its notes, by
// releases before that had names, its summary.
func (*Reader) Title(ctx context.Context, src reader.Source) (title string, ok bool, err error) {
	if err := ctx.Err(); err != nil || reader.FileOf(src.Path) != src.Path {
		return "", false, err
	}
	notes := notesOf(src.Path)
	for _, name := range []string{"name", "summary"} {
		if title := linelog.Headline(notes[name]); title != "" {
			return title, true, nil
		}
	}
	return "", false, nil
}
