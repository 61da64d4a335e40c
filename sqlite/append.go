package sqlite

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/document"
	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// defaultOrder is the position key of an append, which is not stored.
func defaultOrder(seq int64) int64 { return seq << session.OrderBits }

// Append adds what a run of events brought. It writes the new documents, the
// two blocks that were not full, and what the surface changes touch.
func (w *writer) Append(ctx context.Context, num int64, b *ingest.Batch) error {
	k, err := w.session(ctx, num)
	if err != nil {
		return err
	}
	if err := w.addEntries(ctx, k, b.Entries); err != nil {
		return err
	}
	if k, err = w.session(ctx, num); err != nil {
		return err
	}
	if err := w.changeSurface(ctx, k, b); err != nil {
		return err
	}
	if err := w.addCitations(ctx, k, b.Citations); err != nil {
		return err
	}
	if err := w.addBreaks(ctx, num, b.Breaks); err != nil {
		return err
	}
	return w.addCheckpoints(ctx, num, b.Checkpoints)
}

func (w *writer) addEntries(ctx context.Context, k *cursor, entries []ingest.Entry) error {
	if len(entries) == 0 {
		return nil
	}
	if k.entries+int64(len(entries)) > query.MaxDocs {
		return fmt.Errorf("%w: a session with more than %d documents", fault.IndexFailed, query.MaxDocs)
	}
	last := int64(-1)
	if k.entries > 0 {
		r, err := k.at(ctx, k.entries-1)
		if err != nil {
			return err
		}
		last = r.seq
	}
	id := query.NewDocID(k.num, k.entries)
	texts, err := w.lastBlock(ctx, query.NewDocID(k.num, 0), id-1)
	if err != nil {
		return err
	}
	dirty := false
	var block []byte
	if slotOf(id) > 0 {
		block = append(block, k.data...) // the last record's block was read just now
	}
	types, tools := numbers{w: w, table: "types", limit: math.MaxUint32}, numbers{w: w, table: "tools", first: 1, limit: math.MaxUint16}
	for i := range entries {
		e := &entries[i]
		if e.Seq <= last {
			return fmt.Errorf("%w: an entry with seq %d behind %d", fault.IndexFailed, e.Seq, last)
		}
		last = e.Seq
		r := record{seq: e.Seq, time: e.Time, sameness: cmp.Or(e.Sameness, e.Native), role: query.RoleOf(e.Speaker, e.First), flags: flagsOf(e)}
		if r.kind, err = types.number(ctx, e.Type); err != nil {
			return err
		}
		if e.Tool != "" {
			tool, err := tools.number(ctx, e.Tool)
			if err != nil {
				return err
			}
			r.tool = uint16(tool)
		}
		if e.Text != "" {
			r.points = uint32(document.Points(e.Text))
			if err := w.addPostings(ctx, id, e.Text, &r); err != nil {
				return err
			}
			if texts == nil {
				texts = &textBlock{first: id}
			} else if texts.full(len(e.Text)) {
				if dirty {
					if err := w.putBlock(ctx, texts); err != nil {
						return err
					}
				}
				texts.first, texts.raw = id, texts.raw[:0]
			}
			texts.add(id, e.Text)
			dirty = true
		}
		if e.Surface && e.Order != defaultOrder(e.Seq) {
			if err := w.putOrder(ctx, id, e.Order); err != nil {
				return err
			}
		}
		block = r.append(block)
		if slotOf(id) == blockDocs-1 {
			if err := w.putRecords(ctx, id, block); err != nil {
				return err
			}
			block = block[:0]
		}
		id++
	}
	if len(block) > 0 {
		if err := w.putRecords(ctx, id-1, block); err != nil {
			return err
		}
	}
	if dirty {
		if err := w.putBlock(ctx, texts); err != nil {
			return err
		}
	}
	return w.c.exec(ctx, `UPDATE sessions SET entries = ? WHERE num = ?`, k.entries+int64(len(entries)), k.num)
}

func flagsOf(e *ingest.Entry) (flags uint8) {
	if e.Surface {
		flags |= flagSurface
	}
	if e.Provisional {
		flags |= flagProvisional
	}
	if e.Clipped {
		flags |= flagClipped
	}
	if e.Sameness == 0 && e.Native != 0 {
		flags |= flagNative
	}
	return flags
}

// pendingBytes is how much memory documents may take before they become a segment.
const pendingBytes = 24 << 20

// addPostings takes a document into the segment that this transaction writes,
// unless it has no token, and counts its tokens.
func (w *writer) addPostings(ctx context.Context, id query.DocID, text string, r *record) error {
	if w.c.pending == nil {
		w.c.pending = &pending{}
	}
	if w.c.pending.add(id, text, r); r.tokens == 0 {
		return nil
	}
	w.documents++
	w.tokens += int64(r.tokens)
	if w.c.pending.builder.Size() < pendingBytes {
		return nil
	}
	return w.flush(ctx)
}

func (w *writer) putRecords(ctx context.Context, id query.DocID, block []byte) error {
	return w.c.exec(ctx, `INSERT INTO records VALUES (?, ?) ON CONFLICT DO UPDATE SET data = excluded.data`, blockOf(id), seal(blockOf(id), block))
}

func (w *writer) putOrder(ctx context.Context, id query.DocID, key int64) error {
	return w.c.exec(ctx, `INSERT INTO orders VALUES (?, ?) ON CONFLICT DO UPDATE SET key = excluded.key`, int64(id), key)
}

// lastBlock returns the last block of texts that begins in a range; nil if
// there is none.
func (w *writer) lastBlock(ctx context.Context, from, to query.DocID) (*textBlock, error) {
	var first query.DocID
	var packed []byte
	err := w.c.rowsOf(ctx, `SELECT first, data FROM texts WHERE first BETWEEN ? AND ? ORDER BY first DESC LIMIT 1`, func(r row) error {
		first, packed = query.DocID(r.int(0)), r.blob(1)
		return nil
	}, int64(from), int64(to))
	if err != nil || packed == nil {
		return nil, err
	}
	block, err := unpack(w.c.x.dec, first, packed)
	return &block, w.c.fail(ctx, err)
}

func (w *writer) putBlock(ctx context.Context, b *textBlock) error {
	w.packed = seal(int64(b.first), w.c.x.enc.EncodeAll(b.raw, w.packed[:0]))
	return w.c.exec(ctx, `INSERT INTO texts VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET size = excluded.size, data = excluded.data`,
		int64(b.first), len(b.raw), w.packed)
}

// numbers gives names the numbers that records hold in their stead, within one append.
type numbers struct {
	w            *writer
	table        string // types or tools
	first, limit uint32 // the lowest number and the highest
	known        map[string]uint32
}

// number returns a name's number, a new one if it has none; 0 beyond the limit.
func (t *numbers) number(ctx context.Context, name string) (uint32, error) {
	if t.known == nil {
		names, err := t.w.c.names(ctx, t.table)
		if err != nil {
			return 0, err
		}
		t.known = make(map[string]uint32, len(names))
		for num, name := range names {
			t.known[name] = num
		}
	}
	if num, ok := t.known[name]; ok {
		return num, nil
	}
	if uint32(len(t.known)) > t.limit-t.first {
		return 0, nil
	}
	num := uint32(len(t.known)) + t.first
	t.known[name] = num
	return num, t.w.c.exec(ctx, `INSERT INTO `+t.table+` VALUES (?, ?)`, int64(num), name)
}

// names returns the names in a table by their numbers.
func (c *conn) names(ctx context.Context, table string) (map[uint32]string, error) {
	names := map[uint32]string{}
	err := c.rowsOf(ctx, `SELECT num, name FROM `+table, func(r row) error {
		names[uint32(r.int(0))] = r.text(1)
		return nil
	})
	return names, err
}

// Withdraw takes back the provisional entries at the end of a session, and what
// they did to the surface.
func (w *writer) Withdraw(ctx context.Context, num int64) error {
	k, err := w.session(ctx, num)
	if err != nil {
		return err
	}
	n, surface := k.entries, false
	first := int64(-1)
	for ; n > 0; n-- {
		r, err := k.at(ctx, n-1)
		if err != nil {
			return err
		}
		if !r.is(flagProvisional) {
			break
		}
		first, surface = r.seq, surface || r.is(flagSurface)
	}
	if first < 0 {
		return nil
	}
	if surface {
		for _, table := range []string{"removed", "shadow", "citations"} {
			if err := w.c.exec(ctx, `DELETE FROM `+table+` WHERE num = ? AND by >= ?`, num, first); err != nil {
				return err
			}
		}
	}
	if err := w.c.exec(ctx, `DELETE FROM checkpoints WHERE num = ? AND seq >= ?`, num, first); err != nil {
		return err
	}
	return w.cutDocuments(ctx, k, n)
}
