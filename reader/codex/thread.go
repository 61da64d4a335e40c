package codex

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

// maxBases bounds how many files a thread may build upon.
const maxBases = 64

// part is one file of a thread. What an index keeps of it is exported.
type part struct {
	Path   string       `json:"path"` // relative to the root, with slashes
	Seg    string       `json:"seg"`
	Limit  *base        `json:"limit,omitempty"` // nil: all of it; else its lines before Limit.End
	From   base         `json:"from,omitzero"`   // what its own first line goes on from
	Stamp  reader.Stamp `json:"stamp"`           // of a file beside the primary one, when it was read
	Extent int64        `json:"extent,omitempty"`
	Check  uint64       `json:"check,omitempty"`
	Open   bool         `json:"open,omitempty"` // growth of it matters
	Torn   *reader.Skip `json:"torn,omitempty"` // where it ended before its end
}

// thread is the files of a session, in the order in which they are read: lines
// of other threads, then its own segments.
type thread struct {
	Root    string
	Parts   []part
	Primary int      // the part that is the session's file
	own     int      // how many parts come from other threads
	missing []string // segments that it builds upon and that are not there
	first   probe    // of the first segment of its own
	id      session.ID
	pending bool // its file may still say more of it
}

// segment is one file of a thread, as it is found.
type segment struct {
	path, seg string
	probe
}

// resolve finds the files of the thread that a file belongs to. Where that
// fails, the thread still holds what its file states.
func resolve(ctx context.Context, root, path string) (*thread, error) {
	t := &thread{Root: root}
	p, err := look(ctx, path)
	t.first, t.id = p, p.id
	if t.pending = err == reader.ErrPending && p.values > 0; err != nil && !t.pending {
		return t, err
	}
	name := filepath.Base(path)
	seg, _ := segmentOf(name)
	own := []segment{{path, seg, p}}
	if p.paginated || later(name) {
		if own, err = t.segments(ctx, own[0]); err != nil {
			return t, err
		}
	}
	chain, own, err := t.bases(ctx, own)
	if err != nil {
		return t, err
	}
	t.first, t.own = own[0].probe, len(chain)
	if ms, ok := bornAt(string(t.id)); ok && own[0].seg != string(t.id) && later(filepath.Base(own[0].path)) {
		t.first.created = ms // the first segment is not there, and this one states its own time
	}
	for _, s := range chain {
		t.add(s.path, s.seg, s.base, &base{End: s.limit.End, At: s.limit.At})
	}
	for _, s := range own {
		if s.path == path {
			t.Primary = len(t.Parts)
		}
		t.add(s.path, s.seg, s.base, nil)
	}
	return t, nil
}

func (t *thread) add(path, seg string, from base, limit *base) {
	rel, err := filepath.Rel(t.Root, path)
	if err != nil {
		rel = path
	}
	t.Parts = append(t.Parts, part{Path: filepath.ToSlash(rel), Seg: seg, From: from, Limit: limit})
}

func (t *thread) path(k int) string {
	return filepath.Join(t.Root, filepath.FromSlash(t.Parts[k].Path))
}

// segments finds the other segments of a thread: they lie beside the given one,
// and the first where the thread began.
func (t *thread) segments(ctx context.Context, given segment) ([]segment, error) {
	dir := filepath.Dir(given.path)
	dirs := []string{dir}
	if later(filepath.Base(given.path)) {
		dirs = folders(t.Root, dir, string(t.id))
	}
	paths := map[string]string{}
	if plainID(string(t.id)) {
		for _, d := range dirs {
			for _, path := range logs(d, string(t.id)) {
				if seg, _ := segmentOf(filepath.Base(path)); seg != given.seg && seg != "" {
					paths[seg] = prefer(paths[seg], path)
				}
			}
		}
	}
	own := []segment{given}
	for seg, path := range paths {
		p, err := look(ctx, path)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil && !errors.Is(err, reader.ErrPending) || p.id != t.id || p.values == 0:
			continue // another thread's, or none
		}
		own = append(own, segment{path, seg, p})
	}
	slices.SortFunc(own, t.order)
	return own, nil
}

// order is the order in which segments were made: the first bears the thread's
// id, and the others' grow with time.
func (t *thread) order(a, b segment) int {
	switch {
	case a.seg == string(t.id) && b.seg != a.seg:
		return -1
	case b.seg == string(t.id) && b.seg != a.seg:
		return 1
	}
	return strings.Compare(a.seg, b.seg)
}

// limited is a segment of another thread of which the beginning is taken over.
type limited struct {
	segment
	limit base
}

// bases finds the lines of other threads that the first segment goes on from,
// the oldest first, and the segments of the thread itself that others go on from.
func (t *thread) bases(ctx context.Context, own []segment) ([]limited, []segment, error) {
	seen := map[string]bool{}
	for _, s := range own {
		seen[s.seg] = true
	}
	dir := filepath.Dir(own[0].path)
	others := map[string]segment{} // of other threads
	for i := 0; i < len(own) && i < maxBases; i++ {
		seg := own[i].base.Seg
		if seg == "" || seen[seg] {
			continue
		}
		s, ok, err := t.lookUp(ctx, dir, seg)
		switch {
		case err != nil:
			return nil, nil, err
		case ok && s.id == t.id:
			own, seen[seg] = append(own, s), true
		case ok:
			others[seg] = s
		}
	}
	slices.SortFunc(own, t.order)

	var chain []limited
	for limit := own[0].base; limit.Seg != "" && !seen[limit.Seg] && len(chain) < maxBases; {
		seen[limit.Seg] = true
		s, ok := others[limit.Seg]
		if !ok {
			var err error
			if s, ok, err = t.lookUp(ctx, dir, limit.Seg); err != nil {
				return nil, nil, err
			}
		}
		if !ok {
			t.missing = append(t.missing, limit.Seg)
			break
		}
		chain = append(chain, limited{s, limit})
		// A base never gives more than what was taken of what builds upon it.
		next := s.base
		next.End = min(next.End, limit.End)
		limit = next
	}
	slices.Reverse(chain)
	return chain, own, nil
}

// lookUp finds a segment and what its file states.
func (t *thread) lookUp(ctx context.Context, dir, seg string) (segment, bool, error) {
	path := find(t.Root, dir, seg)
	if path == "" {
		return segment{}, false, ctx.Err()
	}
	p, err := look(ctx, path)
	if ctx.Err() != nil {
		return segment{}, false, ctx.Err()
	}
	return segment{path, seg, p}, err == nil || errors.Is(err, reader.ErrPending) && p.values > 0, nil
}

// header makes the header, without what has to be counted.
func (t *thread) header() session.Header {
	h := t.first.header()
	if h.ParentSession == "" && t.first.copied != "" && t.first.copied != h.ID {
		h.ParentSession = t.first.copied
	}
	return h
}

// mark is a place between two values of a thread.
type mark struct {
	part   int
	offset int64 // of the part's text
	line   int64
}

// run decodes a thread from one mark on. It ends before the value at until (part
// -1: nowhere), or before one that visit turns down; got is handed what became
// of each. It returns where to go on.
func (t *thread) run(ctx context.Context, d *decoder, from, until mark, visit func(k int, v *value, r *record) bool, got func(k int, v *value, made []made) error) (mark, error) {
	at := from
	for k := from.part; k < len(t.Parts); k++ {
		if k > from.part {
			at = mark{part: k}
		}
		stop, err := t.runPart(ctx, d, &at, until, visit, got)
		if err != nil || stop {
			return at, err
		}
		d.passed(k)
	}
	return at, nil
}

func (t *thread) runPart(ctx context.Context, d *decoder, at *mark, until mark, visit func(int, *value, *record) bool, got func(int, *value, []made) error) (stop bool, err error) {
	k := at.part
	p := &t.Parts[k]
	in, err := openText(t.path(k), at.offset, at.line, -1)
	if err != nil {
		return false, err
	}
	limited := false
	defer func() {
		d.bytes += in.bytes
		d.seen[k] = ending{stamp: in.stamp, extent: in.extent(at.offset), open: !limited}
		if in.torn != "" {
			d.torn[k] = in.tear(k)
		}
		in.close()
	}()
	for {
		v, err := in.next(ctx)
		if errors.Is(err, io.EOF) {
			at.offset, at.line = in.at, in.line
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if k == until.part && v.start >= until.offset {
			return true, nil
		}
		r := record{ordinal: -1, time: -1}
		if !v.none {
			r = parseRecord(v.x, v.text)
		}
		if l := p.Limit; l != nil && (r.ordinal >= l.End || r.ordinal < 0 && l.At > 0 && v.start >= l.At) {
			limited = true
			return false, nil
		}
		if visit != nil && !visit(k, &v, &r) {
			return true, nil
		}
		made, err := d.decode(ctx, k, &v, &r)
		if err != nil {
			return false, err
		}
		at.offset, at.line = in.at, in.line
		if got != nil {
			if err := got(k, &v, made); err != nil {
				return errors.Is(err, reader.ErrStop), stopOnly(err)
			}
		}
	}
}

// stopOnly takes ErrStop for no error.
func stopOnly(err error) error {
	if errors.Is(err, reader.ErrStop) {
		return nil
	}
	return err
}
