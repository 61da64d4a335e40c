package sqlite

import (
	"context"
	"encoding/json"
	"math"
	"math/bits"

	"github.com/yorehq/yore/internal/postings"
)

// Segments of about one size are merged when there are enough of them, so that
// there are never many and every byte is moved a few times only. A small merge
// is done at once, in the transaction that found it due. A larger one is done in
// steps, each in the transaction of some write and in proportion to what that
// writes, so that no append waits for a large merge. While one is under way
// another may begin if it is much smaller; it goes first, or segments of its size
// would gather until the larger one is done.
//
// The segment that a merge makes is there from the first step on, with its runs:
// documents that die meanwhile are cut from the inputs and from it alike. The
// last step makes it live and its inputs merged; these are removed in steps too.
const (
	fanIn      = 8        // segments of a size that are merged; each size is as many times the one before
	smallest   = 16 << 10 // bytes of the smallest size
	atOnce     = 1 << 20  // bytes of inputs up to which a merge is small
	largest    = 256 << 20
	stepLeast  = 256 << 10 // bytes that a step of a merge writes at least
	stepFactor = 6         // and in proportion to what was added
	nested     = 4         // how much smaller a merge is that begins while another is under way
)

// tier is the size class of a segment.
func tier(size int64) int {
	return bits.Len64(uint64(size/smallest)) / 3
}

// plan is a merge under way, kept with the segment that it makes.
type plan struct {
	Inputs   []planInput
	Columns  uint32 // documents whose columns are written
	Progress postings.Progress
}

type planInput struct {
	Segment int64
	Keep    []postings.Kept
	Whole   bool
}

func (p *plan) pack() ([]byte, error) {
	text, err := json.Marshal(p)
	return seal(0, text), err
}

func unpackPlan(data []byte) (p plan, err error) {
	text, err := unseal(0, data)
	if err == nil && json.Unmarshal(text, &p) != nil {
		err = damage
	}
	return p, err
}

// flush writes the documents that were gathered as a segment.
func (w *writer) flush(ctx context.Context) error {
	p := w.c.pending
	if p == nil || p.builder.Docs() == 0 {
		return nil
	}
	defer p.reset()
	id, err := w.c.newSegment(ctx, segmentLive, p.runs, plan{})
	if err != nil {
		return err
	}
	docs := p.builder.Docs()
	for first := 0; first < docs; first += columnDocs {
		if err := w.c.putColumns(ctx, id, first, p.columns.pack(first, min(docs, first+columnDocs))); err != nil {
			return err
		}
	}
	out := &counted{sink: sink{ctx: ctx, c: w.c, id: id}}
	if err := p.builder.Write(out); err != nil {
		return err
	}
	w.added += out.bytes
	return w.c.exec(ctx, `UPDATE segments SET size = ? WHERE id = ?`, out.bytes, id)
}

// counted counts what goes into a sink.
type counted struct {
	sink
	bytes int64
}

func (c *counted) Piece(n int64, data []byte) error {
	c.bytes += int64(len(data))
	return c.sink.Piece(n, data)
}

func (c *counted) Block(first []byte, n int64, data []byte) error {
	c.bytes += int64(len(data))
	return c.sink.Block(first, n, data)
}

func (c *conn) newSegment(ctx context.Context, state int, runs []docRun, p plan) (id int64, err error) {
	packed, err := p.pack()
	if err != nil {
		return 0, err
	}
	docs := uint32(0)
	if n := len(runs); n > 0 {
		docs = runs[n-1].end()
	}
	err = c.exec(ctx, `INSERT INTO segments (state, docs, dead, size, runs, plan) VALUES (?, ?, 0, 0, ?, ?)`, state, int64(docs), packRuns(runs), packed)
	return c.db.LastInsertRowID(), err
}

func (c *conn) putColumns(ctx context.Context, segment int64, first int, data []byte) error {
	at := pieceID(segment, int64(first/columnDocs))
	return c.exec(ctx, `INSERT INTO columns VALUES (?, ?)`, at, seal(at, data))
}

// cutSegments takes the documents of a session from n on out of all segments.
func (w *writer) cutSegments(ctx context.Context, session int64, n uint32) error {
	if w.c.pending != nil {
		w.c.pending.cut(session, n)
	}
	for _, state := range []int{segmentLive, segmentMade} {
		all, err := w.c.segments(ctx, state)
		if err != nil {
			return err
		}
		for _, g := range all {
			runs, err := w.c.runsOf(ctx, g.id)
			if err != nil {
				return err
			}
			kept, dead := cut(runs, session, n)
			if dead == 0 {
				continue
			}
			if err := w.c.exec(ctx, `UPDATE segments SET runs = ?, dead = dead + ? WHERE id = ?`, packRuns(kept), dead, g.id); err != nil {
				return err
			}
		}
	}
	return nil
}

// settle does the merges that are due after a write: small ones whole, of a
// large one a step.
func (w *writer) settle(ctx context.Context) error {
	for {
		live, err := w.c.segments(ctx, segmentLive)
		if err != nil {
			return err
		}
		running, err := w.c.segments(ctx, segmentMade)
		if err != nil {
			return err
		}
		inputs, err := w.c.inputsOf(ctx, running)
		if err != nil {
			return err
		}
		due := dueMerge(live, inputs)
		if due == nil {
			break
		}
		id, err := w.c.beginMerge(ctx, due)
		if err != nil {
			return err
		}
		if sizeOf(due) > atOnce {
			break
		}
		for done := false; !done; {
			if done, err = w.c.stepMerge(ctx, id, 2*atOnce); err != nil {
				return err
			}
		}
		if err := w.c.sweep(ctx, 4*atOnce); err != nil {
			return err
		}
	}
	return w.c.proceed(ctx, max(stepLeast, stepFactor*w.added))
}

func sizeOf(segments []segment) (sum int64) {
	for _, g := range segments {
		sum += g.size
	}
	return sum
}

// dueMerge returns the segments of the smallest size that has enough of them,
// none of which is merged already; nil if no merge is due or may begin. underWay
// says which merge takes a segment: the number of what it makes.
func dueMerge(live []segment, underWay map[int64]int64) []segment {
	tiers := map[int][]segment{}
	top := 0
	sizes := map[int64]int64{} // of the merges that are under way
	for _, g := range live {
		if made, busy := underWay[g.id]; busy {
			sizes[made] += g.size
			continue
		}
		if g.size >= largest {
			continue
		}
		t := tier(g.size)
		tiers[t], top = append(tiers[t], g), max(top, t)
	}
	room := int64(math.MaxInt64)
	for _, size := range sizes {
		room = min(room, size/nested)
	}
	for t := range top + 1 {
		some := tiers[t]
		if len(some) < fanIn {
			continue
		}
		some = some[:min(len(some), 2*fanIn)]
		if sizeOf(some) <= max(room, atOnce) {
			return some
		}
	}
	return nil
}

// proceed does a step of the latest large merge that is under way, which is the
// smallest, and of the removal of what merges have replaced.
func (c *conn) proceed(ctx context.Context, budget int64) error {
	running, err := c.segments(ctx, segmentMade)
	if err != nil {
		return err
	}
	if len(running) > 0 {
		if _, err := c.stepMerge(ctx, running[len(running)-1].id, budget); err != nil {
			return err
		}
	}
	return c.sweep(ctx, budget)
}

// inputsOf returns the segments that are being merged, and into which.
func (c *conn) inputsOf(ctx context.Context, running []segment) (map[int64]int64, error) {
	inputs := map[int64]int64{}
	for _, g := range running {
		p, err := c.planOf(ctx, g.id)
		if err != nil {
			return nil, err
		}
		for _, in := range p.Inputs {
			inputs[in.Segment] = g.id
		}
	}
	return inputs, nil
}

func (c *conn) planOf(ctx context.Context, id int64) (p plan, err error) {
	err = c.rowsOf(ctx, `SELECT plan FROM segments WHERE id = ?`, func(r row) (err error) {
		p, err = unpackPlan(r.blob(0))
		return err
	}, id)
	return p, c.fail(ctx, err)
}

// beginMerge plans a merge of what lives in some segments.
func (c *conn) beginMerge(ctx context.Context, inputs []segment) (id int64, err error) {
	var p plan
	var out []docRun
	next := uint32(0)
	for _, g := range inputs {
		runs, err := c.runsOf(ctx, g.id)
		if err != nil {
			return 0, err
		}
		in := planInput{Segment: g.id, Whole: g.dead == 0}
		for _, r := range runs {
			if n := len(in.Keep); n > 0 && in.Keep[n-1].To == r.local {
				in.Keep[n-1].To = r.end()
			} else {
				in.Keep = append(in.Keep, postings.Kept{Range: postings.Range{From: r.local, To: r.end()}, Base: next})
			}
			r.local = next
			next += r.count
			out = extend(out, r)
		}
		if len(in.Keep) > 0 {
			p.Inputs = append(p.Inputs, in)
			continue
		}
		if err := c.retire(ctx, g.id); err != nil { // nothing lives in it
			return 0, err
		}
	}
	return c.newSegment(ctx, segmentMade, out, p)
}

func (c *conn) retire(ctx context.Context, id int64) error {
	return c.exec(ctx, `UPDATE segments SET state = ? WHERE id = ?`, segmentMerged, id)
}

// stepMerge goes on with a merge until about so many bytes are written.
func (c *conn) stepMerge(ctx context.Context, id, budget int64) (done bool, err error) {
	p, err := c.planOf(ctx, id)
	if err != nil {
		return false, err
	}
	docs, err := c.integer(ctx, `SELECT docs FROM segments WHERE id = ?`, id)
	if err != nil {
		return false, err
	}
	written := int64(0)
	for written < budget && int64(p.Columns) < docs {
		data, err := c.mergeColumns(ctx, &p, min(docs, int64(p.Columns)+columnDocs))
		if err == nil {
			err = c.putColumns(ctx, id, int(p.Columns), data)
		}
		if err != nil {
			return false, err
		}
		p.Columns = uint32(min(docs, int64(p.Columns)+columnDocs))
		written += int64(len(data))
	}
	if written < budget {
		inputs := make([]postings.Input, len(p.Inputs))
		for i, in := range p.Inputs {
			inputs[i] = postings.Input{Source: source{ctx, c, in.Segment}, Keep: in.Keep, Whole: in.Whole}
		}
		before := p.Progress.Piece
		var n int
		p.Progress, n, err = postings.Merge(inputs, &sink{ctx: ctx, c: c, id: id}, p.Progress, int(budget-written))
		if err != nil {
			return false, c.corrupt(ctx, err)
		}
		if before == p.Progress.Piece && !p.Progress.Done {
			return false, c.fail(ctx, damage) // it would go on for ever
		}
		if err := c.exec(ctx, `UPDATE segments SET size = size + ? WHERE id = ?`, int64(n), id); err != nil {
			return false, err
		}
	}
	if p.Progress.Done {
		return true, c.endMerge(ctx, id, docs, p)
	}
	packed, err := p.pack()
	if err != nil {
		return false, err
	}
	return false, c.exec(ctx, `UPDATE segments SET plan = ? WHERE id = ?`, packed, id)
}

func (c *conn) endMerge(ctx context.Context, id, docs int64, p plan) error {
	for _, in := range p.Inputs {
		if err := c.retire(ctx, in.Segment); err != nil {
			return err
		}
	}
	state := segmentLive
	if docs == 0 {
		state = segmentMerged
	}
	return c.exec(ctx, `UPDATE segments SET state = ?, plan = x'' WHERE id = ?`, state, id)
}

// mergeColumns packs the columns of the documents from p.Columns to before end.
func (c *conn) mergeColumns(ctx context.Context, p *plan, end int64) ([]byte, error) {
	var out columns
	for _, in := range p.Inputs {
		for _, k := range in.Keep {
			from, to := max(k.Base, p.Columns), min(int64(k.Base)+int64(k.To-k.From), end)
			for at := int64(from); at < to; {
				local := k.From + uint32(at) - k.Base
				part, err := c.columnsOf(ctx, pieceID(in.Segment, int64(local/columnDocs)))
				if err != nil {
					return nil, err
				}
				first := int(local % columnDocs)
				last := min(len(part.tokens), first+int(to-at))
				if first >= last {
					return nil, c.fail(ctx, damage)
				}
				out.append(part, first, last)
				at += int64(last - first)
			}
		}
	}
	return out.pack(0, len(out.tokens)), nil
}

// columnsOf reads a row of columns; the one read last is kept.
func (c *conn) columnsOf(ctx context.Context, id int64) (cols *columns, err error) {
	if c.merging.columns != nil && c.merging.id == id {
		return c.merging.columns, nil
	}
	err = c.rowsOf(ctx, `SELECT data FROM columns WHERE id = ?`, func(r row) (err error) {
		if cols, err = unpackColumns(id, r.blob(0)); err == nil {
			err = cols.unpack()
		}
		return err
	}, id)
	if err == nil && cols == nil {
		err = damage
	}
	c.merging.id, c.merging.columns = id, cols
	return cols, c.fail(ctx, err)
}

// sweep removes pieces of merged segments, about so many bytes of them.
func (c *conn) sweep(ctx context.Context, budget int64) error {
	const some = 16 // pieces at a time
	old, err := c.segments(ctx, segmentMerged)
	if err != nil {
		return err
	}
	for _, g := range old {
		for g.size > 0 {
			if budget <= 0 {
				return nil
			}
			first, err := c.integer(ctx, `SELECT coalesce(min(id), -1) FROM pieces WHERE id BETWEEN ? AND ?`, pieceID(g.id, 0), pieceID(g.id+1, -1))
			if err != nil {
				return err
			}
			if first < 0 {
				break
			}
			size, err := c.integer(ctx, `SELECT sum(length(data)) FROM pieces WHERE id BETWEEN ? AND ?`, first, first+some)
			if err == nil {
				err = c.exec(ctx, `DELETE FROM pieces WHERE id BETWEEN ? AND ?`, first, min(first+some, pieceID(g.id+1, -1)))
			}
			if err != nil {
				return err
			}
			budget -= size
		}
		for _, sql := range []string{`DELETE FROM terms WHERE segment = ?1`, `DELETE FROM columns WHERE id BETWEEN ?1 << 24 AND (?1 + 1 << 24) - 1`, `DELETE FROM segments WHERE id = ?1`} {
			if err := c.exec(ctx, sql, g.id); err != nil {
				return err
			}
		}
	}
	return nil
}
