package linelog

import (
	"context"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

// Log is what readers of one format have in common, to be embedded: the methods of
// reader.Reader that look into a file, and reader.Loner. Nothing a log holds makes
// it unsound.
type Log struct{ format *Format }

// Of returns the common part of a format's reader.
func Of(f *Format) Log { return Log{f} }

// Identify implements reader.Reader.
func (l Log) Identify(ctx context.Context, root, path string) (session.Header, error) {
	if err := ctx.Err(); err != nil {
		return session.Header{}, err
	}
	f, stamp, err := reader.OpenRegular(reader.FileOf(path))
	if err != nil {
		return session.Header{}, err
	}
	defer f.Close()
	return l.format.Identify(ctx, f, stamp.Size, root, path)
}

// Revise implements reader.Reader.
func (l Log) Revise(ctx context.Context, src reader.Source, at reader.Position) (reader.Revision, reader.Stamp, error) {
	return l.format.Revise(ctx, src, at)
}

// Read implements reader.Reader.
func (l Log) Read(ctx context.Context, src reader.Source, from reader.Position, emit func(session.Event) error) (reader.Tail, error) {
	return l.format.Read(ctx, src, from, emit)
}

// Window implements reader.Reader.
func (l Log) Window(ctx context.Context, src reader.Source, at session.Checkpoint, from, to int64, natives session.Range, emit func(session.Raw) error) (session.Header, error) {
	return l.format.Window(ctx, src, at, from, to, natives, emit)
}

// Alone implements reader.Loner: an appended log depends on nothing beside it.
func (Log) Alone(reader.Source, reader.Position) bool { return true }
