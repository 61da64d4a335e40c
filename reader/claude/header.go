package claude

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/session"
)

// enough is after how many records of the tree a header is made of what they
// state, even if none of them states everything.
const enough = 8

// maxMeta is how long a subagent's description may be, in bytes.
const maxMeta = 1 << 20

func isSubagent(root, path string) bool {
	file, one := partOf(path)
	if one.Name != "" {
		return true
	}
	return isAgentFile(root, file)
}

// isAgentFile reports whether a file is a subagent's own.
func isAgentFile(root, path string) bool {
	rel, err := filepath.Rel(root, path)
	if err != nil {
		return false
	}
	parts := strings.Split(filepath.ToSlash(rel), "/")
	return len(parts) > 2 || strings.HasPrefix(parts[len(parts)-1], agentPrefix)
}

// Identify implements reader.Reader. The name of the file is the identity:
// records copied from elsewhere name other sessions.
func (*Reader) Identify(ctx context.Context, root, path string) (session.Header, error) {
	if err := ctx.Err(); err != nil {
		return session.Header{}, err
	}
	f, stamp, err := reader.OpenRegular(reader.FileOf(path))
	if err != nil {
		return session.Header{}, err
	}
	defer f.Close()
	return identify(ctx, f, root, path, stamp.Size)
}

// facts are what the first records of a transcript say of its session.
type facts struct {
	created int64 // the latest time of the notes before the first record, and of that
	timed   bool  // the record states one
	cwd     string
	session string // the session that the records name
	parent  string // the session that they were copied from
	seed    int64  // how many events the copied records make
}

// identify makes the header. What it states depends on the beginning of the
// file alone, so that it never changes.
func identify(ctx context.Context, f io.ReaderAt, root, path string, size int64) (session.Header, error) {
	path, one := partOf(path)
	h := session.Header{Agent: session.Claude}
	src := reader.Source{Root: root, Path: path}
	h.ID = session.ID(strings.TrimSuffix(filepath.Base(path), logSuffix))
	got, err := firstFacts(ctx, f, src, size)
	if err != nil {
		return h, err
	}
	h.CreatedAt, h.Cwd = got.created, got.cwd
	if isAgentFile(root, path) {
		describe(&h, root, path, got.session)
	} else if got.parent != "" && got.parent != string(h.ID) {
		h.ParentSession, h.SeedLength = session.ID(got.parent), got.seed
	}
	if one.Name != "" {
		return identifyRun(ctx, f, path, one, h, size)
	}
	return h, nil
}

// firstFacts looks at the first records of the tree that are the session's own:
// those that a fork copied say where they come from.
func firstFacts(ctx context.Context, f io.ReaderAt, src reader.Source, size int64) (facts, error) {
	var got facts
	d := start(src)
	d.from = noTexts
	s := newFeed(f, d, 0, size)
	own, whole := 0, false
	for !whole {
		l, err := s.Next(ctx)
		switch {
		case errors.Is(err, io.EOF):
			return got, reader.ErrPending
		case err != nil:
			return got, err
		}
		values, _ := jsonl.Values(l.Text)
		copied := false
		for _, v := range values {
			if whole = whole || got.look(v, &own, &copied); whole {
				break
			}
		}
		if whole || got.parent == "" && !copied {
			continue
		}
		// Copied records are counted as events are made of them, with what stands
		// before the first.
		if s.d.next == 0 && l.Start > 0 {
			if s.d, err = replay(ctx, f, src, l.Start); err != nil {
				return got, err
			}
		}
		if err := s.decode(&l, func([]byte, []made) error { return nil }); err != nil {
			return got, err
		}
		if copied {
			got.seed = s.d.next
		}
	}
	return got, nil
}

// look takes what one value says; it reports whether nothing more is needed.
func (g *facts) look(v []byte, own *int, copied *bool) bool {
	if !jsonl.IsObject(v) {
		return false
	}
	r := parseRecord(v)
	if !r.linked() || r.id == 0 {
		// A copy that does not say so begins with notes that are younger than
		// the records it copied.
		if r.timed && !r.linked() {
			g.created = max(g.created, r.time)
		}
		return false
	}
	if from := jsonl.Text(jsonl.Field(jsonl.Field(v, "forkedFrom"), "sessionId")); from != "" && *own == 0 {
		if g.parent == "" {
			g.parent = from
		}
		*copied = true
		return false
	}
	*own++
	if !g.timed && r.timed {
		g.created, g.timed = max(g.created, r.time), true
	}
	if g.cwd == "" {
		g.cwd = jsonl.Text(jsonl.Field(v, "cwd"))
	}
	if g.session == "" {
		g.session = jsonl.Text(jsonl.Field(v, "sessionId"))
	}
	return g.timed && g.cwd != "" || *own >= enough
}

// description is what the agent writes beside a subagent's transcript.
type description struct {
	AgentType     string
	Name          string
	Description   string
	ParentAgentID string
	SpawnDepth    int64
}

// describedBy returns the stamp of the description beside a subagent's log; zero
// where there is none, or it is no subagent's.
func describedBy(src reader.Source) reader.Stamp {
	if file, one := partOf(src.Path); one.Name != "" || !isAgentFile(src.Root, file) {
		return reader.Stamp{}
	}
	stamp, err := reader.StatRegular(strings.TrimSuffix(src.Path, logSuffix) + metaSuffix)
	if err != nil {
		return reader.Stamp{}
	}
	return stamp
}

// readDescription reads it; what is not there or not understood is empty.
func readDescription(path string) description {
	var all description
	f, _, err := reader.OpenRegular(strings.TrimSuffix(path, logSuffix) + metaSuffix)
	if err != nil {
		return all
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxMeta))
	if err != nil || !jsonl.Valid(data) {
		return all
	}
	// Member by member, so that one of an unexpected kind costs itself alone.
	data = data[jsonl.SkipSpace(data, 0):]
	all.AgentType = jsonl.Text(jsonl.Field(data, "agentType"))
	all.Name = jsonl.Text(jsonl.Field(data, "name"))
	all.Description = jsonl.Text(jsonl.Field(data, "description"))
	all.ParentAgentID = jsonl.Text(jsonl.Field(data, "parentAgentId"))
	all.SpawnDepth, _ = jsonl.Natural(jsonl.Field(data, "spawnDepth"))
	return all
}

// describe completes the header of a subagent. owner is the session that its
// records name; the folder that the file lies in says so too, and wins.
func describe(h *session.Header, root, path, owner string) {
	rel, err := filepath.Rel(root, path)
	if parts := strings.Split(filepath.ToSlash(rel), "/"); err == nil && len(parts) > 2 {
		owner = parts[1]
	}
	meta := readDescription(path)
	h.Origin, h.AgentPreset = session.OriginSubagent, meta.AgentType
	h.ParentSession, h.DelegationDepth = session.ID(owner), 1
	h.ID = session.ID(owner + "/" + string(h.ID))
	if meta.ParentAgentID != "" {
		h.ParentSession, h.DelegationDepth = session.ID(owner+"/"+agentPrefix+meta.ParentAgentID), 2
	}
	if meta.SpawnDepth > 0 {
		h.DelegationDepth = meta.SpawnDepth
	}
}

// Title implements reader.Titler: a subagent's name is kept beside its
// transcript.
func (*Reader) Title(ctx context.Context, src reader.Source) (title string, ok bool, err error) {
	if err := ctx.Err(); err != nil || reader.FileOf(src.Path) != src.Path || !isAgentFile(src.Root, src.Path) {
		return "", false, err
	}
	meta := readDescription(src.Path)
	for _, text := range [...]string{meta.Name, meta.Description} {
		if title := titleOf(text); title != "" {
			return title, true, nil
		}
	}
	return "", false, nil
}
