package ingest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/yorehq/yore/session"
)

// made is a family of logs that are copied from each other at random: whole or up
// to some record, with records left out now and then, and go on or not.
func made(random *rand.Rand, n int) *family {
	f := newFamily()
	var logs [][]session.Event
	id := 0
	for i := range n {
		var log []session.Event
		if i > 0 {
			from := logs[random.IntN(i)]
			for _, e := range from[:1+random.IntN(len(from))] {
				if len(log) == 0 || random.IntN(12) > 0 {
					e.Seq = int64(len(log))
					log = append(log, e)
				}
			}
		}
		for range random.IntN(3) + 1/(i+1) {
			id++
			log = append(log, session.Event{NativeID: fmt.Sprint("r", id), Seq: int64(len(log)), Time: int64(id + random.IntN(3))})
		}
		logs = append(logs, log)
		s := &Stored{Num: int64(i + 1), Events: int64(len(log))}
		s.Header = session.Header{ID: session.ID(fmt.Sprintf("s%02d", random.IntN(100)*100+i)), CreatedAt: int64(random.IntN(2))}
		s.Position.Stamp.ModTime = int64(id) * 1e6
		if i > 0 && random.IntN(4) == 0 {
			s.Header.ParentSession = f.members[random.IntN(i)].header.ID
			s.Header.SeedLength = int64(random.IntN(len(log) + 1))
		}
		m := f.add(s)
		for i := range log {
			f.mark(m, &log[i])
		}
		f.note(m)
	}
	return f
}

// pairwise is what two logs share, by their records alone.
func pairwise(a, b []mark) (shared int) {
	held := map[uint64]bool{}
	for _, k := range b {
		held[k.id] = true
	}
	for shared < len(a) && held[a[shared].id] {
		shared++
	}
	return shared
}

// TestRelationsOfPairs compares what classes of logs tell with looking at each two
// of them: a fork shares most with its parent, of all that are earlier and are
// no forks of its own, and nobody of these is earlier than its parent.
func TestRelationsOfPairs(t *testing.T) {
	forks, settled := 0, 0
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 5))
		f := made(random, 2+random.IntN(14))
		marks := map[*member][]mark{}
		byID := map[session.ID]*member{}
		for _, m := range f.members {
			marks[m], byID[m.header.ID] = append([]mark(nil), m.marks...), m
		}
		f.relate()
		// Parents as they were when a member was placed are not known any more: only
		// families in which nobody states one tell what was possible.
		stated := false
		for _, m := range f.members {
			stated = stated || m.header.ParentSession != ""
		}
		comes := func(m, from *member) bool {
			for range f.members {
				if m == nil || m == from {
					break
				}
				m = byID[m.found.Parent]
			}
			return m == from
		}
		later := func(a, b *member) bool {
			x, y := *a, *b
			x.marks, y.marks = marks[a], marks[b]
			return x.later(&y, pairwise(marks[a], marks[b]), pairwise(marks[b], marks[a]))
		}
		for _, m := range f.members {
			fixed := true
			best, earlier := m.seeded(), []*member(nil)
			for _, other := range f.members {
				if other == m {
					continue
				}
				mine, its := pairwise(marks[m], marks[other]), pairwise(marks[other], marks[m])
				if mine == len(marks[m]) || its == len(marks[other]) && m.header.CreatedAt == other.header.CreatedAt {
					fixed = false
				}
				switch {
				case !later(m, other) || comes(other, m) || mine < best || mine == best && earlier == nil:
				case mine > best:
					best, earlier = mine, []*member{other}
				default:
					earlier = append(earlier, other)
				}
			}
			if m.settled != fixed {
				t.Fatalf("seed %d: settled %v, want %v", seed, m.settled, fixed)
			}
			if fixed {
				settled++
			}
			if m.found.Parent != "" {
				forks++
				if p := byID[m.found.Parent]; !later(m, p) || pairwise(marks[m], marks[p]) <= m.seeded() {
					t.Fatalf("seed %d: %s is no fork of %s", seed, m.header.ID, p.header.ID)
				}
			}
			if stated {
				continue
			}
			if (m.found.Parent != "") != (earlier != nil) {
				t.Fatalf("seed %d: %s has parent %q of %d", seed, m.header.ID, m.found.Parent, len(earlier))
			}
			if earlier == nil {
				continue
			}
			p := byID[m.found.Parent]
			if pairwise(marks[m], marks[p]) != best {
				t.Fatalf("seed %d: shares %d with its parent and %d with another", seed, pairwise(marks[m], marks[p]), best)
			}
			if best < len(marks[m]) && m.found.Seed != marks[m][best].seq {
				t.Fatalf("seed %d: seed %d, want %d", seed, m.found.Seed, marks[m][best].seq)
			}
		}
	}
	if forks < 500 || settled < 100 {
		t.Errorf("%d forks and %d that are settled were tried", forks, settled)
	}
}

// TestAFamilyWithoutEnd: what is compared is bounded, however the logs are made.
func TestAFamilyWithoutEnd(t *testing.T) {
	f := newFamily()
	f.room, f.steps = 100, 1000
	for i := range 100 {
		m := f.add(&Stored{Num: int64(i), Header: session.Header{ID: session.ID(fmt.Sprintf("s%02d", i))}})
		for n := range 2 {
			if !f.mark(m, &session.Event{NativeID: fmt.Sprint("r", n*(i/2))}) {
				break
			}
		}
		f.note(m)
	}
	kept := 0
	for _, m := range f.members {
		kept += len(m.marks)
	}
	if kept > 100 {
		t.Errorf("%d marks are kept where there is room for 100", kept)
	}
	if f.relate(); f.steps < -1000 {
		t.Errorf("%d comparisons beyond the bound", -f.steps)
	}
}
