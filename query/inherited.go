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
	if s.family != nil || !s.hideInherited {
		return s.family
	}
	kin := map[*entry]bool{}
	for _, v := range s.views {
		for _, en := range v.sessions {
			if !en.row.Header.Inherited(0) || !s.allow(en) {
				continue
			}
			for kin[en] = true; en.row.Header.ParentSession != ""; {
				h := &en.row.Header
				parent := s.find(session.Key{Agent: h.Agent, ID: h.ParentSession}, h.Cwd)
				if parent == nil || kin[parent] {
					break
				}
				en = parent
				kin[en] = true
			}
		}
	}
	s.family = kin
	return kin
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
	at := &h.session.row.Header
	for steps := 0; at.ParentSession != "" && steps <= len(s.known); steps++ { // lineage may run in a circle
		if h.doc.Native == 0 && !at.Inherited(h.doc.Seq) {
			break // it is this one's own
		}
		parent := s.find(session.Key{Agent: at.Agent, ID: at.ParentSession}, at.Cwd)
		if parent == nil {
			break
		}
		at = &parent.row.Header
		if r := recordOf(parent, &h.doc); shown[r] && parent != h.session {
			origin, ok = r, true
		}
	}
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

// find returns a session that may be shown: in the given workspace first.
func (s *search) find(key session.Key, workspace string) (found *entry) {
	if s.known == nil {
		s.known = map[session.ID][]*entry{}
		for _, v := range s.views {
			for _, en := range v.sessions {
				s.known[en.row.Header.ID] = append(s.known[en.row.Header.ID], en)
			}
		}
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
