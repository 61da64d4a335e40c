package postings

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// alone is a segment of one block, with as many pieces, all the same, as the block names.
func alone(first, block, piece []byte) *memory {
	n, _ := piecesOf(block, -1)
	n = min(n, 64)
	m := &memory{firsts: [][]byte{first}, blocks: [][]byte{block}, number: []int64{n}, pieces: map[int64][]byte{}, end: n + 1}
	for i := range n {
		m.pieces[i] = piece
	}
	return m
}

// inSteps writes a segment anew in small steps, so that blocks and pieces follow
// each other otherwise than where it is written at once.
func inSteps(t *testing.T, m *memory, docs uint32) *memory {
	out := &memory{}
	in := []Input{{Source: stored{m, nil}, Whole: true, Keep: []Kept{{Range{0, docs}, 0}}}}
	for p := (Progress{}); !p.Done; {
		var err error
		if p, _, err = Merge(in, out, p, 20_000); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// TestLostBlocksAreMissed takes each block of a dictionary out, and moves it
// to other places: whoever looks a token up finds it or is told of the damage.
func TestLostBlocksAreMissed(t *testing.T) {
	docs := corpus(rand.New(rand.NewPCG(8, 8)), 500)
	// Long words every other of which has a long list, so that such begin blocks too.
	for i := range docs {
		for n := range 60 {
			docs[i] = append(docs[i], slices.Repeat([]string{fmt.Sprintf("%02d%s", 2*n, strings.Repeat("x", 250))}, 3)...)
		}
		docs[i] = append(docs[i], fmt.Sprintf("%02d%s", 2*(i%60)+1, strings.Repeat("x", 250)))
	}
	whole := build(t, docs)
	for name, sound := range map[string]*memory{"built": whole, "merged": inSteps(t, whole, uint32(len(docs)))} {
		if n := len(sound.blocks); n < 5 || n > completeBlocks || len(sound.pieces) < 4 {
			t.Fatalf("%s: %d blocks, %d pieces", name, len(sound.blocks), len(sound.pieces))
		}
		var tokens [][]byte
		for _, block := range sound.blocks {
			e := entries{r: bytesReader{data: block}}
			for i := 0; e.next(); i++ {
				if i%20 == 0 {
					tokens = append(tokens, slices.Clone(e.token))
				}
				e.skip()
			}
		}
		late := 0
		for i, block := range sound.blocks[1:] {
			e := entries{r: bytesReader{data: block}}
			if e.next() {
				if from, some := e.pieces(); some > 0 && from < sound.number[i] {
					late++
				}
			}
		}
		if late == 0 && name == "built" {
			t.Fatalf("%s: no block begins with a list whose pieces stand before the block in front", name)
		}
		for lost := range sound.blocks {
			for _, place := range []int{lost, 0, len(sound.blocks) / 2, len(sound.blocks) - 1} {
				m := *sound
				m.firsts, m.blocks, m.number = slices.Clone(m.firsts), slices.Clone(m.blocks), slices.Clone(m.number)
				block, number := m.blocks[lost], m.number[lost]
				m.firsts, m.blocks, m.number = slices.Delete(m.firsts, lost, lost+1), slices.Delete(m.blocks, lost, lost+1), slices.Delete(m.number, lost, lost+1)
				if place != lost { // else it is gone
					name := slices.Concat(m.firsts[max(place-1, 0)], []byte{0xff})
					if place == 0 {
						name = []byte{1}
					}
					m.firsts, m.blocks, m.number = slices.Insert(m.firsts, place, name), slices.Insert(m.blocks, place, block), slices.Insert(m.number, place, number)
				}
				seg := checking{stored{&m, nil}}
				for _, token := range tokens {
					if entry, err := Only(seg, token, nil); entry == nil && !errors.Is(err, ErrCorrupt) {
						t.Fatalf("%s: without block %d at %d, %q is said to be absent: %v", name, lost, place, token, err)
					}
				}
				if err := Complete(seg, []byte{}, func([]byte, uint32) {}); !errors.Is(err, ErrCorrupt) {
					t.Fatalf("%s: block %d at %d: completing: %v", name, lost, place, err)
				}
				in := []Input{{Source: seg, Whole: true, Keep: []Kept{{Range{0, uint32(len(docs))}, 0}}}}
				if _, _, err := Merge(in, &memory{}, Progress{}, 1<<30); !errors.Is(err, ErrCorrupt) {
					t.Fatalf("%s: block %d at %d is merged: %v", name, lost, place, err)
				}
				if _, err := Inspect(seg, uint32(len(docs))); !errors.Is(err, ErrCorrupt) {
					t.Fatalf("%s: block %d at %d is inspected: %v", name, lost, place, err)
				}
			}
		}
	}
}

// checking compares a block with the token that led to it, as a store does.
type checking struct{ stored }

func (c checking) Before(token, buf []byte) ([]byte, int64, error) {
	data, n, err := c.stored.Before(token, buf)
	return c.checked(data, n, err)
}

func (c checking) After(token, buf []byte) ([]byte, int64, error) {
	data, n, err := c.stored.After(token, buf)
	return c.checked(data, n, err)
}

func (c checking) checked(data []byte, n int64, err error) ([]byte, int64, error) {
	if i := slices.Index(c.number, n); err == nil && data != nil && !slices.Equal(First(data), c.firsts[i]) {
		err = ErrCorrupt
	}
	return data, n, err
}
