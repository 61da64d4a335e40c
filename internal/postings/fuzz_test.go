package postings

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzRoundTrip makes two segments of any words, merges what is kept of them in
// steps, and holds matches and the lengths that Inspect counts against a scan.
func FuzzRoundTrip(f *testing.F) {
	f.Add("a a a|a b a||b", "a b|a a|c", uint64(5), "a a")
	f.Add("the|the the|the", "the", uint64(0), "the")
	f.Add(strings.Repeat("x y |", 300), "x", uint64(1<<63), "y x")
	f.Add("ab abc abcd|abc", "\xff \x00 é|日 本", uint64(9), "abc")
	f.Fuzz(func(t *testing.T, one, two string, seed uint64, query string) {
		if len(one)+len(two) > 1<<14 {
			return
		}
		random := rand.New(rand.NewPCG(seed, 1))
		var inputs []Input
		var alive [][]string
		base := uint32(0)
		for _, text := range []string{one, two} {
			var docs [][]string
			for _, d := range strings.Split(text, "|") {
				if words := strings.Fields(d); len(words) > 0 {
					docs = append(docs, words)
				}
			}
			if len(docs) == 0 {
				return
			}
			in := Input{Source: stored{build(t, docs), nil}}
			for at := 0; at < len(docs); {
				n := 1 + random.IntN(len(docs)-at)
				if seed == 0 || random.IntN(3) > 0 {
					in.Keep = append(in.Keep, Kept{Range{uint32(at), uint32(at + n)}, base})
					base += uint32(n)
					alive = append(alive, docs[at:at+n]...)
				}
				at += n
			}
			in.Whole = len(in.Keep) == 1 && in.Keep[0].To-in.Keep[0].From == uint32(len(docs))
			inputs = append(inputs, in)
		}
		merged := &memory{}
		for p := (Progress{}); !p.Done; {
			var err error
			if p, _, err = Merge(inputs, merged, p, 1+random.IntN(400)); err != nil {
				t.Fatal(err)
			}
		}
		src := stored{merged, nil}
		phrase := strings.Fields(query)
		phrase = phrase[:min(len(phrase), 6)]
		var m Matcher
		for _, p := range [][]string{phrase, {"a"}, alive0(alive)} {
			if len(p) == 0 {
				continue
			}
			if diff := cmp.Diff(scan(alive, p, nil), match(t, &m, src, p, nil)); diff != "" {
				t.Fatalf("%q in %q (-scan +index)\n%s", p, alive, diff)
			}
		}
		survey, err := Inspect(src, uint32(len(alive)))
		if err != nil {
			t.Fatal(err)
		}
		var lengths []uint32
		for _, d := range alive {
			lengths = append(lengths, uint32(len(d)))
		}
		if !slices.Equal(lengths, survey.Lengths) || int(survey.Pieces) != len(merged.blocks)+len(merged.pieces) {
			t.Fatalf("%+v, want lengths %v and %d pieces", survey, lengths, len(merged.blocks)+len(merged.pieces))
		}
	})
}

func alive0(docs [][]string) []string {
	if len(docs) == 0 {
		return nil
	}
	return docs[0][:min(3, len(docs[0]))]
}

// FuzzInspect feeds bytes that are no segment.
func FuzzInspect(f *testing.F) {
	m := build(f, corpus(rand.New(rand.NewPCG(4, 4)), 40))
	f.Add(m.blocks[0], []byte{}, uint16(40))
	f.Add([]byte{0, 1, 'a', 2, 1, 4, 3, 2}, []byte{1, 2, 3, 3, 2, 1, 4, 5}, uint16(9))
	f.Fuzz(func(t *testing.T, block, piece []byte, docs uint16) {
		first := First(block)
		src := stored{alone(first, block, piece), nil}
		survey, err := Inspect(src, uint32(docs))
		if err == nil && len(first) > 0 && len(survey.Lengths) != int(docs) {
			t.Fatalf("%+v", survey)
		}
	})
}

// TestInspectFindsWhatDoesNotAgree holds that a segment is what its dictionary
// says, and that whoever looks a token up in a damaged dictionary is told.
func TestInspectFindsWhatDoesNotAgree(t *testing.T) {
	docs := corpus(rand.New(rand.NewPCG(8, 8)), 3000)
	sound := build(t, docs)
	if len(sound.blocks) < 5 || len(sound.pieces) < 4 {
		t.Fatalf("%d blocks, %d pieces", len(sound.blocks), len(sound.pieces))
	}
	if _, err := Inspect(stored{sound, nil}, uint32(len(docs))); err != nil {
		t.Fatal(err)
	}
	if _, err := Inspect(stored{sound, nil}, uint32(len(docs)-1)); err == nil {
		t.Error("a document behind the last is taken")
	}
	swapped := *sound
	swapped.blocks = slices.Clone(sound.blocks)
	swapped.blocks[1], swapped.blocks[2] = swapped.blocks[2], swapped.blocks[1]
	want, _ := Inspect(stored{sound, nil}, uint32(len(docs)))
	if got, err := Inspect(stored{&swapped, nil}, uint32(len(docs))); err == nil && slices.Equal(got.Lengths, want.Lengths) {
		t.Error("blocks in another order are taken")
	}
	// The search for a block is led to the one before: its tokens end too early.
	astray := *sound
	astray.firsts = slices.Clone(sound.firsts)
	astray.firsts[2] = append(slices.Clone(First(sound.blocks[2])), 0xff)
	if entry, err := Only(stored{&astray, nil}, First(sound.blocks[2]), nil); entry != nil || err == nil {
		t.Errorf("a token whose block was not found is said to be absent: %v, %v", entry, err)
	}
}

// TestOnlyIsTheEntry looks tokens up in a whole dictionary, and in the block that
// holds one of them alone: both find the same documents.
func TestOnlyIsTheEntry(t *testing.T) {
	docs := corpus(rand.New(rand.NewPCG(9, 9)), 3000)
	src := stored{build(t, docs), nil}
	holding := map[string]uint32{"absent": 0, "0": 0, "zzz": 0, "common": 0, "rare": 0}
	for _, d := range docs {
		for _, w := range slices.Compact(slices.Sorted(slices.Values(d))) {
			holding[w]++
		}
	}
	for token, n := range holding {
		entry, err := Only(src, []byte(token), nil)
		if err != nil || (entry == nil) != (n == 0) {
			t.Fatalf("Only(%q) = %d bytes, %v; %d documents hold it", token, len(entry), err, n)
		}
		if n == 0 {
			continue
		}
		alone := *src.memory
		alone.firsts, alone.blocks = [][]byte{[]byte(token)}, [][]byte{entry}
		var m Matcher
		if got := match(t, &m, stored{&alone, nil}, []string{token}, nil); uint32(len(got)) != n {
			t.Fatalf("%q is found in %d documents, want %d", token, len(got), n)
		}
	}
}
