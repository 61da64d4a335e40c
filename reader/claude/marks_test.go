package claude

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/readertest"
	"github.com/yorehq/yore/session"
)

// points are what readings of a growing file offered for windows.
type points struct {
	all    []session.Checkpoint
	breaks []int64
}

func (p *points) take(e *session.Event) {
	if e.Resume != "" {
		p.all = append(p.all, session.Checkpoint{Seq: e.Seq, Place: e.Place, State: e.Resume})
	}
	if e.Breaks {
		p.breaks = append(p.breaks, e.Seq)
	}
	e.Resume, e.Breaks = "", false
}

// at is what a store gives back.
func (p *points) at(c session.Checkpoint) session.Checkpoint {
	for _, b := range p.breaks {
		if b >= c.Seq {
			c.Until = b
			break
		}
	}
	return c
}

// A window from any mark is what a reading gives, whatever was rewound, brought
// back, compacted, withdrawn or written twice, and wherever readings began.
func TestWindowsFromMarksAreWhatIsRead(t *testing.T) {
	for seed := range uint64(6) {
		random := rand.New(rand.NewPCG(seed, 17))
		tm := newTeam(seed + 100)
		src := project(t, "")
		most := room{whole: []int{0, 900, 1 << 20}[seed%3], tail: []int{2, tailNodes}[seed%2], marks: true}
		var at reader.Position
		var events []session.Event
		p := &points{}
		for range 60 {
			before := len(tm.text)
			if random.IntN(8) == 0 && before > 0 {
				all := strings.SplitAfter(tm.text, "\n")
				tm.text += all[random.IntN(len(all)-1)] // a record again
			}
			for range 1 + random.IntN(12) {
				tm.step()
			}
			appendTo(t, src.Path, tm.text[before:])
			tail, err := read(t.Context(), src, at, most, func(e session.Event) error {
				p.take(&e)
				events = append(events, e)
				return nil
			})
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			at = tail.Position
		}
		whole, _, _ := readAll(t, src)
		if diff := cmp.Diff(whole, events); diff != "" {
			t.Fatalf("seed %d: marks change what is read:\n%s", seed, diff)
		}
		for range 40 {
			c := p.at(p.all[random.IntN(len(p.all))])
			from := c.Seq + random.Int64N(min(40, int64(len(whole))-c.Seq))
			to := from + random.Int64N(30)
			var got []session.Event
			if _, err := New().Window(context.Background(), src, c, from, to, session.Every(), func(r session.Raw) error {
				got = append(got, r.Event)
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(whole[from:min(to+1, int64(len(whole)))], got); diff != "" {
				t.Fatalf("seed %d, %d to %d from %d until %d (-read +window):\n%s", seed, from, to, c.Seq, c.Until, diff)
			}
		}
	}
}

// counting counts the bytes that are read from a file.
type counting struct {
	io.ReaderAt
	bytes int64
}

func (c *counting) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.ReaderAt.ReadAt(p, off)
	c.bytes += int64(n)
	return n, err
}

// An event far behind in a long transcript costs what lies between it and its
// checkpoint, however far behind it is.
func TestAnExactReadCostsTheDistance(t *testing.T) {
	var b strings.Builder
	parent := ""
	for i := range 4000 {
		u, a, r := fmt.Sprintf("u%d", i), fmt.Sprintf("a%d", i), fmt.Sprintf("r%d", i)
		if i%100 == 99 {
			parent = fmt.Sprintf("a%d", i-2) // a rewind
		}
		b.WriteString(lines(user(u, parent, "prompt "+strings.Repeat("word ", 50)),
			answer(a, u, "m"+a, textBlock("text"), callBlock("c"+a, "Bash", object{"command": "ls"})), result(r, a, "c"+a, strings.Repeat("out ", 100))))
		parent = r
	}
	src := project(t, b.String())
	size := int64(b.Len())
	whole, _, _ := readAll(t, src)
	offered := readertest.Checkpoints(t, New(), src)
	f, err := os.Open(src.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var costs []int64
	random := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		seq := random.Int64N(int64(len(whole)))
		c := &counting{ReaderAt: f}
		found := false
		if _, err := windowIn(t.Context(), c, size, src, offered(seq), seq, seq, session.One(seq), func(r session.Raw) error {
			found = cmp.Equal(r.Event, whole[seq])
			return nil
		}); err != nil || !found {
			t.Fatalf("event %d: %t, %v", seq, found, err)
		}
		costs = append(costs, c.bytes)
	}
	slices.Sort(costs)
	// The header, a line's worth of buffer, and the distance.
	if p95 := costs[len(costs)*95/100]; p95 > 3*markBytes {
		t.Errorf("95 in 100 exact reads cost up to %d bytes of %d", p95, size)
	}
}

func TestHostileMarks(t *testing.T) {
	src := project(t, lines(user("u1", "", "hello"), user("u2", "u1", "more")))
	for _, state := range []string{"x", "{}", `{"trusting":true,"path":[3]}`, `{"trusting":true,"graph":"AAAA"}`, `{"trusting":true,"before":-1}`, `{"trusting":true}`} {
		for _, at := range []session.Checkpoint{{State: state}, {State: state, Seq: 1, Until: 1}, {State: state, Seq: 1, Place: session.Place{Offset: 1 << 40}}} {
			if _, err := New().Window(t.Context(), src, at, 0, 1, session.Every(), func(session.Raw) error { return nil }); err != nil {
				t.Errorf("%q: %v", state, err)
			}
		}
	}
}

// The same for records over so few identities that everything refers to
// everything, from every mark.
func TestWindowsOfTangles(t *testing.T) {
	for seed := range uint64(12) {
		random := rand.New(rand.NewPCG(seed, 31))
		in := make([]byte, 4*300)
		for i := range in {
			in[i] = byte(random.Uint32())
		}
		src := project(t, tangle(in))
		whole, _, _ := readAll(t, src)
		offered := readertest.Checkpoints(t, New(), src)
		for from := int64(0); from < int64(len(whole)); from += 3 {
			to := min(from+2, int64(len(whole))-1)
			var got []session.Event
			if _, err := New().Window(t.Context(), src, offered(from), from, to, session.Every(), func(r session.Raw) error {
				got = append(got, r.Event)
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(whole[from:to+1], got); diff != "" {
				t.Fatalf("seed %d, %d to %d (-read +window):\n%s", seed, from, to, diff)
			}
		}
	}
}

// A position whose marks cannot be read is one that cannot be read on from.
func TestAPositionWithBrokenMarks(t *testing.T) {
	src := project(t, lines(user("u1", "", "hello")))
	_, _, tail := readAll(t, src)
	appendTo(t, src.Path, lines(user("u2", "u1", "more")))
	for state, want := range map[string]reader.Revision{
		`{}`: reader.Grown, `{"marks":{"shadow":{"trusting":true,"path":[4]}}}`: reader.Replaced, `{"marks":{"shadow":{"graph":"AAAA"}}}`: reader.Replaced,
	} {
		tail.Position.State = []byte(state)
		if got, _, err := New().Revise(t.Context(), src, tail.Position); err != nil || got != want {
			t.Errorf("%s: %d, %v; want %d", state, got, err, want)
		}
	}
}

// A mark is asked for nothing that stands behind the last event wanted, though
// it be glued to it on one line.
func TestWhatIsGluedBehindAWindow(t *testing.T) {
	var b strings.Builder
	parent := ""
	for i := range 3 * markRecords {
		id := fmt.Sprintf("u%d", i)
		b.WriteString(lines(user(id, parent, "prompt")))
		parent = id
	}
	seq := int64(3 * markRecords)
	b.WriteString(strings.TrimSuffix(lines(user("v", parent, "asked for")), "\n") + lines(user("w", "", "a new root")))
	src := project(t, b.String())
	at := readertest.Checkpoints(t, New(), src)(seq)
	if at.State == "" || at.Until != seq+1 {
		t.Fatalf("no mark before event %d that ends behind it: %+v", seq, at)
	}
	var got []session.Event
	if _, err := New().Window(t.Context(), src, at, seq, seq, session.Every(), func(r session.Raw) error {
		got = append(got, r.Event)
		return nil
	}); err != nil || len(got) != 1 || got[0].NativeID != "v" {
		t.Errorf("%v, %+v", err, got)
	}
}
