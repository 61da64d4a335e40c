package ingest

import (
	"context"
	"fmt"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

// Window emits the events of a source with from ≤ seq ≤ to, closing records
// included and with the bytes of those in natives, and returns the header that
// the same observation of the log states.
func (in *Ingester) Window(ctx context.Context, source string, at session.Checkpoint, from, to int64, natives session.Range, emit func(session.Raw) error) (session.Header, error) {
	rows, err := in.Catalog.Files(ctx, FileLookup{Path: &source})
	if err != nil {
		return session.Header{}, err
	}
	if len(rows) == 0 {
		return session.Header{}, fmt.Errorf("%w: the log is not catalogued any more", fault.Persistence)
	}
	root, ok := in.root(rows[0])
	if !ok {
		return session.Header{}, fmt.Errorf("%w: the log lies under a root that was not given", fault.Persistence)
	}
	switch ok, err = in.remembered(ctx, rows[0]); {
	case err != nil:
		return session.Header{}, err
	case !ok:
		return session.Header{}, fmt.Errorf("%w: the session is one that its owner wants forgotten", fault.Persistence)
	}
	src := reader.Source{Agent: rows[0].Agent, Root: rows[0].Root, Path: source, Header: rows[0].Header}
	next := from
	h, err := root.Reader.Window(ctx, src, at, from, to, natives, func(r session.Raw) error {
		next = r.Event.Seq + 1
		return emit(r)
	})
	if h == rows[0].Header {
		h = rows[0].Fork.Apply(h)
	}
	if err != nil || next > to {
		return h, err
	}
	return h, in.closing(ctx, root.Reader, src, next, to, natives, emit)
}

// closing emits the closing records of an interrupted log.
func (in *Ingester) closing(ctx context.Context, r reader.Reader, src reader.Source, from, to int64, natives session.Range, emit func(session.Raw) error) error {
	closer, ok := r.(reader.Closer)
	if !ok {
		return nil
	}
	stored, err := in.Shards.Peek(ctx, src.Header.Cwd, StoredLookup{Sources: []string{src.Path}})
	if err != nil {
		return err
	}
	for _, s := range stored {
		if s.Provisional == 0 {
			continue
		}
		for _, raw := range closer.Closers(src, s.Position.State, s.Position.Next) {
			if raw.Event.Seq < from || raw.Event.Seq > to {
				continue
			}
			if !natives.Has(raw.Event.Seq) {
				raw.Native = nil
			}
			if err := emit(raw); err != nil {
				return err
			}
		}
	}
	return nil
}
