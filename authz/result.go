package authz

import (
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// ParentKind says what may be shown of a session's parent.
type ParentKind uint8

// The kinds.
const (
	ParentRoot    ParentKind = iota // there is none
	ParentVisible                   // Key names it
	ParentOutside                   // it is not visible, or not there: a boundary marker without its id
)

// Parent is what may be shown of a session's parent.
type Parent struct {
	Kind ParentKind
	Key  session.Key
}

// SessionHit is a visible session that matched.
type SessionHit struct {
	query.SessionHit
	Parent Parent
}

// SessionPage is the visible answer to a search over sessions.
type SessionPage struct {
	Hits     []SessionHit
	More     bool
	Next     string
	Coverage session.Coverage
	Shared   bool // the hits come from several agents: ids are shown as agent:id
}

// Lineage is where a session comes from and what came from it, as far as the
// caller may see.
type Lineage struct {
	Target      query.Info
	Ancestors   []query.Info // nearest first
	Boundary    bool         // the chain goes on (or breaks off) where the caller may not see
	Descendants []Kin        // depth first
}

// Kin is one descendant, or the marker of a subtree that may not be seen.
type Kin struct {
	Info    query.Info
	Depth   int
	Outside bool // a boundary marker; Info is empty
}
