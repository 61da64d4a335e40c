package gemini

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

// headerBytes is how far into a file the beginning of its conversation is looked for.
const headerBytes = 1 << 20

// Identify implements reader.Reader. A file in which nothing was said is no
// session yet: a resumption leaves one behind that bears the id of the session
// that was resumed, with the context that every session begins with and no more.
func (r *Reader) Identify(ctx context.Context, root, path string) (session.Header, error) {
	if err := ctx.Err(); err != nil {
		return session.Header{}, err
	}
	l, err := openLog(path, 0, 0)
	if err != nil {
		return session.Header{Agent: r.agent}, err
	}
	defer l.close()
	return r.identify(ctx, l, root, path)
}

// identify reads the header of an open log from its start.
func (r *Reader) identify(ctx context.Context, l *log, root, path string) (session.Header, error) {
	h := session.Header{Agent: r.agent, CreatedAt: -1}
	var hash string
	spoken := false
	for h.ID == "" || !spoken {
		v, err := l.next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return h, err
		}
		rec := parseRecord(l.index(), &v)
		switch {
		case rec.form == aHeader && h.ID == "":
			h.ID, hash = session.ID(jsonl.Text(rec.header.id)), jsonl.Text(rec.header.hash)
			h.CreatedAt = instant(rec.header.started)
			if jsonl.Is(rec.header.kind, "subagent") {
				h.Origin, h.DelegationDepth = session.OriginSubagent, 1
			}
		case rec.form == aMessage:
			spoken = spoken || speaks(rec.x, &rec.message)
		}
		rec.messages(func(_ int, m *message) { spoken = spoken || speaks(rec.x, m) })
		if h.CreatedAt < 0 && h.ID != "" {
			h.CreatedAt = instant(rec.message.when)
		}
		if v.End > headerBytes && h.ID == "" {
			break
		}
	}
	if parent := filepath.Base(filepath.Dir(path)); parent != chatsDir {
		h.ParentSession, h.Origin, h.DelegationDepth = session.ID(parent), session.OriginSubagent, 1
	}
	if h.ParentSession == h.ID {
		h.ParentSession = ""
	}
	offset, _ := l.at()
	switch {
	case h.ID == "" && offset <= headerBytes && !whole(path):
		return h, reader.ErrPending
	case h.ID == "":
		return h, reader.Unreadable(path, 1, 0, "no record states which session this is")
	case !spoken:
		return h, reader.ErrPending
	}
	h.CreatedAt = max(h.CreatedAt, 0)
	h.Cwd = r.workspace(root, path, hash)
	return h, nil
}

// speaks reports whether a message is one for whose sake the agent would resume a
// session.
func speaks(x *jsonl.Index, m *message) bool {
	list := blocks(x, m.content)
	text := strings.TrimSpace(said(list))
	switch m.kind(x) {
	case "user":
		for _, own := range [...]string{"/", "?", boilerplate, "<hook_context>"} {
			if strings.HasPrefix(text, own) {
				return false
			}
		}
		return text != ""
	case "gemini":
		return len(list) > 0 || jsonl.IsArray(m.calls)
	}
	return false
}
