package codex

import (
	"slices"
	"strconv"
	"strings"
)

// release is which release of the client wrote a log, as its header says: the
// second number of 0.144.5; newest if it says nothing known.
type release int

const newest release = 1 << 30

func releaseOf(version string) release {
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	if n, err := strconv.Atoi(minor); err == nil && major == "0" && n >= 0 {
		return release(min(n, int(newest)))
	}
	return newest
}

// replays says that a rollback makes the context anew from the log, as releases
// since 0.112 do; before, it only drops turns.
func (r release) replays() bool { return r >= 112 }

// trims says that the agent's own words directly before a turn go with it.
func (r release) trims() bool { return r >= 117 }

// turns is what a rollback depends on beside the surface. After one, the client
// makes its context anew from its log. From the end it looks, by turns, for the
// latest compaction that was not taken back; from there it goes forward, takes the
// messages and drops them again at every rollback. When the only compaction of a
// log is taken back, its search has passed it by then, and it goes forward from
// behind it with nothing: the prompts from before are in no list any more.
type turns struct {
	Compactions int    `json:"n,omitempty"`     // with a list: none, one, or 2 for more
	Floor       int64  `json:"floor,omitempty"` // the first seq behind the only one
	Since       int64  `json:"since,omitempty"` // a user's turns behind it that stand
	Counted     bool   `json:"in,omitempty"`    // the turn at hand is among them, or is the compaction's own
	Lost        bool   `json:"lost,omitempty"`  // it was taken back
	Apart       bool   `json:"apart,omitempty"` // alone is not merely the surface behind it
	Alone       string `json:"alone,omitempty"` // alone, packed

	alone []node // the surface, had there been nothing up to the only compaction
}

// begin takes the start of a turn.
func (t *turns) begin() { t.Counted = false }

// add takes a node that joins the surface.
func (t *turns) add(n node) {
	if n.turn && !t.Counted {
		t.Counted = true
		t.Since++
	}
	if t.Apart {
		t.alone = append(t.alone, n)
	}
}

// compacted takes a compaction that stated the new context; next is the first seq
// behind it.
func (t *turns) compacted(next int64) {
	*t = turns{Compactions: min(t.Compactions+1, 2), Floor: next, Counted: true}
}

// ruled takes a compaction that did not state it. No release writes both kinds, so
// how one would read such a log is not known.
func (t *turns) ruled() { *t = turns{Compactions: 2, Counted: true} }

// rollback returns what is left of a surface when n turns are taken back.
func (t *turns) rollback(list []node, n int64, by release) []node {
	lost := n > t.Since
	t.Since = max(0, t.Since-n)
	if t.Compactions != 1 || t.Lost || !by.replays() {
		return dropTurns(list, n, by.trims())
	}
	if !t.Apart {
		at := slices.IndexFunc(list, func(n node) bool { return n.seq >= t.Floor })
		t.alone = nil
		if at >= 0 {
			t.alone = slices.Clone(list[at:])
		}
	}
	t.alone, t.Apart = dropTurns(t.alone, n, by.trims()), true
	if !lost {
		return dropTurns(list, n, by.trims())
	}
	list, t.alone, t.Apart, t.Lost = t.alone, nil, false, true
	return list
}

// dropTurns drops the last n turns. A turn begins here with any message in the
// user's role that is not the agent's own: one that was given while the agent
// worked begins another, and a summary is one. With trim, the agent's own words
// directly before it go with it; what stands before the first turn always stays.
func dropTurns(list []node, n int64, trim bool) []node {
	first := slices.IndexFunc(list, func(n node) bool { return n.turn })
	if first < 0 || n <= 0 {
		return list
	}
	cut := len(list)
	for i := len(list) - 1; i >= first && n > 0; i-- {
		if list[i].turn {
			cut = i
			n--
		}
	}
	for trim && cut > first && list[cut-1].context {
		cut--
	}
	return list[:cut]
}
