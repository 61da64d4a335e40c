package qwen

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

// headerBytes is how far into a file its header is looked for.
const headerBytes = 1 << 20

// leading is how many records of its own a session's parent may stand in.
const leading = 8

// stated is what the first records of a file say.
type stated struct {
	header session.Header
	agent  string // of a subagent
	copied int64  // offset behind the records that a fork begins with
	own    int    // records of its own
	talks  bool   // among them one of a person or the model
}

// identify reads the header of a file: from its first record; of a fork, whose
// first records are marked as copies, from the first of its own.
func identify(ctx context.Context, f io.ReaderAt, size int64, root, path string) (session.Header, error) {
	s := stated{header: session.Header{Agent: session.Qwen, CreatedAt: -1}}
	seen := false
	_, err := linelog.Each(ctx, f, 0, size, func(r *linelog.Record) (bool, error) {
		seen = s.take(r) || seen
		return s.own < leading && !s.talks && (s.copied > 0 || r.End < headerBytes), nil
	})
	h := s.header
	h.CreatedAt = max(h.CreatedAt, 0)
	switch {
	case err != nil:
		return h, err
	case h.ID == "" && (seen || size >= headerBytes):
		return h, reader.Unreadable(path, 1, 0, "no record states which session this is")
	case h.ID == "" || s.own == 0:
		return h, reader.ErrPending
	}
	s.subagent(&h, path)
	if h.ParentSession == h.ID {
		h.ParentSession = ""
	}
	if s.copied > 0 {
		h.SeedLength, err = format0().Count(ctx, f, reader.Source{Agent: session.Qwen, Root: root, Path: path}, s.copied)
	}
	return h, err
}

// format0 is the format without its identification, which asks it to count.
func format0() *linelog.Format { return &linelog.Format{New: newDecoder} }

// take takes a record; it reports whether it states a session.
func (s *stated) take(r *linelog.Record) bool {
	var id, cwd, when, kind, subtype, payload, origin []byte
	c := r.X.Enter(r.Value)
	for name, v, ok := c.Member(); ok; name, v, ok = c.Member() {
		switch string(name) {
		case "sessionId":
			id = v
		case "cwd":
			cwd = v
		case "timestamp":
			when = v
		case "type":
			kind = v
		case "subtype":
			subtype = v
		case "systemPayload":
			payload = v
		case "forkedFrom":
			origin = v
		case "agentId":
			s.agent = r.X.Text(v)
		case "agentName":
			s.header.AgentPreset = r.X.Text(v)
		}
	}
	h := &s.header
	if h.ID == "" {
		h.ID = session.ID(r.X.Text(id))
	}
	if from := r.X.Field(origin, "sessionId"); jsonl.Filled(from) {
		h.ParentSession = session.ID(r.X.Text(from))
		s.copied, s.own, s.talks = r.End, 0, false
		h.CreatedAt, h.Cwd = -1, ""
		return true
	}
	s.own++
	if h.Cwd == "" {
		h.Cwd = r.X.Text(cwd)
	}
	if h.CreatedAt < 0 {
		h.CreatedAt = instant(when)
	}
	if jsonl.Is(subtype, "parent_session") && h.ParentSession == "" {
		h.ParentSession = session.ID(r.X.Text(r.X.Field(payload, "parentSessionId")))
	}
	s.talks = s.talks || !jsonl.Is(kind, "system")
	return jsonl.Filled(id)
}

// subagent completes the header of a subagent's file: it bears its session's id.
func (s *stated) subagent(h *session.Header, path string) {
	folder := filepath.Dir(path)
	if filepath.Base(filepath.Dir(folder)) != subagentsDir {
		return
	}
	name := strings.TrimSuffix(filepath.Base(path), logSuffix)
	parent := session.ID(filepath.Base(folder))
	h.ID = parent + session.ID("/"+name)
	h.Origin, h.DelegationDepth, h.ParentSession = session.OriginSubagent, 1, parent
	// What started it stands beside it.
	meta := object(strings.TrimSuffix(path, logSuffix) + metaSuffix)
	if by := jsonl.Text(jsonl.Field(meta, "parentAgentId")); by != "" {
		h.ParentSession = parent + session.ID("/"+agentPrefix+by)
		h.DelegationDepth = 2
	}
	if depth, ok := jsonl.Natural(jsonl.Field(meta, "depth")); ok && depth < leading {
		h.DelegationDepth = depth + 1
	}
	if h.AgentPreset == "" {
		h.AgentPreset = jsonl.Text(jsonl.Field(meta, "agentType"))
	}
}
