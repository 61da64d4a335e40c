package render

import (
	"bytes"
	"encoding/base64"
	"encoding/json"

	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

// The JSON forms for people and their scripts. Every function returns one
// object on one line without a newline, so that callers may write one a line.
// Field names are stable; a field that says nothing is left out where its
// comment says "if". Times are as Time prints them. Text is as it was written,
// in JSON strings; ill-formed UTF-8 in it becomes U+FFFD.

// sessionJSON is how a session is named everywhere.
type sessionJSON struct {
	ID           string     `json:"id"`
	Agent        string     `json:"agent"`
	Title        string     `json:"title"`
	TitleError   fault.Code `json:"title_error,omitempty"` // if the title cannot be read
	CreatedAt    string     `json:"created_at"`
	ChangedAt    string     `json:"changed_at,omitempty"` // time of the latest event, if there is one
	Workspace    string     `json:"workspace,omitempty"`  // if it has one
	Availability []string   `json:"availability"`         // live, persisted
	Events       int64      `json:"events"`
	Origin       string     `json:"origin,omitempty"`       // if it is a subagent
	AgentPreset  string     `json:"agent_preset,omitempty"` // if it ran under one
	Error        fault.Code `json:"error,omitempty"`        // if its log cannot be read
	Masked       int        `json:"masked,omitempty"`       // credentials in title and names, if any are masked
}

func sessionOf(i query.Info) sessionJSON {
	s := sessionJSON{
		ID: string(i.Header.ID), Agent: string(i.Header.Agent), Title: i.Title, TitleError: i.TitleFail,
		CreatedAt: Time(i.Header.CreatedAt), Workspace: i.Header.Cwd, Availability: []string{}, Events: i.Events,
		Origin: i.Header.Origin, AgentPreset: i.Header.AgentPreset, Error: i.Fault, Masked: i.Masked,
	}
	if i.Events > 0 {
		s.ChangedAt = Time(i.Changed)
	}
	if i.Live {
		s.Availability = append(s.Availability, string(query.Live))
	}
	if i.Persisted {
		s.Availability = append(s.Availability, string(query.Persisted))
	}
	return s
}

// eventJSON is how an event is named everywhere.
type eventJSON struct {
	Seq     int64  `json:"seq"`
	Type    string `json:"type"`
	Surface string `json:"surface"` // current, shadowed, log-only
	Time    string `json:"time"`
}

func eventOf(e query.Entry) eventJSON {
	return eventJSON{e.Seq, e.Type, e.State.String(), Time(e.Time)}
}

// hitJSON is an event that matched.
type hitJSON struct {
	eventJSON
	Snippet string  `json:"snippet"`
	Matches int     `json:"matches"`           // matched spans
	Score   float64 `json:"score,omitempty"`   // if the order is relevance
	Partial bool    `json:"partial,omitempty"` // if it holds only some of the query's tokens
	Clipped bool    `json:"clipped,omitempty"` // if its text is longer than what was searched
	Masked  int     `json:"masked,omitempty"`  // credentials in the snippet, if any are masked
}

func hitOf(h query.EventHit) hitJSON {
	return hitJSON{
		eventJSON{h.Seq, h.Type, h.State.String(), Time(h.Time)},
		h.Snippet, h.Count, float64(h.Score) / 1e6, h.Partial, h.Clipped, h.Masked,
	}
}

// keyJSON names a session briefly.
type keyJSON struct {
	ID    string `json:"id"`
	Agent string `json:"agent"`
}

func keyOf(k session.Key) keyJSON { return keyJSON{string(k.ID), string(k.Agent)} }

// SessionJSON is
//
//	{"id","agent","title","title_error"?,"created_at","changed_at"?,"workspace"?,
//	 "availability":[…],"events","origin"?,"agent_preset"?,"error"?}
func SessionJSON(i query.Info) []byte { return encode(sessionOf(i)) }

// SessionHitJSON is
//
//	{"session":{…},"parent":{"id","agent"}|"root"|"outside","event":{"seq","type","surface",
//	 "time","snippet","matches","score"?,"partial"?,"clipped"?},"forks"?:[{"id","agent"},…],"resume"?}
//
// resume is the command that takes the session up again, if there is one.
func SessionHitJSON(h authz.SessionHit, resume string) []byte {
	var parent any = "root"
	switch h.Parent.Kind {
	case authz.ParentVisible:
		parent = keyOf(h.Parent.Key)
	case authz.ParentOutside:
		parent = "outside"
	}
	var forks []keyJSON
	for _, f := range h.Forks {
		forks = append(forks, keyOf(f))
	}
	return encode(struct {
		Session sessionJSON `json:"session"`
		Parent  any         `json:"parent"`
		Event   hitJSON     `json:"event"`
		Forks   []keyJSON   `json:"forks,omitempty"`
		Resume  string      `json:"resume,omitempty"`
	}{sessionOf(h.Info), parent, hitOf(h.Best), forks, resume})
}

// EventHitJSON is
//
//	{"session":{"id","agent"},"event":{"seq","type","surface","time","snippet","matches",
//	 "score"?,"partial"?,"clipped"?}}
func EventHitJSON(of session.Key, h query.EventHit) []byte {
	return encode(struct {
		Session keyJSON `json:"session"`
		Event   hitJSON `json:"event"`
	}{keyOf(of), hitOf(h)})
}

// EntryJSON is
//
//	{"session":{"id","agent"},"event":{"seq","type","surface","time","text"}}
//
// text is the searchable text, empty for an event that has none.
func EntryJSON(of session.Key, e query.Entry) []byte {
	return encode(struct {
		Session keyJSON   `json:"session"`
		Event   entryJSON `json:"event"`
	}{keyOf(of), entryOf(e)})
}

type entryJSON struct {
	eventJSON
	Text   string `json:"text"`
	Masked int    `json:"masked,omitempty"` // credentials in the text, if any are masked
}

func entryOf(e query.Entry) entryJSON { return entryJSON{eventOf(e), e.Text, e.Masked} }

func entriesOf(list []query.Entry) []entryJSON {
	out := []entryJSON{}
	for _, e := range list {
		out = append(out, entryOf(e))
	}
	return out
}

// LineageJSON is
//
//	{"session":{…},"ancestors":[{…},…],"boundary":bool,
//	 "descendants":[{"depth","session":{…}}|{"depth","outside":true},…]}
//
// with the nearest ancestor first and the descendants depth first.
func LineageJSON(l authz.Lineage) []byte {
	type kin struct {
		Depth   int          `json:"depth"`
		Outside bool         `json:"outside,omitempty"`
		Session *sessionJSON `json:"session,omitempty"`
	}
	ancestors, descendants := []sessionJSON{}, []kin{}
	for _, a := range l.Ancestors {
		ancestors = append(ancestors, sessionOf(a))
	}
	for _, d := range l.Descendants {
		k := kin{Depth: d.Depth, Outside: d.Outside}
		if !d.Outside {
			s := sessionOf(d.Info)
			k.Session = &s
		}
		descendants = append(descendants, k)
	}
	return encode(struct {
		Session     sessionJSON   `json:"session"`
		Ancestors   []sessionJSON `json:"ancestors"`
		Boundary    bool          `json:"boundary"`
		Descendants []kin         `json:"descendants"`
	}{sessionOf(l.Target), ancestors, l.Boundary, descendants})
}

// RelationsJSON is
//
//	{"session":{…},"event":{"seq","type","surface","time"},"replaced_by":seq|null,
//	 "replacement_chain":[…],"replaced":[…],"sources":[…],"derived":[…]}
func RelationsJSON(r query.Relations) []byte {
	var by *int64
	if r.ReplacedBy >= 0 {
		by = &r.ReplacedBy
	}
	list := func(s []int64) []int64 { return append([]int64{}, s...) }
	return encode(struct {
		Session  sessionJSON `json:"session"`
		Event    eventJSON   `json:"event"`
		By       *int64      `json:"replaced_by"`
		Chain    []int64     `json:"replacement_chain"`
		Replaced []int64     `json:"replaced"`
		Sources  []int64     `json:"sources"`
		Derived  []int64     `json:"derived"`
	}{sessionOf(r.Info), eventOf(r.Event), by, list(r.Chain), list(r.Replaced), list(r.Sources), list(r.Derived)})
}

// WindowJSON is
//
//	{"session":{…},"event":{"seq","type","surface","time"},"reconstructed":bool,
//	 "native":value|"native_base64":"…","before":[{"seq","type","surface","time","text"},…],"after":[…]}
//
// native is the event as its log has it: numbers, key order and duplicate keys
// survive, white space between tokens does not. Bytes that are no JSON text are
// given as native_base64 instead. Masked credentials
// are counted in each object that shows them.
func WindowJSON(w query.Window) []byte {
	var native json.RawMessage
	var coded string
	if isText(w.Event.Native) && json.Valid(w.Event.Native) {
		native = w.Event.Native
	} else {
		coded = base64.StdEncoding.EncodeToString(w.Event.Native)
	}
	return encode(struct {
		Session       sessionJSON     `json:"session"`
		Event         eventJSON       `json:"event"`
		Reconstructed bool            `json:"reconstructed"`
		Native        json.RawMessage `json:"native,omitempty"`
		Base64        string          `json:"native_base64,omitempty"`
		Before        []entryJSON     `json:"before"`
		After         []entryJSON     `json:"after"`
		Masked        int             `json:"masked,omitempty"` // credentials in native, if any are masked
	}{sessionOf(w.Info), eventOf(w.Entry), w.Event.Event.Reconstructed, native, coded, entriesOf(w.Before), entriesOf(w.After), w.Masked})
}

// RecordJSON is
//
//	{"session":{…},"event":{"seq","type","surface","time","text","masked"?},"reconstructed":bool,"native_base64","masked"?}
//
// with the event's exact bytes and its searchable text.
func RecordJSON(w query.Window) []byte {
	return encode(struct {
		Session       sessionJSON `json:"session"`
		Event         entryJSON   `json:"event"`
		Reconstructed bool        `json:"reconstructed"`
		Native        []byte      `json:"native_base64"`
		Masked        int         `json:"masked,omitempty"` // credentials in the bytes, if any are masked
	}{sessionOf(w.Info), entryOf(w.Entry), w.Event.Event.Reconstructed, w.Event.Native, w.Masked})
}

// ReplacementsJSON is
//
//	{"session":{…},"runs":[[first,last,by],…]}
//
// with the runs of events that were taken out of the model's context, ascending.
func ReplacementsJSON(i query.Info, runs []query.Shadow) []byte {
	list := [][3]int64{}
	for _, r := range runs {
		list = append(list, [3]int64{r.From, r.To, r.By})
	}
	return encode(struct {
		Session sessionJSON `json:"session"`
		Runs    [][3]int64  `json:"runs"`
	}{sessionOf(i), list})
}

// CoverageJSON is
//
//	{"coverage":{"sessions","behind","unreadable","damaged"?,"clipped"?,"since"?,"stale":bool},"more":bool,"masked"?}
//
// the last line of a search's output. masked is how many credentials are masked
// in all lines before it.
func CoverageJSON(c session.Coverage, more bool, masked int) []byte {
	type coverage struct {
		Sessions   int    `json:"sessions"`
		Behind     int    `json:"behind"`
		Unreadable int    `json:"unreadable"`
		Damaged    int    `json:"damaged,omitempty"` // if there are any: sessions searched up to a damaged place
		Clipped    int    `json:"clipped,omitempty"` // if there are any: events searched in part
		Since      string `json:"since,omitempty"`   // if common words were counted in newer events alone: from when on
		Stale      bool   `json:"stale"`
	}
	since := ""
	if c.Since != 0 {
		since = Time(c.Since)
	}
	return encode(struct {
		Coverage coverage `json:"coverage"`
		More     bool     `json:"more"`
		Masked   int      `json:"masked,omitempty"`
	}{coverage{c.Sessions, c.Behind, c.Unreadable, c.Damaged, c.Clipped, since, c.Stale}, more, masked})
}

// encode cannot fail: the forms above hold strings, numbers and valid JSON only.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return []byte("{}")
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
