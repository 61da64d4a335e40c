package query

import (
	"cmp"
	"slices"
	"strings"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/session"
)

// normal returns a filter that chooses the same, with its lists sorted and
// without duplicates.
func (f SessionFilter) normal() SessionFilter {
	f.Scope.Workspaces = set(f.Scope.Workspaces, strings.Compare)
	f.IDs = set(f.IDs, strings.Compare)
	f.Agents = set(f.Agents, cmp.Compare)
	f.Parents = set(f.Parents, session.CompareKey)
	f.Availability = set(f.Availability, cmp.Compare)
	f.Exclude = set(f.Exclude, func(a, b Target) int {
		return cmp.Or(session.CompareKey(a.Key, b.Key), strings.Compare(a.Workspace, b.Workspace))
	})
	return f
}

func (f EventFilter) normal() EventFilter {
	f.Types = set(f.Types, strings.Compare)
	f.States = set(f.States, cmp.Compare)
	return f
}

// set returns a list sorted and without duplicates; nil stays nil.
func set[T comparable](list []T, compare func(a, b T) int) []T {
	list = slices.Clone(list)
	slices.SortFunc(list, compare)
	return slices.Compact(list)
}

// sieve is a session filter made ready for many sessions.
type sieve struct {
	*SessionFilter
	ids     map[string]bool // nil: any
	parents map[session.Key]bool
	exclude map[Target]bool
}

func newSieve(f *SessionFilter) *sieve {
	return &sieve{f, members(f.IDs), members(f.Parents), members(f.Exclude)}
}

func members[T comparable](list []T) map[T]bool {
	if list == nil {
		return nil
	}
	m := make(map[T]bool, len(list))
	for _, v := range list {
		m[v] = true
	}
	return m
}

// passes applies the filter to an entry.
func (f *sieve) passes(s *entry) bool {
	h := s.row.Header
	switch {
	case f.ids != nil && !f.ids[string(h.ID)] && !f.ids[h.Key().String()],
		f.Agents != nil && !slices.Contains(f.Agents, h.Agent),
		!f.CreatedAt.Holds(h.CreatedAt),
		f.exclude[TargetOf(h)],
		f.Availability != nil && !(s.open() && slices.Contains(f.Availability, Live)) && !(s.persisted && slices.Contains(f.Availability, Persisted)):
		return false
	case f.Parents == nil && !f.Roots:
		return true
	case h.ParentSession == "":
		return f.Roots
	}
	return f.parents[session.Key{Agent: h.Agent, ID: h.ParentSession}]
}

// unambiguous refuses a bare id that sessions of two agents share.
func (vs views) unambiguous(ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	keys := make(map[string][]session.Key, len(ids)) // by how they are asked for
	for _, id := range ids {
		keys[id] = nil
	}
	for _, v := range vs {
		for _, s := range v.sessions {
			key := s.row.Header.Key()
			for _, name := range []string{string(key.ID), key.String()} {
				if found, asked := keys[name]; asked && !slices.Contains(found, key) {
					keys[name] = append(found, key)
				}
			}
		}
	}
	for _, id := range ids {
		if found := keys[id]; len(found) > 1 {
			slices.SortFunc(found, session.CompareKey)
			return fault.New(fault.InvalidFilter, "session_ids: several sessions have the id %q; name %s or %s", id, found[0], found[1])
		}
	}
	return nil
}

// cover completes what an answer over the chosen sessions may have missed with
// what only the views together know.
func (vs views) cover(c *session.Coverage, chosen *sieve) {
	c.Clipped = 0
	for _, v := range vs {
		for _, s := range v.all {
			if s.contested && !chosen.exclude[TargetOf(s.row.Header)] {
				c.Unreadable++
			}
		}
		for _, s := range v.sessions {
			if chosen.passes(s) {
				c.Clipped += int(s.row.Clipped)
			}
		}
	}
}

// bound adds, behind a search, from when on its common words were counted.
func (vs views) bound(c *session.Coverage) {
	for _, v := range vs {
		if b, ok := v.snap.(Bounded); ok {
			c.Since = max(c.Since, b.Since())
		}
	}
}
