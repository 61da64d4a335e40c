package toolset_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/internal/render"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/toolset"
)

// factsOf takes an outcome apart.
func factsOf(t *testing.T, o toolset.Outcome) facts {
	t.Helper()
	if o.Err != nil {
		var failure *toolset.Failure
		if !errors.As(o.Err, &failure) {
			t.Fatalf("%T is no failure: %v", o.Err, o.Err)
		}
		return facts{Kind: "error", Code: string(failure.Code)}
	}
	switch v := o.Value.(type) {
	case *toolset.SessionsResult:
		f := facts{Kind: "sessions", Capped: v.Capped}
		for _, h := range v.Hits {
			parent := map[authz.ParentKind]string{authz.ParentRoot: "root", authz.ParentOutside: "outside", authz.ParentVisible: "id:" + string(h.Parent.Key.ID)}[h.Parent.Kind]
			best := hitOf(h.Best)
			f.Hits = append(f.Hits, hitFacts{sessionFacts: sessionOf(h.Info), Parent: parent, Best: &best})
		}
		return f
	case *toolset.EventsResult:
		f := facts{Kind: "events", Session: brief(v.Info), Capped: v.Capped}
		for _, h := range v.Hits {
			f.Hits = append(f.Hits, hitFacts{eventFacts: hitOf(h)})
		}
		return f
	case authz.Lineage:
		f := facts{Kind: "lineage", Target: &targetFacts{sessionFacts: sessionOf(v.Target)}, Boundary: v.Boundary}
		for _, a := range v.Ancestors {
			f.Ancestors = append(f.Ancestors, sessionOf(a))
		}
		for _, d := range v.Descendants {
			k := kinFacts{Depth: d.Depth, Outside: d.Outside}
			if !d.Outside {
				k.sessionFacts = sessionOf(d.Info)
			}
			f.Descendants = append(f.Descendants, k)
		}
		return f
	case query.Relations:
		f := facts{Kind: "relations", Session: brief(v.Info), Chain: v.Chain, Replaced: v.Replaced, Sources: v.Sources, Derived: v.Derived,
			Target: &targetFacts{eventFacts: eventFacts{Seq: v.Event.Seq, Type: v.Event.Type, Surface: v.Event.State.String(), Time: render.Time(v.Event.Time)}}}
		if v.ReplacedBy >= 0 {
			f.ReplacedBy = &v.ReplacedBy
		}
		return f
	case query.Window:
		f := facts{Kind: "read", Session: brief(v.Info), Seq: v.Entry.Seq, Before: neighbours(v.Before), After: neighbours(v.After)}
		if err := json.Unmarshal(v.Event.Native, &f.Event); err != nil {
			t.Fatalf("the event is no JSON: %v: %s", err, v.Event.Native)
		}
		if !strings.Contains(o.Text, string(v.Event.Native)) {
			t.Errorf("the text does not hold the event's own bytes:\n%s", o.Text)
		}
		return f
	}
	t.Fatalf("a value of type %T", o.Value)
	return facts{}
}

func sessionOf(i query.Info) sessionFacts {
	s := sessionFacts{ID: i.Header.ID, Title: i.Title, TitleError: string(i.TitleFail), Created: render.Time(i.Header.CreatedAt)}
	if i.Live {
		s.Availability = append(s.Availability, "live")
	}
	if i.Persisted {
		s.Availability = append(s.Availability, "persisted")
	}
	return s
}

// brief is how a session is named above an answer about its events.
func brief(i query.Info) *sessionFacts {
	return &sessionFacts{ID: i.Header.ID, Title: i.Title, TitleError: string(i.TitleFail)}
}

func hitOf(h query.EventHit) eventFacts {
	return eventFacts{h.Seq, h.Type, h.State.String(), render.Time(h.Time), h.Snippet}
}

func neighbours(list []query.Entry) []neighbourFacts {
	var out []neighbourFacts
	for _, e := range list {
		n := neighbourFacts{Seq: e.Seq, Type: e.Type, Time: render.Time(e.Time)}
		if e.Text != "" {
			n.Text = &e.Text
		}
		out = append(out, n)
	}
	return out
}

// String prints facts for a failing test.
func (f facts) String() string {
	out, err := json.Marshal(f)
	return fmt.Sprint(string(out), err)
}
