package sqlite

import (
	"context"
	"errors"
	"slices"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/postings"
	"github.com/yorehq/yore/query"
)

// maxPhrase is how many tokens one phrase may have.
const maxPhrase = 64

// searched is a live segment in a snapshot.
type searched struct {
	segment
	runs    []docRun   // nil: not read yet
	columns []*columns // by row; nil: not read yet
}

// searched returns the live segments, in which so many documents must live.
func (c *conn) searched(ctx context.Context, documents int64) ([]*searched, error) {
	all, err := c.segments(ctx, segmentLive)
	if err != nil {
		return nil, err
	}
	for _, one := range all {
		documents -= one.docs - one.dead
	}
	if documents != 0 {
		return nil, c.fail(ctx, damage) // a segment is missing, or one too many
	}
	out := make([]*searched, len(all)) // not nil: it was read
	for i, one := range all {
		out[i] = newSearched(one)
	}
	return out, nil
}

func newSearched(one segment) *searched {
	return &searched{segment: one, columns: make([]*columns, (one.docs+columnDocs-1)/columnDocs)}
}

// holds reports whether these are the live segments still.
func (c *conn) holds(ctx context.Context, known []*searched) (bool, error) {
	all, err := c.segments(ctx, segmentLive)
	return err == nil && slices.EqualFunc(all, known, func(a segment, b *searched) bool { return a == b.segment }), err
}

// copies returns segments for another snapshot.
func copies(known []*searched) []*searched {
	out := make([]*searched, len(known))
	for i, g := range known {
		out[i] = &searched{segment: g.segment, runs: g.runs, columns: make([]*columns, len(g.columns))}
	}
	return out
}

// live returns the segments that the snapshot searches.
func (s *snapshot) live(ctx context.Context) ([]*searched, error) {
	if s.segments != nil {
		return s.segments, nil
	}
	c, err := s.connect(ctx)
	if err == nil {
		s.segments, err = c.searched(ctx, s.totals.Documents)
	}
	return s.segments, err
}

func (s *snapshot) runs(ctx context.Context, g *searched) ([]docRun, error) {
	if g.runs != nil {
		return g.runs, nil
	}
	c, err := s.connect(ctx)
	if err == nil {
		g.runs, err = c.runsOf(ctx, g.id)
	}
	return g.runs, err
}

// column returns the row of columns that holds a document.
func (s *snapshot) column(ctx context.Context, g *searched, local uint32) (*columns, error) {
	n := int(local / columnDocs)
	if n < len(g.columns) && g.columns[n] != nil {
		return g.columns[n], nil
	}
	at := pieceKey{s.birth, pieceID(g.id, int64(n))}
	found := s.x.columns.get(at)
	if st := s.resting(); found == nil && st != nil {
		data, err := st.kept("columns", at.id)
		if err == nil {
			found, err = unpackColumns(at.id, slices.Clone(data))
		}
		s.odd(err)
	}
	if found == nil {
		c, err := s.connect(ctx)
		if err != nil {
			return nil, err
		}
		err = c.rowsOf(ctx, `SELECT data FROM columns WHERE id = ?`, func(r row) (err error) {
			found, err = unpackColumns(at.id, r.blob(0))
			return err
		}, at.id)
		if err == nil && found == nil {
			err = damage
		}
		if err != nil {
			return nil, c.fail(ctx, err)
		}
	}
	if n >= len(g.columns) {
		return nil, s.corrupt(ctx, postings.ErrCorrupt)
	}
	s.x.columns.put(at, found)
	g.columns[n] = found
	return found, nil
}

// Match finds a phrase in one segment after the other.
func (s *snapshot) Match(ctx context.Context, phrase []string, spans []query.Span, least *query.Least, found func(*query.Run) error) error {
	if err := s.hold(); err != nil {
		return err
	}
	defer s.leave()
	if len(phrase) > maxPhrase {
		return fault.New(fault.InvalidQuery, "The query has more than %d words.", maxPhrase)
	}
	tokens := make([][]byte, len(phrase))
	for i, t := range phrase {
		if t == "" {
			return nil // no token of ours
		}
		tokens[i] = []byte(t)
	}
	segments, err := s.live(ctx)
	if err != nil {
		return err
	}
	named, err := s.named(ctx)
	if err != nil {
		return err
	}
	if spans != nil {
		spans = merged(spans)
	}
	k := &s.gatherer
	k.ctx, k.s, k.least, k.found = ctx, s, least, found
	k.clear() // of a match that failed
	s.matcher.Least = 0
	defer func() { s.matcher.Least = 0 }()
	for _, g := range segments {
		if err := ctx.Err(); err != nil {
			return err
		}
		runs, err := s.runs(ctx, g)
		if err != nil {
			return err
		}
		var ranges []postings.Range
		if spans != nil {
			if ranges = within(runs, spans); ranges == nil {
				continue
			}
		}
		k.open(g, runs, named)
		if err := s.matcher.Match(memory{ctx, s, g.id}, tokens, ranges, k.take); err != nil {
			return s.corrupt(ctx, err)
		}
		if err := k.give(); err != nil {
			return err
		}
	}
	return nil
}

// corrupt gives the failure of a segment's reader its meaning.
func (c *conn) corrupt(ctx context.Context, err error) error {
	if errors.Is(err, postings.ErrCorrupt) {
		return c.fail(ctx, damage)
	}
	return err
}

// corrupt is conn.corrupt for a view, which takes a connection to condemn the file.
func (s *snapshot) corrupt(ctx context.Context, err error) error {
	if !errors.Is(err, postings.ErrCorrupt) {
		return err
	}
	c, failed := s.connect(ctx)
	if failed != nil {
		return failed
	}
	return c.corrupt(ctx, err)
}

// Totals returns the statistics over all documents.
func (s *snapshot) Totals(ctx context.Context, tokens []string) (query.Totals, error) {
	t := s.totals
	if len(tokens) == 0 {
		return t, nil
	}
	if err := s.hold(); err != nil {
		return t, err
	}
	defer s.leave()
	t.Holding = make([]int64, len(tokens))
	segments, err := s.live(ctx)
	if err != nil {
		return t, err
	}
	for _, g := range segments {
		for i, token := range tokens {
			n, err := s.holding(ctx, g, token)
			if err != nil {
				return t, s.corrupt(ctx, err)
			}
			t.Holding[i] += n
		}
	}
	return t, nil
}

// holding counts the documents of a segment that hold a token: the dictionary
// says how many, unless some of them may be dead.
func (s *snapshot) holding(ctx context.Context, g *searched, token string) (n int64, err error) {
	src := memory{ctx, s, g.id}
	if token == "" {
		return 0, nil
	}
	if g.dead == 0 {
		var list postings.List
		if ok, err := list.Find(src, []byte(token)); !ok || err != nil {
			return 0, err
		}
		return int64(list.Docs), nil
	}
	runs, err := s.runs(ctx, g)
	if err != nil {
		return 0, err
	}
	alive := []postings.Range{}
	for _, r := range runs {
		alive = append(alive, postings.Range{From: r.local, To: r.end()})
	}
	err = s.matcher.Match(src, [][]byte{[]byte(token)}, alive, func(docs, _ []uint32) error {
		n += int64(len(docs))
		return nil
	})
	return n, err
}

// gatherer turns what is found in a segment into runs of one session each.
type gatherer struct {
	ctx   context.Context
	s     *snapshot
	g     *searched
	runs  []docRun
	least *query.Least // may be nil
	found func(*query.Run) error

	at  int       // in runs
	run query.Run // what was gathered so far; its slices are used again
}

// runDocs is about how many documents are handed on at once.
const runDocs = 1024

// open begins with a segment.
func (k *gatherer) open(g *searched, runs []docRun, n *names) {
	k.g, k.runs, k.at = g, runs, 0
	row := func(place uint32) (*columns, uint32, error) {
		c := g.columns[place/columnDocs]
		return c, place % columnDocs, c.unpack()
	}
	k.run.Type = func(place uint32) (string, error) {
		c, at, err := row(place)
		if err != nil {
			return "", err
		}
		return n.types[c.kinds[at]], nil
	}
	k.run.Points = func(place uint32) (int32, error) {
		c, at, err := row(place)
		if err != nil {
			return 0, err
		}
		return int32(c.points[at]), nil
	}
	k.run.Look = func(place uint32, id query.DocID) (query.Document, error) {
		c, at, err := row(place)
		if err != nil {
			return query.Document{}, err
		}
		return c.document(int(at), id, n), nil
	}
}

func (k *gatherer) take(docs, counts []uint32) error {
	for i := 0; i < len(docs); {
		for k.at < len(k.runs) && k.runs[k.at].end() <= docs[i] {
			k.at++
		}
		if k.at == len(k.runs) {
			return nil
		}
		r := &k.runs[k.at]
		if docs[i] < r.local {
			i++ // it is dead
			continue
		}
		if k.run.Session != r.session || len(k.run.Docs) >= runDocs {
			if err := k.give(); err != nil {
				return err
			}
			k.run.Session = r.session
		}
		base := docs[i] - docs[i]%columnDocs
		end := min(r.end(), base+columnDocs)
		n, most := 1, counts[i] // documents of this run in this row of columns
		for ; i+n < len(docs) && docs[i+n] < end; n++ {
			most = max(most, counts[i+n])
		}
		if most < k.s.matcher.Least {
			i += n
			continue
		}
		c, err := k.s.column(k.ctx, k.g, docs[i])
		if err != nil {
			return err
		}
		if int(docs[i+n-1]-base) >= len(c.tokens) {
			return k.s.corrupt(k.ctx, postings.ErrCorrupt)
		}
		k.add(docs[i:i+n], counts[i:i+n], r.n-r.local, c, base)
		i += n
	}
	return nil
}

// add appends documents whose numbers in the session are shift above those in
// the segment, and whose columns begin at base.
func (k *gatherer) add(docs, counts []uint32, shift uint32, c *columns, base uint32) {
	o, n := &k.run, len(docs)
	if k.s.matcher.Least > 0 {
		for j, d := range docs {
			if role := c.roles[d-base]; counts[j] >= k.least.Of(role) {
				o.Counts, o.Places, o.Docs = append(o.Counts, counts[j]), append(o.Places, d), append(o.Docs, d+shift)
				o.Tokens, o.Roles = append(o.Tokens, c.tokens[d-base]), append(o.Roles, role)
			}
		}
		return
	}
	o.Counts = append(o.Counts, counts...)
	o.Places = append(o.Places, docs...)
	o.Docs = append(o.Docs, docs...)
	o.Tokens = slices.Grow(o.Tokens, n)[:len(o.Tokens)+n]
	o.Roles = slices.Grow(o.Roles, n)[:len(o.Roles)+n]
	numbers, tokens, roles := o.Docs[len(o.Docs)-n:], o.Tokens[len(o.Tokens)-n:], o.Roles[len(o.Roles)-n:]
	for j, d := range docs {
		numbers[j] = d + shift
		tokens[j] = c.tokens[d-base]
		roles[j] = c.roles[d-base]
	}
}

// give hands the run on.
func (k *gatherer) give() error {
	if len(k.run.Docs) == 0 {
		return nil
	}
	err := k.found(&k.run)
	k.clear()
	if k.least != nil {
		k.s.matcher.Least = slices.Min(k.least[:])
	}
	return err
}

func (k *gatherer) clear() {
	r := &k.run
	r.Docs, r.Counts, r.Tokens, r.Roles, r.Places = r.Docs[:0], r.Counts[:0], r.Tokens[:0], r.Roles[:0], r.Places[:0]
}

// merged sorts spans and joins those that overlap, so that no document is
// found twice.
func merged(spans []query.Span) []query.Span {
	sorted := slices.Clone(spans)
	slices.SortFunc(sorted, func(a, b query.Span) int {
		switch {
		case a.From < b.From:
			return -1
		case a.From > b.From:
			return 1
		}
		return 0
	})
	out := []query.Span{}
	for _, s := range sorted {
		if s.From > s.To {
			continue
		}
		if n := len(out); n > 0 && s.From <= out[n-1].To {
			out[n-1].To = max(out[n-1].To, s.To)
			continue
		}
		out = append(out, s)
	}
	return out
}

var _ query.Completer = (*snapshot)(nil)

// Complete lists the tokens that begin with a prefix.
func (s *snapshot) Complete(ctx context.Context, prefix string) (map[string]int64, error) {
	if err := s.hold(); err != nil {
		return nil, err
	}
	defer s.leave()
	segments, err := s.live(ctx)
	if err != nil || prefix == "" {
		return nil, err
	}
	found := map[string]int64{}
	for _, g := range segments {
		err := postings.Complete(stored{ctx, s, g.id}, []byte(prefix), func(token []byte, docs uint32) {
			found[string(token)] += int64(docs)
		})
		if err != nil {
			return nil, s.corrupt(ctx, err)
		}
	}
	return found, nil
}
