package session

// Raw is one event as an exact read returns it.
type Raw struct {
	Event  Event
	Native []byte // the bytes the agent wrote for it; made JSON where Event.Reconstructed; nil where they were not asked for
}

// Range is events by their numbers, from First up to but without End. The zero
// value is none.
type Range struct{ First, End int64 }

// Every is the range of all events.
func Every() Range { return Range{0, MaxSafe + 1} }

// One is the range of a single event.
func One(seq int64) Range { return Range{seq, seq + 1} }

// Has reports whether an event is in the range.
func (r Range) Has(seq int64) bool { return r.First <= seq && seq < r.End }

// Meets reports whether an event of both ranges exists.
func (r Range) Meets(o Range) bool { return max(r.First, o.First) < min(r.End, o.End) }

// Checkpoint is a place from which a log can be read without what came before.
type Checkpoint struct {
	Seq   int64 // seq of the first event there
	Place Place
	Dear  bool   // reading on to it from an earlier one may cost the log up to here: it is worth keeping
	State string // what the reader needs to go on there (Event.Resume); "": it needs nothing, or gave nothing
	Until int64  // > 0, of one with a state: events from this seq on need more than that (Event.Breaks); 0: none is known to
}

// Scope is the part of the corpus that a request may touch.
type Scope struct {
	Workspaces []string // each compared as an exact string; "" is the sessions without one
	All        bool     // every workspace, whatever Workspaces says: the owner's scope
	Only       *Key     // if set, no other session has to be up to date
	Quick      bool     // if no workspace is named: look for new files only where they are likely
}

// Coverage says what an answer may have missed.
type Coverage struct {
	Sessions   int  // sessions in the scope
	Behind     int  // of these, not yet (wholly) indexed
	Unreadable int  // of these, left out because their logs cannot be read or contradict each other
	Damaged    int  // of these, searched only up to a damaged place in their logs
	Clipped    int  // texts in the scope that are longer than what is searchable
	Stale      bool // another process was bringing the index up to date; newer events exist

	// Since is from which time on events were counted that hold a common word or
	// phrase of the search, in epoch milliseconds; 0: all were. A team's server
	// counts such words in its newest events alone.
	Since int64
}
