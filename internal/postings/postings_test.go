package postings

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// memory is a segment in memory.
type memory struct {
	firsts [][]byte
	blocks [][]byte
	number []int64 // of each block
	pieces map[int64][]byte
	end    int64 // behind the last number
}

func (m *memory) Block(first []byte, n int64, data []byte) error {
	if last := len(m.firsts) - 1; last >= 0 && bytes.Compare(m.firsts[last], first) >= 0 {
		return fmt.Errorf("block %q behind %q", first, m.firsts[last])
	}
	m.firsts, m.blocks, m.number = append(m.firsts, slices.Clone(first)), append(m.blocks, slices.Clone(data)), append(m.number, n)
	m.end = n + 1
	return nil
}

func (m *memory) Piece(n int64, data []byte) error {
	if m.pieces == nil {
		m.pieces = map[int64][]byte{}
	}
	if m.pieces[n] != nil {
		return fmt.Errorf("piece %d twice", n)
	}
	m.pieces[n], m.end = slices.Clone(data), n+1
	return nil
}

// stored reads it.
type stored struct {
	*memory
	read *int // pieces
}

func (s stored) Find(token, buf []byte) ([]byte, error) {
	data, _, err := s.Before(token, buf)
	return data, err
}

func (s stored) Before(token, buf []byte) ([]byte, int64, error) {
	i, ok := slices.BinarySearchFunc(s.firsts, token, bytes.Compare)
	if !ok {
		i--
	}
	if i < 0 {
		return nil, 0, nil
	}
	return append(buf[:0], s.blocks[i]...), s.number[i], nil
}

func (s stored) After(token, buf []byte) ([]byte, int64, error) {
	i, ok := slices.BinarySearchFunc(s.firsts, token, bytes.Compare)
	if ok && token != nil {
		i++
	}
	if i == len(s.blocks) {
		return nil, 0, nil
	}
	return append(buf[:0], s.blocks[i]...), s.number[i], nil
}

func (s stored) End() (int64, error) { return s.end, nil }

func (s stored) Piece(n int64, buf []byte) ([]byte, error) {
	data, ok := s.pieces[n]
	if !ok {
		return nil, fmt.Errorf("no piece %d", n)
	}
	if s.read != nil {
		*s.read++
	}
	return append(buf[:0], data...), nil
}

// spans counts a phrase in a document, by the definition: a span begins where
// the phrase stands and does not begin inside the span before, and reaches as
// far as overlapping occurrences do.
func spans(doc, phrase []string) (count uint32) {
	end := 0
	for at := 0; at+len(phrase) <= len(doc); at++ {
		if slices.Equal(doc[at:at+len(phrase)], phrase) {
			if at >= end {
				count++
			}
			end = at + len(phrase)
		}
	}
	return count
}

type hit struct{ Doc, Count uint32 }

func scan(docs [][]string, phrase []string, within []Range) (hits []hit) {
	for i, d := range docs {
		inside := within == nil || slices.ContainsFunc(within, func(r Range) bool { return r.From <= uint32(i) && uint32(i) < r.To })
		if n := spans(d, phrase); n > 0 && inside && d != nil {
			hits = append(hits, hit{uint32(i), n})
		}
	}
	return hits
}

func match(t testing.TB, m *Matcher, src Source, phrase []string, within []Range) (hits []hit) {
	t.Helper()
	var tokens [][]byte
	for _, p := range phrase {
		tokens = append(tokens, []byte(p))
	}
	err := m.Match(src, tokens, within, func(docs, counts []uint32) error {
		for i := range docs {
			hits = append(hits, hit{docs[i], counts[i]})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return hits
}

// corpus makes documents of words of very different frequency.
func corpus(random *rand.Rand, n int) (docs [][]string) {
	for range n {
		doc := make([]string, random.IntN(60))
		for i := range doc {
			switch random.IntN(4) {
			case 0:
				doc[i] = "a"
			case 1:
				doc[i] = fmt.Sprint("common", random.IntN(4))
			case 2:
				doc[i] = fmt.Sprint("word", random.IntN(300))
			default:
				doc[i] = fmt.Sprintf("rare%x", random.Uint64()>>uint(random.IntN(64)))
			}
		}
		docs = append(docs, doc)
	}
	return docs
}

func add(b *Builder, doc []string) {
	for _, token := range doc {
		b.Token([]byte(token))
	}
	b.End()
}

func build(t testing.TB, docs [][]string) *memory {
	var b Builder
	for _, d := range docs {
		add(&b, d)
	}
	m := &memory{}
	if err := b.Write(m); err != nil {
		t.Fatal(err)
	}
	return m
}

// questions asks for phrases that are in the documents, and for some that are not.
func questions(random *rand.Rand, docs [][]string, n int) (phrases [][]string) {
	phrases = [][]string{{"a"}, {"a", "a"}, {"a", "a", "a"}, {"common0"}, {"absent"}, {"a", "absent"}, {"zzz"}, {"0"}}
	for range n {
		d := docs[random.IntN(len(docs))]
		if len(d) == 0 {
			continue
		}
		at := random.IntN(len(d))
		p := slices.Clone(d[at:min(len(d), at+1+random.IntN(4))])
		if random.IntN(5) == 0 {
			slices.Reverse(p)
		}
		phrases = append(phrases, p)
	}
	return phrases
}

func TestMatchEqualsScan(t *testing.T) {
	for _, size := range []int{0, 1, 2, 127, 128, 129, 3000} {
		random := rand.New(rand.NewPCG(uint64(size), 1))
		docs := corpus(random, size)
		src := stored{build(t, docs), nil}
		if size == 0 {
			docs = [][]string{{}}
		}
		var m Matcher
		for _, p := range questions(random, docs, 300) {
			var within []Range
			switch random.IntN(3) {
			case 0:
				at := uint32(random.IntN(size + 1))
				within = []Range{{at, at + uint32(random.IntN(200))}}
			case 1:
				at := uint32(random.IntN(size + 1))
				within = []Range{{at, at + 1}, {at + 3, at + 3}, {at + 5, at + 90}, {at + 400, at + 600}}
			}
			if diff := cmp.Diff(scan(docs, p, within), match(t, &m, src, p, within)); diff != "" {
				t.Fatalf("%d documents, %q within %v: (-scan +index)\n%s", size, p, within, diff)
			}
		}
	}
}

func TestMergeEqualsScan(t *testing.T) {
	for round := range 60 {
		random := rand.New(rand.NewPCG(uint64(round), 2))
		var all [][]string
		var inputs []Input
		base := uint32(0)
		for range 1 + random.IntN(5) {
			docs := corpus(random, random.IntN(400))
			in := Input{Source: stored{build(t, docs), nil}, Whole: random.IntN(2) == 0}
			for at := 0; at < len(docs); {
				n := len(docs) - at
				if !in.Whole {
					n = min(n, 1+random.IntN(60))
				}
				if in.Whole || random.IntN(3) > 0 {
					in.Keep = append(in.Keep, Kept{Range{uint32(at), uint32(at + n)}, base})
					base += uint32(n)
					all = append(all, docs[at:at+n]...)
				}
				at += n
			}
			if in.Whole && len(docs) == 0 {
				in.Keep = []Kept{{}}
			}
			inputs = append(inputs, in)
		}
		merged := &memory{}
		var p Progress
		steps := 0
		for !p.Done {
			var err error
			before := p.Token
			if p, _, err = Merge(inputs, merged, p, 1+random.IntN(20_000)); err != nil {
				t.Fatal(err)
			}
			if !p.Done && bytes.Compare(before, p.Token) >= 0 {
				t.Fatalf("no progress behind %q", before)
			}
			steps++
		}
		src := stored{merged, nil}
		var m Matcher
		if len(all) == 0 {
			if len(merged.blocks) > 0 {
				t.Fatal("tokens of no document")
			}
			continue
		}
		for _, q := range questions(random, all, 100) {
			if diff := cmp.Diff(scan(all, q, nil), match(t, &m, src, q, nil)); diff != "" {
				t.Fatalf("round %d, %d steps, %q: (-scan +index)\n%s", round, steps, q, diff)
			}
		}
		// A token whose documents are all dead is gone, bytes and all.
		left := map[string]bool{}
		for _, d := range all {
			for _, w := range d {
				left[w] = true
			}
		}
		tokens := 0
		for _, b := range merged.blocks {
			e := entries{r: bytesReader{data: b}}
			for e.next() {
				if tokens++; !left[string(e.token)] {
					t.Fatalf("%q is left", e.token)
				}
				e.skip()
			}
		}
		if tokens != len(left) {
			t.Fatalf("%d tokens, want %d", tokens, len(left))
		}
	}
}

func TestRemove(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 3))
	docs := corpus(random, 300)
	var b Builder
	for _, d := range docs {
		add(&b, d)
	}
	for range 20 {
		from := random.IntN(len(docs))
		to := min(len(docs), from+random.IntN(20))
		b.Remove(from, to)
		docs = slices.Delete(docs, from, to)
	}
	m := &memory{}
	if err := b.Write(m); err != nil {
		t.Fatal(err)
	}
	var matcher Matcher
	for _, q := range questions(random, docs, 200) {
		if diff := cmp.Diff(scan(docs, q, nil), match(t, &matcher, stored{m, nil}, q, nil)); diff != "" {
			t.Fatalf("%q: %s", q, diff)
		}
	}
}

// TestRareDrivesCommon holds that a rare word beside a common one does not make
// the common one's list be read.
func TestRareDrivesCommon(t *testing.T) {
	var docs [][]string
	for i := range 300_000 {
		d := []string{"the", fmt.Sprint("word", i%1000)}
		if i == 200_000 {
			d = []string{"the", "needle"}
		}
		docs = append(docs, d)
	}
	read := 0
	src := stored{build(t, docs), &read}
	var m Matcher
	if got := match(t, &m, src, []string{"the"}, nil); len(got) != len(docs) || read < 10 {
		t.Fatalf("%d hits from %d pieces", len(got), read)
	}
	read = 0
	if diff := cmp.Diff([]hit{{200_000, 1}}, match(t, &m, src, []string{"the", "needle"}, nil)); diff != "" || read > 2 {
		t.Fatalf("%d pieces read, %s", read, diff)
	}
	read = 0
	if got := match(t, &m, src, []string{"the"}, []Range{{150_000, 150_100}}); len(got) != 100 || read > 1 {
		t.Fatalf("%d hits from %d pieces", len(got), read)
	}
}

// FuzzMatch feeds bytes that are no segment, and some that nearly are.
func FuzzMatch(f *testing.F) {
	m := build(f, corpus(rand.New(rand.NewPCG(4, 4)), 40))
	f.Add(m.blocks[0], []byte{}, "a common0")
	f.Add([]byte{0, 1, 'a', 2, 1, 4, 3, 2}, []byte{1, 2, 3, 3, 2, 1, 4, 5}, "a")
	f.Fuzz(func(t *testing.T, block, piece []byte, query string) {
		src := stored{alone([]byte{}, block, piece), nil}
		var tokens [][]byte
		for _, w := range strings.Fields(query) {
			tokens = append(tokens, []byte(w))
		}
		if len(tokens) > 8 {
			return
		}
		var matcher Matcher
		last := int64(-1)
		err := matcher.Match(src, tokens, nil, func(docs, counts []uint32) error { last = int64(docs[0]); return nil })
		_, _ = err, last
		Merge([]Input{{Source: src, Keep: []Kept{{Range{0, 1 << 20}, 0}}}, {Source: src, Whole: true, Keep: []Kept{{Range{0, 1 << 20}, 1 << 20}}}}, &memory{}, Progress{}, 1<<20)
	})
}

func BenchmarkBuild(b *testing.B) {
	random := rand.New(rand.NewPCG(5, 5))
	zipf := rand.NewZipf(random, 1.1, 4, 60_000)
	var docs [][]byte
	size := 0
	for size < 8<<20 {
		var d []byte
		for range 130 {
			d = fmt.Appendf(d, "w%x ", zipf.Uint64()*2654435761%(1<<30))
		}
		docs, size = append(docs, d), size+len(d)
	}
	b.SetBytes(int64(size))
	var builder Builder
	for b.Loop() {
		builder.Reset()
		for _, d := range docs {
			for token := range bytes.FieldsSeq(d) {
				builder.Token(token)
			}
			builder.End()
		}
		if err := builder.Write(discard{}); err != nil {
			b.Fatal(err)
		}
	}
}

type discard struct{}

func (discard) Block([]byte, int64, []byte) error { return nil }
func (discard) Piece(n int64, data []byte) error  { return nil }

// TestComplete compares completion with the words themselves.
func TestComplete(t *testing.T) {
	random := rand.New(rand.NewPCG(6, 6))
	docs := corpus(random, 800)
	src := stored{build(t, docs), nil}
	for _, prefix := range []string{"a", "comm", "word1", "word29", "rare", "raref0", "b", "zz", "0"} {
		want := map[string]uint32{}
		for _, d := range docs {
			for _, w := range slices.Compact(slices.Sorted(slices.Values(d))) {
				if strings.HasPrefix(w, prefix) {
					want[w]++
				}
			}
		}
		got := map[string]uint32{}
		if err := Complete(src, []byte(prefix), func(token []byte, docs uint32) { got[string(token)] = docs }); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", prefix, diff)
		}
	}
}
