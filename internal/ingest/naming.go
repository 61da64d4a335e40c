package ingest

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/yorehq/yore/session"
)

// Some agents write the title of a session into the log of another one, which
// names a record of the session that is meant (Body.TitleOf). Which session holds
// that record is found out within the shard, so that no title crosses from one
// workspace into another:
//
//   - a record that comes is compared with the titles that wait for one;
//   - for titles that came last, the shard is gone through once for all of them,
//     at the end of the work that brought them.
//
// A session that goes takes along what it said of others; their names are then
// looked for anew.

// Claim is a title that a session has for the holder of a record.
type Claim struct {
	Leaf  string `json:"leaf"` // the record's native id
	Title string `json:"title"`
}

// Name is a claim that met a session.
type Name struct {
	Title     string     `json:"title"`
	By        session.ID `json:"by"` // the session that has it in its log
	CreatedAt int64      `json:"created"`
	Number    int        `json:"n"` // of the claim there
}

// compare orders claims on one session: the last one names it.
func (n *Name) compare(o *Name) int {
	return cmp.Or(cmp.Compare(n.CreatedAt, o.CreatedAt), cmp.Compare(n.By, o.By), cmp.Compare(n.Number, o.Number))
}

// Naming is what a session has to do with titles in others' logs. The zero value
// is nothing.
type Naming struct {
	Makeshift bool    `json:"makeshift,omitempty"` // its own title is only the beginning of a prompt
	Name      *Name   `json:"name,omitempty"`      // from another session
	Claims    []Claim `json:"claims,omitempty"`    // for others
	Sought    int     `json:"sought,omitempty"`    // how many of these have been looked up
}

// Empty reports whether there is nothing to remember.
func (n *Naming) Empty() bool { return !n.Makeshift && n.Name == nil && len(n.Claims) == 0 }

func (n *Naming) unsought() bool { return n.Sought < len(n.Claims) }

// maxClaims bounds the titles that one session may have for others.
const maxClaims = 64

// ShownTitle returns the title of a session: its own, unless that is only made
// from a prompt and another session's log has one for it.
func (s *Stored) ShownTitle() *string {
	if n := s.Naming.Name; n != nil && s.TitleFail == "" && (s.Title == nil || s.Naming.Makeshift) {
		return &n.Title
	}
	return s.Title
}

// reference is a claim of a session.
type reference struct {
	by     *Stored
	number int
}

// names are the claims of a shard, by the records they are about, and whom they
// have named. The zero value of the pointer knows none and takes none.
type names struct {
	byLeaf map[string][]reference
	named  map[session.ID][]*Stored // by who named them; some may have another name by now
}

func namesOf(stored []*Stored) *names {
	all := &names{byLeaf: map[string][]reference{}, named: map[session.ID][]*Stored{}}
	for _, s := range stored {
		all.note(s)
		for i := range s.Naming.Claims {
			all.add(s, i)
		}
	}
	return all
}

// note remembers by whom a session is named.
func (ns *names) note(s *Stored) {
	if n := s.Naming.Name; n != nil {
		ns.named[n.By] = append(ns.named[n.By], s)
	}
}

func (ns *names) add(s *Stored, number int) {
	leaf := s.Naming.Claims[number].Leaf
	ns.byLeaf[leaf] = append(ns.byLeaf[leaf], reference{s, number})
}

// claim notes a title that a session has for another one.
func (ns *names) claim(s *Stored, leaf, title string) {
	if ns == nil || len(s.Naming.Claims) >= maxClaims {
		return
	}
	s.Naming.Claims = append(s.Naming.Claims, Claim{leaf, title})
	ns.add(s, len(s.Naming.Claims)-1)
}

// meet compares a new surface event with what waits for its record.
func (ns *names) meet(s *Stored, e *session.Event) {
	if ns == nil || len(ns.byLeaf) == 0 || !session.SurfaceType(e.Type) {
		return
	}
	for _, ref := range ns.byLeaf[e.NativeID] {
		if ref.name(s) {
			ns.note(s)
		}
	}
}

// name gives a session a title that another one has for it.
func (ref reference) name(s *Stored) (changed bool) {
	by := ref.by
	if by.Header.Agent != s.Header.Agent {
		return false
	}
	n := &Name{by.Naming.Claims[ref.number].Title, by.Header.ID, by.Header.CreatedAt, ref.number}
	if old := s.Naming.Name; old != nil && n.compare(old) <= 0 {
		return false
	}
	s.Naming.Name = n
	return true
}

// unname takes back what a session that goes has said of others.
func (sl *slice) unname(ctx context.Context, s *Stored) error {
	if len(s.Naming.Claims) == 0 {
		return nil
	}
	for _, c := range s.Naming.Claims {
		sl.names.byLeaf[c.Leaf] = slices.DeleteFunc(sl.names.byLeaf[c.Leaf], func(r reference) bool { return r.by == s })
	}
	took := false
	for _, other := range sl.names.named[s.Header.ID] {
		if n := other.Naming.Name; n == nil || n.By != s.Header.ID || other.Header.Agent != s.Header.Agent || sl.held[other.Num] != other {
			continue
		}
		other.Naming.Name, took = nil, true
		if other != s {
			if err := sl.w.Put(ctx, other); err != nil {
				return err
			}
		}
	}
	delete(sl.names.named, s.Header.ID)
	if !took || sl.again {
		return nil
	}
	// Once in a transaction: nothing is looked up within one.
	sl.again = true
	for _, other := range sl.held {
		if other == s || other.Naming.Sought == 0 {
			continue
		}
		other.Naming.Sought = 0
		if err := sl.w.Put(ctx, other); err != nil {
			return err
		}
	}
	return nil
}

// seekNames looks up which sessions hold the records that new claims are about.
func (in *Ingester) seekNames(ctx context.Context, p *plan) error {
	err := in.Shards.Write(ctx, p.workspace, func(w Writer) error { return seek(ctx, w) })
	if errors.Is(err, ErrBusy) {
		p.stale = true
		return nil // the next time
	}
	return err
}

func seek(ctx context.Context, w Writer) error {
	rows, err := w.Stored(ctx, StoredLookup{})
	if err != nil {
		return err
	}
	sought, byNum := map[uint64][]reference{}, map[int64]*Stored{}
	changed := map[*Stored]bool{}
	for i := range rows {
		s := &rows[i]
		byNum[s.Num] = s
		for n := s.Naming.Sought; n < len(s.Naming.Claims); n++ {
			for _, typ := range [...]string{session.UserMessage, session.AssistantMessage, session.ToolResult} {
				native := nativeOf(&session.Event{Type: typ, NativeID: s.Naming.Claims[n].Leaf})
				sought[native] = append(sought[native], reference{s, n})
			}
			changed[s] = true
		}
		s.Naming.Sought = len(s.Naming.Claims)
	}
	natives := make([]uint64, 0, len(sought))
	for native := range sought {
		natives = append(natives, native)
	}
	slices.Sort(natives)
	holders, err := w.Holders(ctx, natives)
	if err != nil {
		return err
	}
	for _, h := range holders {
		for _, ref := range sought[h.Native] {
			if s := byNum[h.Num]; s != nil && ref.name(s) {
				changed[s] = true
			}
		}
	}
	for i := range rows {
		if changed[&rows[i]] {
			if err := w.Put(ctx, &rows[i]); err != nil {
				return err
			}
		}
	}
	return nil
}
