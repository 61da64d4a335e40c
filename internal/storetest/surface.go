package storetest

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// player makes a random log event by event, folds it, and says each event's
// change the way ingest does. The fold and what it reported are the oracle.
type player struct {
	t       *testing.T
	random  *rand.Rand
	fold    *session.Fold
	removed map[int64][]int64
	derived map[int64][]int64
	joined  []int64 // every event that was ever on the surface
	results []int64 // of these, tool results
	batch   ingest.Batch
}

func (p *player) pick(list []int64) int64 { return list[p.random.IntN(len(list))] }

// event makes the next event; what cannot be made now becomes an append.
func (p *player) event() session.Event {
	e := session.Event{Seq: p.fold.Next(), Time: p.fold.Next(), Type: session.UserMessage, Op: session.Op{Kind: session.OpAppend}}
	surface := p.fold.Surface()
	switch kind := p.random.IntN(20); {
	case kind < 4:
		e.Type, e.Op = session.AssistantChunk, session.Op{}
		e.Span = int64(p.random.IntN(200))
	case kind < 6:
		e.Type, e.Op = session.ToolCall, session.Op{}
	case kind < 9:
		e.Type, e.Sameness = session.ToolResult, 1<<40+7
		if len(p.joined) > 0 {
			e.Sources = []int64{p.pick(p.joined)}
		}
	case kind < 12 && len(surface) > 0: // a compaction
		from := p.random.IntN(len(surface))
		to := from + p.random.IntN(len(surface)-from)
		e.Op = session.Op{Kind: session.OpReplace, Start: surface[from], End: surface[to]}
		e.Sources = slices.Clone(surface[from : to+1])
		if p.random.IntN(2) == 0 {
			slices.Reverse(e.Sources)
		}
	case kind < 13:
		current := slices.DeleteFunc(slices.Clone(surface), func(s int64) bool { return !slices.Contains(p.results, s) })
		if len(current) > 0 { // a pruned output
			at := p.pick(current)
			e.Type, e.Sameness = session.ToolResult, 1<<40+7
			e.Op, e.Sources = session.Op{Kind: session.OpReplace, Start: at, End: at}, []int64{at}
		}
	case kind < 15 && len(p.joined) > 0: // a rewind, or a change of branch
		e.Type, e.Op = "claude/select", p.choose(surface)
	case kind < 17:
		e.Type = session.AssistantMessage
		e.Sources = []int64{}
		for s := int64(p.random.IntN(5)); s < e.Seq; s += 1 + int64(p.random.IntN(9)) {
			e.Sources = append(e.Sources, s)
		}
	}
	return e
}

// choose makes a select: it keeps a beginning of the surface, and lets some of
// what is not kept follow, in any order.
func (p *player) choose(surface []int64) session.Op {
	op := session.Op{Kind: session.OpSelect, Keep: -1}
	kept := p.random.IntN(len(surface) + 1)
	if kept > 0 {
		op.Keep = surface[kept-1]
	}
	rest := slices.DeleteFunc(slices.Clone(p.joined), func(s int64) bool { return slices.Contains(surface[:kept], s) })
	from := p.random.IntN(len(rest) + 1)
	op.Nodes = rest[from:min(len(rest), from+p.random.IntN(12))]
	if p.random.IntN(3) == 0 {
		p.random.Shuffle(len(op.Nodes), func(i, j int) { op.Nodes[i], op.Nodes[j] = op.Nodes[j], op.Nodes[i] })
	}
	return op
}

func (p *player) play() {
	e := p.event()
	change, err := p.fold.Apply(&e)
	if err != nil {
		p.t.Fatalf("the generator made an unsound event: %v", err)
	}
	if change.Joined {
		p.joined = append(p.joined, e.Seq)
		if e.Type == session.ToolResult {
			p.results = append(p.results, e.Seq)
		}
	}
	if change.Joined || e.Type == session.ToolCall {
		p.batch.Entries = append(p.batch.Entries, ingest.Entry{
			Seq: e.Seq, Time: e.Time, Type: e.Type, Speaker: session.Human, Text: fmt.Sprint("event ", e.Seq),
			Surface: change.Joined, Order: change.Order, Sameness: e.Sameness,
		})
	}
	if len(change.Removed) > 0 {
		p.removed[e.Seq] = change.Removed
		p.batch.Removals = append(p.batch.Removals, ingest.Removal{By: e.Seq, Seqs: change.Removed})
	}
	p.batch.Restored = append(p.batch.Restored, change.Restored...)
	if e.Sources != nil {
		p.batch.Citations = append(p.batch.Citations, ingest.Citation{By: e.Seq, Sources: e.Sources})
	}
	for _, s := range e.Sources {
		p.derived[s] = append(p.derived[s], e.Seq)
	}
}

func testSurface(t *testing.T, s Store) {
	seeds := uint64(12)
	if _, local := s.(Local); !local {
		seeds = 3 // each of some ten thousand questions is a way to the server and back
	}
	for seed := range seeds {
		num := begin(t, s, fmt.Sprint("log ", seed))
		p := &player{t: t, random: rand.New(rand.NewPCG(seed, 7)), fold: &session.Fold{}, removed: map[int64][]int64{}, derived: map[int64][]int64{}}
		const rounds = 14
		for round := range rounds {
			p.batch = ingest.Batch{}
			for range 1 + p.random.IntN(24) {
				p.play()
			}
			write(t, s, func(w ingest.Writer) error {
				if err := w.Append(t.Context(), num, &p.batch); err != nil {
					return err
				}
				nodes, err := p.nodes(t.Context(), w, num)
				if err != nil {
					return err
				}
				p.checkNodes(nodes)
				if p.random.IntN(2) == 0 { // the fold goes on from what was stored
					p.fold = session.Restore(p.fold.Next(), nodes)
				}
				return nil
			})
			looking(t, s, func(view query.Snapshot) { p.checkLog(view.Log(num), round == rounds-1) })
			if t.Failed() {
				t.Fatalf("seed %d, after event %d", seed, p.fold.Next()-1)
			}
		}
	}
}

// nodes asks a store for everything that it knows of the surface: the current
// list, some ranges of which have to be part of it, and what is shadowed.
func (p *player) nodes(ctx context.Context, w ingest.Writer, num int64) ([]session.Node, error) {
	all, err := w.Current(ctx, num, 0, math.MaxInt64)
	if err != nil {
		return nil, err
	}
	for range 4 {
		from, to := p.key(all), p.key(all)
		var want []session.Node
		for _, n := range all {
			if n.Order >= from && n.Order < to {
				want = append(want, n)
			}
		}
		got, err := w.Current(ctx, num, from, to)
		if err != nil {
			return nil, err
		}
		same(p.t, fmt.Sprintf("the current nodes from %d to %d", from, to), got[:len(got):len(got)], append([]session.Node{}, want...))
	}
	seqs := slices.Clone(p.joined)
	for range 200 {
		seqs = append(seqs, p.random.Int64N(p.fold.Next()+2))
	}
	known, err := w.Nodes(ctx, num, seqs)
	var current int
	for _, n := range known {
		if n.By >= 0 {
			all = append(all, n)
			continue
		}
		current++
		i := slices.IndexFunc(all, func(c session.Node) bool { return c.Seq == n.Seq })
		if i < 0 || all[i] != n {
			p.t.Errorf("%+v by its seq is another than in the list", n)
		}
	}
	same(p.t, "current nodes by seq", current, len(p.fold.Surface()))
	if !slices.IsSortedFunc(known, func(a, b session.Node) int { return int(a.Seq - b.Seq) }) {
		p.t.Error("nodes do not ascend")
	}
	return all, err
}

// key makes up a position key: of a node, beside one, or any.
func (p *player) key(list []session.Node) int64 {
	if len(list) == 0 || p.random.IntN(4) == 0 {
		return p.random.Int64N((p.fold.Next() + 2) << session.OrderBits)
	}
	return list[p.random.IntN(len(list))].Order + int64(p.random.IntN(3)) - 1
}

func (p *player) checkNodes(got []session.Node) {
	p.t.Helper()
	byseq := func(a, b session.Node) int { return int(a.Seq - b.Seq) }
	want := p.fold.Nodes()
	slices.SortFunc(want, byseq)
	var order []int64
	for i, n := range got {
		if n.By >= 0 {
			continue
		}
		order = append(order, n.Seq)
		if i > 0 && got[i-1].By >= 0 {
			p.t.Error("a current node behind a shadowed one")
		}
	}
	same(p.t, "the order of current nodes", order, p.fold.Surface())
	nodes := slices.Clone(got)
	slices.SortFunc(nodes, byseq)
	for _, list := range [][]session.Node{nodes, want} {
		for i := range list {
			if list[i].By >= 0 {
				list[i].Order = 0 // means nothing until the node comes back
			}
		}
	}
	same(p.t, "nodes", nodes, want)
}

// checkLog compares what a log answers with the fold: about every event, or
// about some of them.
func (p *player) checkLog(log query.Log, every bool) {
	p.t.Helper()
	t := p.t
	same(t, "surface", must[[]int64](t)(log.Surface(t.Context())), p.fold.Surface())
	states := must[[]query.Shadow](t)(log.States(t.Context()))
	for i, s := range states {
		if s.From > s.To || i > 0 && s.From <= states[i-1].To {
			t.Errorf("shadow runs %v are not ascending and disjoint", states)
		}
	}
	for _, seq := range p.joined {
		state, by := p.fold.State(seq)
		got := int64(-1)
		for _, s := range states {
			if s.From <= seq && seq <= s.To {
				got = s.By
			}
		}
		if got != by {
			t.Errorf("event %d is %v by %d, the store says %d", seq, state, by, got)
		}
		if !every && p.random.IntN(8) > 0 {
			continue
		}
		run := must[query.Shadow](t)(log.Shadow(t.Context(), seq))
		if run.By != by || by >= 0 && !slices.Contains(states, run) {
			t.Errorf("event %d lies in the run %v of %v, taken out by %d", seq, run, states, by)
		}
	}
	for seq := range p.fold.Next() {
		// Where nothing is to be found, between the events of a long run, a few are asked about.
		_, took := p.removed[seq]
		matters := took || len(p.derived[seq]) > 0 || slices.Contains(p.joined, seq)
		if !every && p.random.IntN(16) > 0 || every && !matters && p.random.IntN(64) > 0 {
			continue
		}
		same(t, fmt.Sprint("removed by ", seq), must[[]int64](t)(log.Removed(t.Context(), seq)), p.removed[seq])
		same(t, fmt.Sprint("derived from ", seq), must[[]int64](t)(log.Derived(t.Context(), seq)), p.derived[seq])
	}
}

func testCitations(t *testing.T, s Store) {
	num := begin(t, s, "one")
	var b ingest.Batch
	for seq := int64(0); seq < 4000; seq += 10 {
		b.Entries = append(b.Entries, talk(seq, ""))
	}
	var tens, ones []int64
	for seq := int64(100); seq < 3000; seq += 10 {
		tens = append(tens, seq)
	}
	for seq := int64(500); seq < 1500; seq++ {
		ones = append(ones, seq)
	}
	b.Citations = []ingest.Citation{
		{By: 3990, Sources: []int64{3980, 0, 7}},
		{By: 3960, Sources: tens},
		{By: 3950, Sources: ones},
		{By: 3970, Sources: nil},
	}
	appendBatch(t, s, num, b)
	log := snapshot(t, s).Log(num)
	for seq, want := range map[int64][]int64{
		0: {3990}, 7: {3990}, 3980: {3990}, 10: nil, 100: {3960}, 101: nil, 499: nil, 500: {3950, 3960}, 501: {3950}, 1499: {3950},
		1490: {3950, 3960}, 1500: {3960}, 2990: {3960}, 3000: nil, 3990: nil, 99999: nil, -1: nil,
	} {
		same(t, fmt.Sprint("derived from ", seq), must[[]int64](t)(log.Derived(t.Context(), seq)), want)
	}
}

func testCheckpoints(t *testing.T, s Store) {
	num := begin(t, s, "one")
	given := map[session.Checkpoint]bool{{}: true}
	random := rand.New(rand.NewPCG(3, 4))
	seq, place := int64(0), session.Place{Offset: 120}
	var last int64
	for range 40 {
		var b ingest.Batch
		for range random.IntN(60) {
			p := session.Checkpoint{Seq: seq, Place: place}
			b.Checkpoints = append(b.Checkpoints, p)
			given[p] = true
			last = seq
			seq += 1 + int64(random.IntN(3))
			place.Offset += int64(random.IntN(30_000))
			if random.IntN(200) == 0 {
				place = session.Place{Part: place.Part + 1}
			}
		}
		appendBatch(t, s, num, b)
	}
	log := snapshot(t, s).Log(num)
	for at := range last + 1 {
		got := must[session.Checkpoint](t)(log.Checkpoint(t.Context(), at))
		switch {
		case !given[got]:
			t.Fatalf("checkpoint %v of %d was never given", got, at)
		case got.Seq > at:
			t.Fatalf("checkpoint %v lies behind %d", got, at)
		case at-got.Seq > 64+3:
			t.Fatalf("checkpoint %v is too far before %d", got, at)
		}
	}
}

// testStates keeps checkpoints that have states: all of them, and what ends each.
func testStates(t *testing.T, s Store) {
	num := begin(t, s, "one")
	point := func(seq int64, state string) session.Checkpoint {
		return session.Checkpoint{Seq: seq, Place: session.Place{Offset: seq}, State: state}
	}
	appendBatch(t, s, num, ingest.Batch{
		Checkpoints: []session.Checkpoint{point(0, "a\x00"), point(1, ""), point(3, "b"), point(500, "")}, Breaks: []int64{2},
	})
	appendBatch(t, s, num, ingest.Batch{Checkpoints: []session.Checkpoint{point(600, "c")}, Breaks: []int64{520, 600, 700}})
	until := func(c session.Checkpoint, seq int64) session.Checkpoint { c.Until = seq; return c }
	log := snapshot(t, s).Log(num)
	for at, want := range map[int64]session.Checkpoint{
		0: until(point(0, "a\x00"), 2), 2: until(point(0, "a\x00"), 2), 3: until(point(3, "b"), 520), 599: until(point(3, "b"), 520),
		600: until(point(600, "c"), 600), 900: until(point(600, "c"), 600),
	} {
		same(t, "checkpoint", must[session.Checkpoint](t)(log.Checkpoint(t.Context(), at)), want)
	}
	write(t, s, func(w ingest.Writer) error { return w.Clear(t.Context(), num) })
	appendBatch(t, s, num, ingest.Batch{Checkpoints: []session.Checkpoint{point(0, "d")}})
	same(t, "after Clear", must[session.Checkpoint](t)(snapshot(t, s).Log(num).Checkpoint(t.Context(), 9)), point(0, "d"))
}
