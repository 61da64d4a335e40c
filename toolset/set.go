package toolset

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/render"
	"github.com/yorehq/yore/query"
)

// Options say how the tools behave in a deployment. The zero value is usable.
type Options struct {
	MaxSearchResults int           // hits of one search; 0: 100
	SearchTimeout    time.Duration // of one search, waiting for its turn included; 0: 30 s
	SearchBytes      int           // of a search's text, which stops at a whole hit within it; 0: 3,900, negative: no limit
	ReadWindow       int           // neighbours a side that a read may ask for; 0: 50, negative: none
	Match            query.Match   // of searches that do not say; "": auto
	Order            query.Order   // of hits; "": relevance
	Inherited        bool          // show a fork's inherited hits beside their origin's
	Logger           *slog.Logger  // takes the causes of failures; nil discards
}

// searchBytes keeps an answer within 1,000 tokens of 4 bytes: what a model
// pays for a search it may have to narrow.
const searchBytes = 3900

// Views makes the view that a caller has of the corpus. Its failures are
// translated like any other.
type Views interface {
	View(ctx context.Context, caller authz.Caller) (*authz.View, error)
}

// Set is the five tools over a corpus. It is safe for concurrent use.
type Set struct {
	views   Views
	options Options
	turns   turns
}

// New checks the options and makes a set. Failures carry fault.InvalidConfig.
func New(views Views, o Options) (*Set, error) {
	if o.MaxSearchResults == 0 {
		o.MaxSearchResults = 100
	}
	if o.SearchTimeout == 0 {
		o.SearchTimeout = 30 * time.Second
	}
	if o.SearchBytes == 0 {
		o.SearchBytes = searchBytes
	}
	if o.ReadWindow == 0 {
		o.ReadWindow = 50
	}
	if o.Match == "" {
		o.Match = query.Auto
	}
	if o.Order == "" {
		o.Order = query.Relevance
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	switch {
	case views == nil:
		return nil, fault.New(fault.InvalidConfig, "the tools need a source of views")
	case o.MaxSearchResults < 0 || o.MaxSearchResults > query.MaxLimit:
		return nil, fault.New(fault.InvalidConfig, "MaxSearchResults is %d: want between 1 and %d", o.MaxSearchResults, query.MaxLimit)
	case o.SearchTimeout < 0:
		return nil, fault.New(fault.InvalidConfig, "SearchTimeout is %s: want a positive duration", o.SearchTimeout)
	case o.Match != query.Auto && o.Match != query.Literal:
		return nil, fault.New(fault.InvalidConfig, "Match is %q: want %q or %q", o.Match, query.Auto, query.Literal)
	case o.Order != query.Relevance && o.Order != query.Matches:
		return nil, fault.New(fault.InvalidConfig, "Order is %q: want %q or %q", o.Order, query.Relevance, query.Matches)
	}
	return &Set{views: views, options: o}, nil
}

// Call is one call of a tool.
type Call struct {
	Caller      authz.Caller          // as the host tells; the arguments cannot change it
	Tool        string                // a name of the catalogue
	Args        json.RawMessage       // as the model wrote them; empty counts as {}
	InlineBytes int                   // what the surface shows uncut: the search's limit where it is lower; 0: no limit
	Progress    func(done, total int) // of indexing before a search; may be nil
}

// Outcome is what becomes of a call: either Err, or Text and Value.
type Outcome struct {
	Text  string // for the model; credentials are masked, as in Value
	Value any    // the facts behind it: *SessionsResult, *EventsResult, authz.Lineage, query.Relations or query.Window
	Err   error  // a *Failure; nil: answered
}

// SessionsResult is the value of a session_search.
type SessionsResult = render.Sessions

// EventsResult is the value of a session_event_search.
type EventsResult = render.Events

// Call runs one call to its end. It never panics, and its error is always a
// *Failure.
func (s *Set) Call(ctx context.Context, call Call) Outcome {
	if err := ctx.Err(); err != nil {
		return Outcome{Err: s.translate(ctx, ctx, call.Tool, &early{err})}
	}
	within := ctx
	if t, ok := find(call.Tool); ok && t.Class == Exclusive {
		var cancel context.CancelFunc
		within, cancel = context.WithTimeout(ctx, s.options.SearchTimeout)
		defer cancel()
	}
	text, value, err := s.guarded(within, call)
	if err != nil {
		return Outcome{Err: s.translate(ctx, within, call.Tool, err)}
	}
	return Outcome{Text: text, Value: value}
}

// run decodes the arguments and hands over to the tool.
func (s *Set) run(ctx context.Context, call Call) (string, any, error) {
	t, ok := find(call.Tool)
	if !ok {
		return "", nil, refuse(fault.InvalidArgs, "there is no tool of this name; the tools are %s", names())
	}
	args, err := t.decode(call.Args)
	if err != nil {
		return "", nil, err
	}
	if t.Class == Exclusive {
		done, err := s.turns.wait(ctx, call.Caller)
		if err != nil {
			return "", nil, err
		}
		defer done()
	}
	return t.run(s, ctx, call, args)
}
