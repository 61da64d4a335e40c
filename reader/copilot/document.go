package copilot

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/reader/linelog"
	"github.com/yorehq/yore/session"
)

// A document is written anew as a whole whenever something was said, so each change
// is a session read anew.

const (
	documentPrefix = "session_"
	documentSuffix = ".json"

	// maxDocument bounds what is read of one, in bytes.
	maxDocument = 64 << 20
)

// isDocument tells the earliest form by a file's name.
func isDocument(file string) bool {
	name := path.Base(filepath.ToSlash(file))
	return strings.HasPrefix(name, documentPrefix) && strings.HasSuffix(name, documentSuffix)
}

// Rank implements reader.Ranker: a session that was taken up by a later release is
// a log, which holds the document, too.
func (*Reader) Rank(_, path string) int {
	if isDocument(reader.FileOf(path)) {
		return 0
	}
	return 1
}

// document is one that was read.
type document struct {
	text  []byte
	x     jsonl.Index
	stamp reader.Stamp
}

func openDocument(ctx context.Context, path string) (*document, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f, stamp, err := reader.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if stamp.Size > maxDocument {
		return nil, reader.Unreadable(path, 0, 0, "the document is larger than %d bytes", maxDocument)
	}
	d := &document{stamp: stamp}
	all, err := io.ReadAll(io.LimitReader(f, maxDocument))
	if err != nil {
		return nil, err
	}
	d.text = all[jsonl.SkipSpace(all, 0):]
	if !d.x.Valid(d.text) || !jsonl.IsObject(d.text) {
		// It may be looked at while it is written.
		return nil, reader.Unreadable(path, 0, 0, "the document is no JSON object")
	}
	return d, nil
}

// header is what the document states. No workspace is in it.
func (d *document) header(path string) (session.Header, error) {
	h := session.Header{Agent: session.Copilot, ID: session.ID(jsonl.Text(d.x.Field(d.text, "sessionId")))}
	if t, ok := jsonl.Instant(d.x.Field(d.text, "startTime")); ok {
		h.CreatedAt = max(0, t.UnixMilli())
	}
	messages := d.x.Field(d.text, "chatMessages")
	switch {
	case h.ID == "":
		return h, reader.Unreadable(path, 1, 0, "it states no session")
	case !jsonl.IsArray(messages):
		return h, reader.Unreadable(path, 1, 0, "it holds no messages")
	}
	c := d.x.Enter(messages)
	if _, ok := c.Element(); !ok {
		return h, reader.ErrPending // nothing was said yet, or all was cleared
	}
	return h, nil
}

// events makes the events of the document, with texts from a number on.
func (d *document) events(from int64) []session.Event {
	out := linelog.NewEvents(0, from)
	out.Begin(session.Place{}, false)
	if t, ok := jsonl.Instant(d.x.Field(d.text, "startTime")); ok {
		out.Time = max(0, t.UnixMilli())
	}
	l := legacyOf(&d.x, d.text)
	newDecoder(part{}).legacy(&l, out)
	return out.List()
}

// Identify implements reader.Reader.
func (r *Reader) Identify(ctx context.Context, root, path string) (session.Header, error) {
	if !isDocument(path) {
		return r.Log.Identify(ctx, root, path)
	}
	d, err := openDocument(ctx, path)
	if err != nil {
		return session.Header{Agent: session.Copilot}, err
	}
	return d.header(path)
}

// Revise implements reader.Reader.
func (r *Reader) Revise(ctx context.Context, src reader.Source, at reader.Position) (reader.Revision, reader.Stamp, error) {
	if !isDocument(src.Path) {
		return r.Log.Revise(ctx, src, at)
	}
	if err := ctx.Err(); err != nil {
		return reader.Replaced, reader.Stamp{}, err
	}
	switch now, err := reader.StatRegular(src.Path); {
	case errors.Is(err, fs.ErrNotExist):
		return reader.Gone, reader.Stamp{}, nil
	case err != nil:
		return reader.Replaced, reader.Stamp{}, err
	case now == at.Stamp:
		return reader.Unchanged, now, nil
	default:
		return reader.Replaced, now, nil
	}
}

// Read implements reader.Reader.
func (r *Reader) Read(ctx context.Context, src reader.Source, from reader.Position, emit func(session.Event) error) (reader.Tail, error) {
	if !isDocument(src.Path) {
		return r.Log.Read(ctx, src, from, emit)
	}
	d, err := openDocument(ctx, src.Path)
	if err != nil {
		return reader.Tail{}, err
	}
	events := d.events(from.Next)
	next := from.Next
	for i := range events {
		if events[i].Seq < from.Next {
			continue
		}
		if err := ctx.Err(); err != nil {
			return reader.Tail{}, err
		}
		next = events[i].Seq + 1
		if err := emit(events[i]); err == reader.ErrStop {
			break
		} else if err != nil {
			return reader.Tail{}, err
		}
	}
	tail := reader.Tail{Position: reader.Position{Next: next, Stamp: d.stamp}, Bytes: d.stamp.Size}
	if next >= int64(len(events)) {
		tail.Position.Offset = d.stamp.Size
	}
	return tail, nil
}

// Window implements reader.Reader.
func (r *Reader) Window(ctx context.Context, src reader.Source, at session.Checkpoint, from, to int64, natives session.Range, emit func(session.Raw) error) (session.Header, error) {
	if !isDocument(src.Path) {
		return r.Log.Window(ctx, src, at, from, to, natives, emit)
	}
	d, err := openDocument(ctx, src.Path)
	if err != nil {
		return session.Header{Agent: session.Copilot}, err
	}
	h, err := d.header(src.Path)
	if err != nil {
		return h, err
	}
	var blocks *legacyBlocks
	for _, e := range d.events(from) {
		if e.Seq < from || e.Seq > to {
			continue
		}
		if err := ctx.Err(); err != nil {
			return h, err
		}
		raw := session.Raw{Event: e}
		if natives.Has(e.Seq) {
			if blocks == nil {
				blocks = blocksIn(d.text)
			}
			if raw.Native = bytes.Clone(blocks.at(e.Place.Part)); raw.Native == nil {
				raw.Native = bytes.Clone(d.text)
			}
		}
		if err := emit(raw); err != nil {
			return h, err
		}
	}
	return h, ctx.Err()
}
