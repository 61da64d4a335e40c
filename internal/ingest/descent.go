package ingest

import (
	"cmp"
	"encoding/binary"
	"hash/maphash"
	"slices"

	"github.com/yorehq/yore/session"
)

// Who is whose fork follows from the ids that logs share. Most logs of a family
// are alike in that: a thousand forks of one session share the same beginning and
// have nothing else in common. Those whose shared ids are the same, in the same
// order, and go as far before the first id that nobody else has are one class,
// and what is asked of two logs is asked once of their classes:
//
//	a   r0 r1 r2 a3 a4     shared r0 r1 r2, then its own
//	b   r0 r1 r2 b3        the same: a class with a
//	c   r0 r1              shared r0 r1: a class of its own
//
// Within a class, and between two, one member is later than another by an order,
// so that for each member only the first of each class has to be looked at.

// family is the logs that begin with the same record, and the work of relating them.
type family struct {
	kin     kin
	members []*member
	seed    maphash.Seed // a log cannot be made so that its ids collide
	room    int          // marks that there is room for
	steps   int          // comparisons that may still be made
	known   map[uint64]bool
	parents map[session.ID]session.ID
}

const (
	// mostMarks is how many marks of a family are kept, at some 50 bytes each: the
	// two logs of a fork at a million events. Logs beyond it are not compared.
	mostMarks = 2 << 20

	// mostSteps bounds the comparisons of a family to a second or two.
	mostSteps = 1 << 28
)

func newFamily() *family {
	return &family{seed: maphash.MakeSeed(), room: mostMarks, steps: mostSteps, parents: map[session.ID]session.ID{}}
}

// member is one log of a family.
type member struct {
	num     int64
	source  string
	header  session.Header
	events  int64
	touched int64 // epoch milliseconds; -1: its file may go on without it
	marks   []mark
	class   *class

	found   Fork // what came of it
	settled bool // growth of the logs can change nothing of that
}

// mark is an event that has an id of its own, hashed.
type mark struct {
	id   uint64
	seq  int64
	time int64
}

func (f *family) add(s *Stored) *member {
	m := &member{num: s.Num, source: s.Source, header: s.Header, events: s.Events, touched: s.Position.Stamp.ModTime / 1e6}
	if s.Header.Origin != "" {
		m.touched = -1 // and it ends with its task
	}
	f.members = append(f.members, m)
	f.parents[m.header.ID] = m.header.ParentSession
	return m
}

// mark takes in an event of a member, once for each id; false says that there is
// no room for it.
func (f *family) mark(m *member, e *session.Event) bool {
	if e.NativeID == "" {
		return true
	}
	id := maphash.String(f.seed, e.NativeID)
	if f.known == nil {
		f.known = map[uint64]bool{}
	}
	if f.known[id] {
		return true
	}
	f.known[id] = true
	m.marks = append(m.marks, mark{id, e.Seq, e.Time})
	return len(m.marks) <= f.room
}

// note ends the taking in of a member's events.
func (f *family) note(m *member) {
	if len(m.marks) > f.room {
		m.marks = nil
	}
	m.marks = slices.Clip(m.marks)
	f.room -= len(m.marks)
	f.known = nil
}

// class is the members that share the same ids with others.
type class struct {
	shared  []uint64 // in the order of their logs
	sorted  []uint64
	ahead   int       // how many of them stand before an id that nobody else has
	own     []*member // that have such an id
	bare    []*member
	members []*member // by id
}

// classify finds out which ids are shared, and who shares the same.
func (f *family) classify() []*class {
	var all []uint64
	for _, m := range f.members {
		for _, k := range m.marks {
			all = append(all, k.id)
		}
	}
	slices.Sort(all)
	multiple := all[:0]
	for i := 1; i < len(all); i++ {
		if n := len(multiple); all[i] == all[i-1] && (n == 0 || multiple[n-1] != all[i]) {
			multiple = append(multiple, all[i])
		}
	}
	var classes []*class
	byKey := map[uint64]*class{}
	slices.SortFunc(f.members, func(a, b *member) int { return cmp.Compare(a.header.ID, b.header.ID) })
	for _, m := range f.members {
		c := class{ahead: -1}
		ends := len(m.marks)
		for i, k := range m.marks {
			if _, held := slices.BinarySearch(multiple, k.id); held {
				c.shared = append(c.shared, k.id)
			} else if c.ahead < 0 {
				c.ahead = i
				ends = i + 1
			}
		}
		m.marks = m.marks[:ends]
		has := c.ahead >= 0
		if !has {
			c.ahead = len(c.shared)
		}
		key := f.keyOf(&c)
		if byKey[key] == nil {
			byKey[key] = &c
			classes = append(classes, &c)
		}
		m.class = byKey[key]
		if m.class.members = append(m.class.members, m); has {
			m.class.own = append(m.class.own, m)
		} else {
			m.class.bare = append(m.class.bare, m)
		}
	}
	for _, c := range classes {
		c.sorted = slices.Sorted(slices.Values(c.shared))
	}
	return classes
}

func (f *family) keyOf(c *class) uint64 {
	var h maphash.Hash
	h.SetSeed(f.seed)
	var b [8]byte
	for _, n := range append(slices.Clip(c.shared), uint64(c.ahead)) {
		binary.LittleEndian.PutUint64(b[:], n)
		h.Write(b[:])
	}
	return h.Sum64()
}

// common returns how many leading marks of a's members those of b have too.
func (f *family) common(a, b *class) int {
	n := 0
	for ; n < a.ahead; n++ {
		f.steps--
		if n < len(b.shared) && a.shared[n] == b.shared[n] {
			continue
		}
		if _, ok := slices.BinarySearch(b.sorted, a.shared[n]); !ok {
			break
		}
	}
	return n
}

// first returns the first mark of m behind some that it shares; without any, ok
// is false and the seq is that behind the last event.
func (m *member) first(shared int) (k mark, ok bool) {
	if shared < len(m.marks) {
		return m.marks[shared], true
	}
	return mark{seq: m.events}, false
}

// later reports whether m was made after other: by what the logs say, by what
// comes after the copies, or, of a log that has nothing after them, by its not
// being left alone since before the other went on. Of two that nothing tells
// apart it is the one whose id is greater. They share so many of their marks.
func (m *member) later(other *member, mine, its int) bool {
	if a, b := m.header.CreatedAt, other.header.CreatedAt; a != b {
		return a > b
	}
	first, own := m.first(mine)
	theirs, foreign := other.first(its)
	switch {
	case own && foreign && first.time != theirs.time:
		return first.time > theirs.time
	case own && !foreign:
		return other.touched <= first.time
	case foreign && !own:
		return m.touched > theirs.time
	}
	return m.header.ID > other.header.ID
}

// pair is a class as the members of another one see it.
type pair struct {
	class     *class
	mine, its int // marks that members of the other one share with it, and it with them

	// Those who come first by the order of later: with something of their own
	// behind what is shared, and without, for who has such and for who has not.
	own, touched, bare []*member
	alone              map[int64]bool // when those without were created
}

func (f *family) pairOf(a, b *class) *pair {
	p := &pair{class: b, mine: f.common(a, b), its: f.common(b, a)}
	f.steps -= len(b.members)
	p.own = b.own
	if p.its < b.ahead {
		p.own = b.members
	} else {
		p.touched, p.bare = slices.Clone(b.bare), slices.Clone(b.bare)
	}
	p.own = slices.Clone(p.own)
	at := func(m *member) int64 { k, _ := m.first(p.its); return k.time }
	by := func(value func(*member) int64) func(a, b *member) int {
		return func(a, b *member) int {
			return cmp.Or(cmp.Compare(a.header.CreatedAt, b.header.CreatedAt), cmp.Compare(value(a), value(b)), cmp.Compare(a.header.ID, b.header.ID))
		}
	}
	slices.SortFunc(p.own, by(at))
	slices.SortFunc(p.touched, by(func(m *member) int64 { return m.touched }))
	slices.SortFunc(p.bare, by(func(*member) int64 { return 0 }))
	p.alone = make(map[int64]bool, len(p.bare))
	for _, m := range p.bare {
		p.alone[m.header.CreatedAt] = true
	}
	return p
}

// seeded returns how many leading marks the log states to be copied.
func (m *member) seeded() int {
	n := 0
	for n < len(m.marks) && m.marks[n].seq < m.header.SeedLength {
		n++
	}
	return n
}

// relate decides who is whose fork.
func (f *family) relate() {
	classes := f.classify()
	for _, c := range classes {
		var pairs []*pair
		for _, other := range classes {
			if f.steps <= 0 {
				return // nothing is said of the rest
			}
			pairs = append(pairs, f.pairOf(c, other))
		}
		slices.SortStableFunc(pairs, func(a, b *pair) int { return cmp.Compare(b.mine, a.mine) })
		for _, m := range c.members {
			m.settled = isSettled(m, pairs)
			f.place(m, pairs)
		}
	}
}

// isSettled reports whether growth of the logs can change nothing of m's place.
func isSettled(m *member, pairs []*pair) bool {
	for _, p := range pairs {
		if len(p.class.members) == 1 && p.class.members[0] == m {
			continue
		}
		if _, own := m.first(p.mine); !own || p.alone[m.header.CreatedAt] {
			return false
		}
	}
	return true
}

// place finds a member's parent.
func (f *family) place(m *member, pairs []*pair) {
	most := m.seeded()
	var parent *member
	for _, p := range pairs {
		if p.mine < most || p.mine == most && parent == nil {
			break
		}
		_, own := m.first(p.mine)
		lists := [][]*member{p.own, p.bare}
		if own {
			lists[1] = p.touched
		}
		for _, list := range lists {
			c := f.earliest(m, p, list)
			if c != nil && (parent == nil || parent.later(c, f.common(parent.class, c.class), f.common(c.class, parent.class))) {
				parent, most = c, p.mine
			}
		}
	}
	if parent == nil {
		return
	}
	first, own := m.first(most)
	created := m.header.CreatedAt
	if own && created == parent.header.CreatedAt {
		created = max(first.time, 0)
	}
	m.found = Fork{Parent: parent.header.ID, Seed: first.seq, CreatedAt: created}
	f.parents[m.header.ID] = parent.header.ID
}

// earliest returns the first of a list that m is later than and that does not
// come from m.
func (f *family) earliest(m *member, p *pair, list []*member) *member {
	for _, c := range list {
		if f.steps--; c == m {
			continue
		}
		if !m.later(c, p.mine, p.its) {
			break
		}
		if !f.descends(c.header.ID, m.header.ID) {
			return c
		}
	}
	return nil
}

// descends reports whether id comes from ancestor by what is known so far.
func (f *family) descends(id, ancestor session.ID) bool {
	for range len(f.parents) + 1 {
		f.steps--
		if id == ancestor {
			return true
		}
		if id = f.parents[id]; id == "" {
			return false
		}
	}
	return true
}
