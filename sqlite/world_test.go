package sqlite

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/internal/document"
	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// world is a shard and, beside it, what it must hold: SQLite's full-text index
// and the length in tokens of each document. Random transactions change both.
type world struct {
	t      testing.TB
	x      *Index
	random *rand.Rand
	fts    *fullText
	tokens map[query.DocID]int64
	open   []*told // sessions that are there
	made   int
	bulk   int      // about how many bytes of words that nobody asks for a document brings
	after  []func() // what a transaction does to the model once it is committed
	said   []string // what was done, for whoever reads a failure
}

// told is one session of a world.
type told struct {
	num, entries, closing int64 // entries include the closing ones
}

func newWorld(t testing.TB, x *Index, seed uint64) *world {
	return &world{t: t, x: x, random: rand.New(rand.NewPCG(seed, 21)), fts: newFullText(t), tokens: map[query.DocID]int64{}}
}

// vocabulary has words of all frequencies; some overlap themselves when repeated.
var vocabulary = []string{"a", "a", "a", "a", "b", "b", "ab", "日", "本", "日", "é", "E\u0301", "foo_bar", "ก", "ﬁ"}

func (w *world) word() string {
	switch r := w.random.IntN(20); {
	case r < 13:
		return vocabulary[w.random.IntN(len(vocabulary))]
	case r < 18:
		return fmt.Sprint("mid", w.random.IntN(40))
	}
	return fmt.Sprint("rare", w.random.IntN(5000))
}

func (w *world) text() string {
	if w.random.IntN(12) == 0 {
		return ""
	}
	var b strings.Builder
	n := w.random.IntN(24)
	if w.random.IntN(30) == 0 {
		n = 150 // long phrases need long texts
	}
	for range n {
		b.WriteString(w.word())
		b.WriteString([]string{" ", " ", "-", ""}[w.random.IntN(4)])
	}
	return b.String()
}

// filling is words that nobody asks for, to stand behind a text.
func (w *world) filling() string {
	if w.bulk == 0 {
		return ""
	}
	var b strings.Builder
	for end := w.random.IntN(2 * w.bulk); b.Len() < end; {
		fmt.Fprintf(&b, " %016x", w.random.Uint64())
	}
	return b.String()
}

func (w *world) note(format string, args ...any) {
	w.said = append(w.said, fmt.Sprintf(format, args...))
}

// add appends documents to a session; the last closing of them are provisional.
func (w *world) add(tx ingest.Writer, s *told, n, closing int) error {
	var b ingest.Batch
	for i := range n {
		at := s.entries + int64(i)
		e := ingest.Entry{
			Seq: 3 * at, Time: 1000 + at, Type: session.UserMessage, Speaker: session.Human, Text: w.text(), Surface: true, Order: defaultOrder(3 * at),
			Provisional: i >= n-closing,
		}
		told := e.Text
		e.Text += w.filling()
		b.Entries = append(b.Entries, e)
		id := query.NewDocID(s.num, at)
		w.after = append(w.after, func() {
			if _, tokens := document.AppendFolded(nil, e.Text); tokens > 0 {
				w.fts.add(id, told)
				w.tokens[id] = int64(tokens)
			}
		})
	}
	s.entries += int64(n)
	s.closing = int64(closing)
	w.note("add %d (%d closing) to %d", n, closing, s.num)
	return tx.Append(w.t.Context(), s.num, &b)
}

func (w *world) cut(s *told, n int64) {
	from := query.NewDocID(s.num, n)
	end := s.entries
	s.entries, s.closing = n, 0
	w.after = append(w.after, func() {
		w.fts.cut(from)
		for id := from; id < query.NewDocID(s.num, end); id++ {
			delete(w.tokens, id)
		}
	})
}

// change does one random thing.
func (w *world) change(tx ingest.Writer, docs int) error {
	ctx := w.t.Context()
	act := w.random.IntN(20)
	if w.bulk > 0 && act >= 14 && w.random.IntN(4) > 0 {
		act = 13 // most of it stays
	}
	if len(w.open) == 0 || act < 6 && len(w.open) < 30 {
		st := ingest.Stored{Source: fmt.Sprint("/logs/", w.made), Header: session.Header{Agent: session.DSH, ID: session.ID(fmt.Sprint("s", w.made)), Cwd: workspace}, LastStep: -1}
		w.made++
		if err := tx.Put(ctx, &st); err != nil {
			return err
		}
		s := &told{num: st.Num}
		w.open = append(w.open, s)
		w.note("begin %d", s.num)
		return w.add(tx, s, w.random.IntN(docs+1), 0)
	}
	i := w.random.IntN(len(w.open))
	s := w.open[i]
	switch {
	case act < 14:
		if s.closing > 0 { // the log goes on
			w.note("withdraw %d of %d", s.closing, s.num)
			w.cut(s, s.entries-s.closing)
			if err := tx.Withdraw(ctx, s.num); err != nil {
				return err
			}
		}
		n := w.random.IntN(docs + 1)
		return w.add(tx, s, n, min(n, max(0, w.random.IntN(8)-4)))
	case act < 16:
		w.note("clear %d", s.num)
		w.cut(s, 0)
		if err := tx.Clear(ctx, s.num); err != nil || w.random.IntN(2) == 0 {
			return err
		}
		return w.add(tx, s, w.random.IntN(docs+1), 0) // rewritten
	case act < 18:
		w.note("delete %d", s.num)
		w.cut(s, 0)
		w.open = slices.Delete(w.open, i, i+1)
		return tx.Delete(ctx, s.num)
	}
	return w.add(tx, s, 1, 0)
}

var errWorld = errors.New("on purpose")

// step is one transaction of some changes; now and then it fails, and then
// nothing of it may be left.
func (w *world) step(docs int) {
	w.t.Helper()
	var before []*told
	for _, s := range w.open {
		copied := *s
		before = append(before, &copied)
	}
	w.after, w.said = nil, append(w.said, "transaction")
	fails := w.random.IntN(15) == 0
	err := w.x.Write(w.t.Context(), workspace, func(tx ingest.Writer) error {
		for range 1 + w.random.IntN(3) {
			if err := w.change(tx, docs); err != nil {
				return err
			}
		}
		if fails {
			return errWorld
		}
		return nil
	})
	switch {
	case fails && errors.Is(err, errWorld):
		w.note("failed")
		w.open = before
	case err != nil:
		w.fail("write: %v", err)
	default:
		for _, f := range w.after {
			f()
		}
	}
}

func (w *world) fail(format string, args ...any) {
	w.t.Helper()
	said := w.said[max(0, len(w.said)-60):]
	w.t.Fatalf("%s\nafter: %s", fmt.Sprintf(format, args...), strings.Join(said, "; "))
}

// phrase is of the vocabulary, in part of what documents are made of as well.
func (w *world) phrase() []string {
	n := 1 + w.random.IntN(4)
	if w.random.IntN(25) == 0 {
		n = 30 + w.random.IntN(34)
		return slices.Repeat([]string{"a"}, n)
	}
	var words []string
	for range n {
		words = append(words, w.word())
	}
	terms := document.Terms(strings.Join(words, " "))
	return terms[:min(len(terms), maxPhrase)]
}

func (w *world) within() (spans []query.Span) {
	if len(w.open) == 0 || w.random.IntN(3) > 0 {
		return nil
	}
	for range 1 + w.random.IntN(3) {
		s := w.open[w.random.IntN(len(w.open))]
		span := query.SpanOf(s.num)
		if w.random.IntN(2) == 0 {
			span.From += query.DocID(w.random.IntN(8))
			span.To = span.From + query.DocID(w.random.IntN(20))
		}
		spans = append(spans, span)
	}
	return spans
}

// compare asks both for random phrases and for the totals, and returns how many
// documents were found.
func (w *world) compare(questions int) (found int) {
	w.t.Helper()
	ctx := w.t.Context()
	view, err := w.x.Snapshot(ctx, workspace)
	if err != nil || view == nil {
		w.fail("snapshot: %v, %v", view, err)
	}
	defer view.Close()
	for range questions {
		phrase, within := w.phrase(), w.within()
		if len(phrase) == 0 {
			continue
		}
		got, err := query.Collect(ctx, view, phrase, within)
		if err != nil {
			w.fail("%q: %v", phrase, err)
		}
		want := w.fts.match(phrase, within)
		if diff := cmp.Diff(want, got); diff != "" && len(want)+len(got) > 0 {
			w.fail("%q within %v (-full text +index):\n%s", phrase, within, diff)
		}
		found += len(got)
	}
	terms := document.Terms(w.word() + " " + w.word() + " absent")
	totals, err := view.Totals(ctx, terms)
	if err != nil {
		w.fail("totals: %v", err)
	}
	want := query.Totals{Documents: int64(len(w.tokens))}
	for _, n := range w.tokens {
		want.Tokens += n
	}
	for _, term := range terms {
		want.Holding = append(want.Holding, int64(len(w.fts.match([]string{term}, nil))))
	}
	if diff := cmp.Diff(want, totals); diff != "" {
		w.fail("totals of %q (-full text +index):\n%s", terms, diff)
	}
	return found
}

// counts of the segments in each state, and the bytes of the live ones.
func (w *world) segments() (states [3]int, size int64) {
	w.t.Helper()
	c, err := w.x.acquire(w.t.Context(), w.x.shardOf(workspace), false)
	if err != nil {
		w.t.Fatal(err)
	}
	defer w.x.release(c)
	for state := range states {
		all, err := c.segments(w.t.Context(), state)
		if err != nil {
			w.t.Fatal(err)
		}
		states[state] = len(all)
		if state == segmentLive {
			size = sizeOf(all)
		}
	}
	return states, size
}
