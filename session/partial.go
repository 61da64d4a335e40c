package session

// A fold need not know the whole surface in order to go on: an operation looks
// at the list from the first entry on that it takes out, and at the shadowed
// events that it brings back. Who keeps the surface elsewhere gives a fold what
// the next event asks for and takes from it what it will not ask for again, so
// that the cost of going on is that of the operation and not that of the log.

// Knows reports whether the fold has met the surface event at seq, or was told of it.
func (f *Fold) Knows(seq int64) bool { return f.nodes[seq] != nil }

// Extend puts entries of the list before all that the fold knows of it. They
// are current and come in ascending Order.
func (f *Fold) Extend(nodes []Node) {
	var last *entry
	for _, n := range nodes {
		e := f.know(n)
		f.insertAfter(last, e)
		last = e
	}
}

// Tell makes surface events known that are not, or not yet, part of the list
// that the fold knows: it may bring them back.
func (f *Fold) Tell(nodes []Node) {
	for _, n := range nodes {
		f.know(n)
	}
}

func (f *Fold) know(n Node) *entry {
	if f.nodes == nil {
		f.nodes = make(map[int64]*entry)
	}
	e := &entry{Node: n}
	f.nodes[n.Seq] = e
	return e
}

// Forget drops every event but the last entries of the list, at most so many.
// What concerns another one has to be preceded by Extend or Tell. It returns the
// position key of the first entry that was kept; cut says that others lay before it.
func (f *Fold) Forget(most int) (first int64, cut bool) {
	// A map keeps the room that it once had; what stays may be a small part of it.
	f.nodes, f.head = make(map[int64]*entry), nil
	for e := f.tail; e != nil; e = e.prev {
		f.nodes[e.Seq], f.head = e, e
		if len(f.nodes) >= most && e.prev != nil {
			e.prev.next, e.prev = nil, nil
			return e.Order, true
		}
	}
	return 0, false
}
