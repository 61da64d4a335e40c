package query

import (
	"slices"

	"github.com/yorehq/yore/session"
)

// A fork begins with events of its parent. A hit on one of them is shown once:
// by the farthest ancestor that is in the same answer, which names the sessions
// that inherited it. Copies are recognised by the records' own ids where the
// agent keeps them, since a fork's numbers may differ from its parent's, and
// else by their numbers, which then are the same.

// record names an event of a session across its copies.
type record struct {
	of     *entry
	seq    int64  // where the agent keeps no ids
	native uint64 // else
}

func recordOf(of *entry, d *Document) record {
	if d.Native != 0 {
		return record{of: of, native: d.Native}
	}
	return record{of: of, seq: d.Seq}
}

// kin returns the sessions among whose documents copies may be: forks that may
// be shown and their ancestors.
func (s *search) kin() map[*entry]bool {
	kin := map[*entry]bool{}
	if !s.hideInherited {
		return kin
	}
	for _, v := range s.views {
		for _, en := range v.sessions {
			if !en.row.Header.Inherited(0) || !s.allow(en) {
				continue
			}
			kin[en] = true
			s.ancestors(en, func(en *entry) bool {
				seen := kin[en]
				kin[en] = true
				return !seen
			})
		}
	}
	return kin
}

// ancestors visits the ancestors of a session that may be shown, nearest first,
// until visit returns false. Lineage may run in a circle.
func (s *search) ancestors(of *entry, visit func(*entry) bool) {
	for steps := 0; of.row.Header.ParentSession != "" && steps <= len(s.known); steps++ {
		h := &of.row.Header
		parent := s.find(session.Key{Agent: h.Agent, ID: h.ParentSession}, h.Cwd)
		if parent == nil || !visit(parent) {
			return
		}
		of = parent
	}
}

// withoutInherited drops hits that an ancestor in the same answer shows itself.
func (s *search) withoutInherited(hits []*hit) []*hit {
	if !s.hideInherited {
		return hits
	}
	inherited := func(h *hit) bool { return h.session.row.Header.Inherited(h.doc.Seq) }
	if !slices.ContainsFunc(hits, inherited) {
		return hits
	}
	shown := make(map[record]bool, len(hits))
	for _, h := range hits {
		shown[recordOf(h.session, &h.doc)] = true
	}
	return slices.DeleteFunc(hits, func(h *hit) bool {
		if !inherited(h) {
			return false
		}
		origin, ok := s.origin(h, shown)
		if ok {
			s.inherit(origin, h.session.row.Header.Key())
		}
		return ok
	})
}

// origin returns the record of the farthest ancestor that shows a hit itself.
func (s *search) origin(h *hit, shown map[record]bool) (origin record, ok bool) {
	if h.doc.Native == 0 && !h.session.row.Header.Inherited(h.doc.Seq) {
		return origin, false // it is its own
	}
	s.ancestors(h.session, func(en *entry) bool {
		if r := recordOf(en, &h.doc); shown[r] && en != h.session {
			origin, ok = r, true
		}
		return h.doc.Native != 0 || en.row.Header.Inherited(h.doc.Seq)
	})
	return origin, ok
}

func (s *search) inherit(origin record, heir session.Key) {
	if s.heirs == nil {
		s.heirs = map[record][]session.Key{}
	}
	if !slices.Contains(s.heirs[origin], heir) {
		s.heirs[origin] = append(s.heirs[origin], heir)
	}
}

// parents returns the sessions that may be shown and whose id some other names
// as its parent.
func (s *search) parents() map[session.ID][]*entry {
	parents := map[session.ID][]*entry{}
	for _, v := range s.views {
		for _, en := range v.sessions {
			if id := en.row.Header.ParentSession; id != "" {
				parents[id] = nil
			}
		}
	}
	for _, v := range s.views {
		for _, en := range v.sessions {
			if all, ok := parents[en.row.Header.ID]; ok {
				parents[en.row.Header.ID] = append(all, en)
			}
		}
	}
	return parents
}

// find returns a session that may be shown: in the given workspace first.
func (s *search) find(key session.Key, workspace string) (found *entry) {
	if s.known == nil {
		s.known = s.parents()
	}
	for _, en := range s.known[key.ID] {
		h := &en.row.Header
		if h.Agent == key.Agent && (found == nil || h.Cwd == workspace) {
			found = en
		}
	}
	return found
}

// forks names the sessions whose inherited copies a hit stands for.
func (s *search) forks(h *hit) []session.Key {
	return slices.SortedFunc(slices.Values(s.heirs[recordOf(h.session, &h.doc)]), session.CompareKey)
}
