package query

import (
	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/document"
	"github.com/yorehq/yore/session"
)

// Range is a pair of inclusive bounds; nil is unbounded. A range whose From
// lies after its To holds nothing.
type Range struct{ From, To *int64 }

// Holds reports whether v lies within the bounds.
func (r Range) Holds(v int64) bool {
	return (r.From == nil || v >= *r.From) && (r.To == nil || v <= *r.To)
}

// Empty reports whether no value can lie within the bounds.
func (r Range) Empty() bool { return r.From != nil && r.To != nil && *r.From > *r.To }

// Availability is where a session exists.
type Availability string

// The availabilities.
const (
	Live      Availability = "live"      // registered in this process, or running by its agent's own registry
	Persisted Availability = "persisted" // in a log on disk
)

// MaxQuery is how many bytes of text can be looked for.
const MaxQuery = document.MaxQuery

// SessionFilter chooses sessions. Lists are ORed inside, fields are ANDed; a
// nil list does not filter. Workspace and exclusions are the authority's.
type SessionFilter struct {
	Scope        session.Scope
	IDs          []string // native ids or agent:id
	Agents       []session.Agent
	CreatedAt    Range // epoch milliseconds
	Parents      []session.Key
	Roots        bool // sessions without a parent; ORed with Parents
	Availability []Availability
	Exclude      []Target // never these
	Text         string   // Sessions only: some event holds this literal text, white space flexible; "" does not filter
}

// EventFilter chooses events. Lists are ORed inside, fields are ANDed.
type EventFilter struct {
	Seq    Range
	Time   Range // epoch milliseconds
	Types  []string
	States []session.State
	Text   string // Events only: literal text, white space flexible; "" does not filter
}

// Match says what an event must hold to be found.
type Match string

// The ways to match.
const (
	Auto    Match = "auto"    // the tokens adjacent and in order; too few such events: then also some of the tokens
	Literal Match = "literal" // the tokens adjacent and in order
)

// Order says how hits are ranked.
type Order string

// The orders, both exact.
const (
	Relevance Order = "relevance" // BM25 times a weight for who speaks
	Matches   Order = "matches"   // number of matched spans
)

// Target names one session exactly.
type Target struct {
	Key       session.Key
	Workspace string
}

// TargetOf names the session of a header.
func TargetOf(h session.Header) Target { return Target{h.Key(), h.Cwd} }

// Info is what is known of a session without reading its log.
type Info struct {
	Header    session.Header
	Title     string // as written; "untitled" where there is none
	TitleFail fault.Code
	Live      bool
	Persisted bool
	Events    int64      // number of events in the log (closing records included)
	Fault     fault.Code // why the log cannot be read; "": it can
	Changed   int64      // time of the latest event, epoch milliseconds
	Masked    int        // credentials in title and header that are masked
}

// Untitled is the title of a session that has none.
const Untitled = "untitled"

// SessionSearch asks for sessions that match, each with its strongest event.
type SessionSearch struct {
	Query     string
	Match     Match // "" is Auto
	Order     Order // "" is Relevance
	Sessions  SessionFilter
	Events    EventFilter
	Inherited bool // show a fork's inherited hits beside their origin's
	Limit     int  // hits a page, 1 to MaxLimit
	Cursor    string
	Progress  func(done, total int) `json:"-"` // told how many sessions are up to date; may be nil
}

// EventSearch asks for the matching events of one session.
type EventSearch struct {
	Target Target
	Query  string
	Match  Match
	Order  Order
	Events EventFilter
	Own    bool // the caller's own session: its closing records do not exist
	Limit  int
	Cursor string

	Progress func(done, total int) `json:"-"` // told how many sessions are up to date; may be nil
}

// EventHit is an event that matched.
type EventHit struct {
	Seq     int64
	Type    string
	State   session.State
	Time    int64 // epoch milliseconds
	Snippet string
	Count   int   // matched spans (a partial hit: of all its tokens together)
	Score   int64 // millionths; 0 in order matches
	Partial bool  // holds only some of the query's tokens
	Clipped bool  // its text was longer than what is searchable
	Masked  int   // credentials in the snippet and the type that are masked
}

// SessionHit is a session that matched.
type SessionHit struct {
	Info  Info
	Best  EventHit
	Forks []session.Key // sessions in scope that inherited the event
}

// SessionPage is the answer to a SessionSearch. Literal hits come first.
type SessionPage struct {
	Hits     []SessionHit
	More     bool   // further hits exist beyond this page
	Next     string // cursor of the next page; "": none
	Coverage session.Coverage
}

// EventPage is the answer to an EventSearch.
type EventPage struct {
	Info     Info
	Hits     []EventHit
	More     bool
	Next     string
	Coverage session.Coverage
}

// Entry is what is known of an event beside its record.
type Entry struct {
	Seq   int64
	Type  string
	Time  int64 // epoch milliseconds
	State session.State
	Text  string // searchable text; ""

	Masked int // credentials in the text and the type that are masked
}

// Relations are the two relations of one event: positional replacement and citation.
type Relations struct {
	Info       Info
	Event      Entry
	ReplacedBy int64   // -1: nobody
	Chain      []int64 // ReplacedBy, who replaced that one, and so on
	Replaced   []int64 // what the event itself took out, in surface order
	Sources    []int64 // what it cites, as recorded
	Derived    []int64 // later events that cite it, ascending
}

// Window is one event as it was written, with its neighbours.
type Window struct {
	Info          Info
	Event         session.Raw
	Entry         Entry
	Before, After []Entry // ascending
	Masked        int     // credentials in the event's own bytes that are masked
}

// EventList is a page of a session's events.
type EventList struct {
	Info    Info
	Entries []Entry
	Next    string
	Clipped int // events that EventFilter.Text could search in part only
}

// SessionList is a page of sessions, newest first.
type SessionList struct {
	Sessions []Info
	Next     string
	Coverage session.Coverage
}
