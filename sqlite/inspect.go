package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/yorehq/yore/internal/document"
	"github.com/yorehq/yore/internal/postings"
	"github.com/yorehq/yore/query"
)

// inspect reads all that a shard holds of its documents and compares each part
// with the others: records, texts, and what every segment says in its lists, its
// columns and its runs. It returns what is wrong first; "": nothing.
func (c *conn) inspect(ctx context.Context) (problem string, err error) {
	if err := c.exec(ctx, `BEGIN`); err != nil {
		return "", err
	}
	defer c.rollback()
	i := &inspection{ctx: ctx, c: c, entries: map[int64]int64{}, at: &cursor{c: c, block: -1}}
	for _, look := range []func() error{i.sessions, i.segments, i.texts, i.orphans} {
		if err := look(); err != nil || i.problem != "" {
			return i.problem, err
		}
	}
	return "", nil
}

// An inspection keeps three bits a document in memory, and reads its record again
// wherever it is compared.
type inspection struct {
	ctx     context.Context
	c       *conn
	problem string
	entries map[int64]int64 // records of each session
	at      *cursor         // the block of records read last
	tokens  ticks           // documents that have tokens, and are in no segment yet
	points  ticks           // those that have a text, and were not told yet
	indexed ticks           // those that a live segment holds
}

// ticks are marks on documents, one bit each.
type ticks map[int64][]uint64

// of returns the word and the bit of a document among those of its session.
func (m *ticks) of(id query.DocID, entries int64) (word *uint64, bit uint64) {
	num := id.Session()
	if (*m)[num] == nil {
		if *m == nil {
			*m = ticks{}
		}
		(*m)[num] = make([]uint64, (entries+63)/64)
	}
	n := int64(id - query.NewDocID(num, 0))
	return &(*m)[num][n/64], 1 << (n % 64)
}

// record returns the record of a document; ok is false if there is none.
func (i *inspection) record(id query.DocID) (r record, ok bool, err error) {
	num := id.Session()
	n := int64(id - query.NewDocID(num, 0))
	if n >= i.entries[num] {
		return r, false, nil
	}
	i.at.num, i.at.entries = num, i.entries[num]
	r, err = i.at.at(i.ctx, n)
	return r, err == nil, err
}

// first returns a document that is marked; ok is false if none is.
func (m ticks) first() (id query.DocID, ok bool) {
	for num, words := range m {
		for w, word := range words {
			if word != 0 {
				return query.NewDocID(num, int64(w)*64+int64(bits.TrailingZeros64(word))), true
			}
		}
	}
	return 0, false
}

func (i *inspection) say(format string, args ...any) error {
	if i.problem == "" {
		i.problem = fmt.Sprintf(format, args...)
	}
	return nil
}

// sessions reads the records and holds them against the shard's counters.
func (i *inspection) sessions() error {
	err := i.c.rowsOf(i.ctx, `SELECT num, entries FROM sessions`, func(r row) error {
		i.entries[r.int(0)] = r.int(1)
		return nil
	})
	if err != nil {
		return err
	}
	var documents, tokens int64
	for num, n := range i.entries {
		k := &cursor{c: i.c, num: num, entries: n, block: -1}
		last := int64(-1)
		for at := range n {
			r, err := k.at(i.ctx, at)
			if err != nil {
				return err
			}
			if r.seq <= last {
				return i.say("session %d: record %d is not behind the one before it", num, at)
			}
			last = r.seq
			id := query.NewDocID(num, at)
			if r.points > 0 {
				word, bit := i.points.of(id, n)
				*word |= bit
			}
			if r.tokens > 0 {
				word, bit := i.tokens.of(id, n)
				*word |= bit
				documents, tokens = documents+1, tokens+int64(r.tokens)
			}
		}
	}
	return i.c.rowsOf(i.ctx, `SELECT documents, tokens FROM shard`, func(r row) error {
		if r.int(0) != documents || r.int(1) != tokens {
			return i.say("the shard counts %d documents and %d tokens, its records %d and %d", r.int(0), r.int(1), documents, tokens)
		}
		return nil
	})
}

func (i *inspection) segments() error {
	for _, state := range []int{segmentLive, segmentMade} {
		all, err := i.c.segments(i.ctx, state)
		if err != nil {
			return err
		}
		for _, g := range all {
			if err := i.segment(g); err != nil || i.problem != "" {
				return err
			}
		}
	}
	if id, ok := i.tokens.first(); ok {
		return i.say("document %d is in no segment", id)
	}
	return nil
}

func (i *inspection) segment(g segment) error {
	runs, err := i.c.runsOf(i.ctx, g.id)
	if err != nil {
		return err
	}
	alive := int64(0)
	for _, r := range runs {
		alive += int64(r.count)
		if int64(r.end()) > g.docs {
			return i.say("segment %d: a run ends behind its last document", g.id)
		}
	}
	if alive != g.docs-g.dead {
		return i.say("segment %d: %d documents in its runs, want %d", g.id, alive, g.docs-g.dead)
	}
	if g.state == segmentMade {
		_, err := i.c.planOf(i.ctx, g.id)
		return err // its lists are not all there yet
	}
	survey, err := postings.Inspect(source{i.ctx, i.c, g.id}, uint32(g.docs))
	if err != nil {
		return i.c.corrupt(i.ctx, err)
	}
	const own = `SELECT count(*) FROM %s WHERE id BETWEEN ?1 << 24 AND (?1 + 1 << 24) - 1`
	if n, err := i.c.integer(i.ctx, fmt.Sprintf(own, "pieces"), g.id); err != nil || n != survey.Pieces {
		return orSay(err, i, "segment %d: %d pieces, %d of them in use", g.id, n, survey.Pieces)
	}
	if n, err := i.c.integer(i.ctx, fmt.Sprintf(own, "columns"), g.id); err != nil || n != (g.docs+columnDocs-1)/columnDocs {
		return orSay(err, i, "segment %d: %d rows of columns for %d documents", g.id, n, g.docs)
	}
	for local := uint32(0); int64(local) < g.docs; local++ {
		cols, err := i.c.columnsOf(i.ctx, pieceID(g.id, int64(local/columnDocs)))
		if err != nil {
			return err
		}
		at := int(local % columnDocs)
		if at >= len(cols.tokens) || cols.tokens[at] != int32(survey.Lengths[local]) {
			// The lists of the dead lose nothing before a merge leaves them out as a whole.
			return i.say("segment %d: document %d has %d tokens in the lists and others in the columns", g.id, local, survey.Lengths[local])
		}
		for len(runs) > 0 && runs[0].end() <= local {
			runs = runs[1:]
		}
		if len(runs) == 0 || local < runs[0].local {
			continue // it is dead
		}
		id := query.NewDocID(runs[0].session, int64(runs[0].n+local-runs[0].local))
		r, ok, err := i.record(id)
		if err != nil {
			return err
		}
		if !ok {
			return i.say("segment %d: document %d is in no session", g.id, id)
		}
		seen, bit := i.indexed.of(id, i.entries[id.Session()])
		if *seen&bit != 0 {
			return i.say("segment %d: document %d is in two segments", g.id, id)
		}
		*seen |= bit
		has, _ := i.tokens.of(id, i.entries[id.Session()])
		*has &^= bit
		got := columnRest{r.time, r.seq, r.native(), r.flags}
		if int32(r.tokens) != cols.tokens[at] || r.role != cols.roles[at] || r.points != cols.points[at] || r.kind != cols.kinds[at] || got != cols.rest[at] {
			return i.say("segment %d: the columns of document %d are not its record", g.id, id)
		}
	}
	return nil
}

func orSay(err error, i *inspection, format string, args ...any) error {
	if err != nil {
		return err
	}
	return i.say(format, args...)
}

// texts compares the texts with what records say of them.
func (i *inspection) texts() error {
	for first := query.DocID(-1); ; {
		var packed []byte
		err := i.c.rowsOf(i.ctx, `SELECT first, data FROM texts WHERE first > ? ORDER BY first LIMIT 1`, func(r row) error {
			first, packed = query.DocID(r.int(0)), r.blob(1)
			return nil
		}, int64(first))
		if err != nil {
			return err
		}
		if packed == nil {
			break
		}
		block, err := unpack(i.c.x.dec, first, packed)
		if err != nil {
			return i.c.fail(i.ctx, err)
		}
		var failed error
		err = block.each(func(id query.DocID, _ int, text []byte) bool {
			var rec record
			var ok bool
			if rec, ok, failed = i.record(id); failed != nil {
				return false
			}
			if ok {
				word, bit := i.points.of(id, i.entries[id.Session()])
				ok = *word&bit != 0 // it has one, and was not told before
				*word &^= bit
			}
			if !ok || int(rec.points) != document.Points(string(text)) {
				i.say("the text of document %d is not what its record says", id)
			}
			return i.problem == ""
		})
		if err = i.c.fail(i.ctx, errors.Join(failed, err)); err != nil || i.problem != "" {
			return err
		}
	}
	if id, ok := i.points.first(); ok {
		return i.say("the text of document %d is missing", id)
	}
	return nil
}

// orphans looks for rows of segments that are not there.
func (i *inspection) orphans() error {
	ids := []int64{}
	err := i.c.rowsOf(i.ctx, `SELECT id FROM segments`, func(r row) error {
		ids = append(ids, r.int(0))
		return nil
	})
	if err != nil {
		return err
	}
	for _, sql := range []string{`SELECT DISTINCT id >> 24 FROM pieces`, `SELECT DISTINCT id >> 24 FROM columns`, `SELECT DISTINCT segment FROM terms`} {
		err := i.c.rowsOf(i.ctx, sql, func(r row) error {
			if !slices.Contains(ids, r.int(0)) {
				return i.say("rows of segment %d, which is not there", r.int(0))
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
