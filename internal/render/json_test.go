package render

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/session"
)

func TestJSON(t *testing.T) {
	plain := info("a", "A <&> \u2028\n")
	rich := query.Info{
		Header: session.Header{Agent: session.DSH, ID: "b", CreatedAt: morning, Origin: session.OriginSubagent, AgentPreset: "p", ParentSession: "secret"},
		Title:  query.Untitled, TitleFail: fault.ToolFailed, Live: true, Persisted: true, Fault: fault.Persistence,
	}
	const (
		plainJSON = `{"id":"a","agent":"dsh","title":"A <&> \u2028\n","created_at":"2026-03-02T09:00:00.000Z","changed_at":"2026-03-02T09:01:00.000Z",` +
			`"workspace":"/w","availability":["persisted"],"events":20}`
		richJSON = `{"id":"b","agent":"dsh","title":"untitled","title_error":"SESSION_QUERY_TOOL_FAILED","created_at":"2026-03-02T09:00:00.000Z",` +
			`"availability":["live","persisted"],"events":0,"origin":"subagent","agent_preset":"p","error":"SESSION_QUERY_PERSISTENCE_FAILED"}`
		head = `"seq":1,"type":"user/message","surface":"current","time":"2026-03-02T09:00:02.000Z"`
	)
	k := session.Key{Agent: session.DSH, ID: "f"}
	h := found(1, "user/message", "s")
	ranked := h
	ranked.Score, ranked.Partial, ranked.Clipped = 1_500_000, true, true
	e := query.Entry{Seq: 1, Type: "user/message", State: session.Current, Time: morning + 2000, Text: "t"}
	w := query.Window{Info: plain, Entry: e, Before: []query.Entry{e}, Event: session.Raw{Native: []byte(`{"b": 1.0, "a":-0,"a":1e400}`)}}
	broken := query.Window{Info: plain, Entry: e, Event: session.Raw{Event: session.Event{Reconstructed: true}, Native: []byte("{\xff")}}
	for name, c := range map[string]struct {
		got  []byte
		want string
	}{
		"session":      {SessionJSON(plain), plainJSON},
		"rich session": {SessionJSON(rich), richJSON},
		"session hit": {SessionHitJSON(authz.SessionHit{SessionHit: query.SessionHit{Info: plain, Best: h}}, ""),
			`{"session":` + plainJSON + `,"parent":"root","event":{` + head + `,"snippet":"s","matches":1}}`},
		"session hit with all": {SessionHitJSON(authz.SessionHit{SessionHit: query.SessionHit{Info: plain, Best: ranked, Forks: []session.Key{k}}, Parent: authz.Parent{Kind: authz.ParentVisible, Key: k}}, "codex resume f"),
			`{"session":` + plainJSON + `,"parent":{"id":"f","agent":"dsh"},"event":{` + head + `,"snippet":"s","matches":1,"score":1.5,"partial":true,"clipped":true},"forks":[{"id":"f","agent":"dsh"}],"resume":"codex resume f"}`},
		"outside parent": {SessionHitJSON(authz.SessionHit{SessionHit: query.SessionHit{Info: rich, Best: h}, Parent: authz.Parent{Kind: authz.ParentOutside}}, ""),
			`{"session":` + richJSON + `,"parent":"outside","event":{` + head + `,"snippet":"s","matches":1}}`},
		"event hit": {EventHitJSON(k, h), `{"session":{"id":"f","agent":"dsh"},"event":{` + head + `,"snippet":"s","matches":1}}`},
		"entry":     {EntryJSON(k, e), `{"session":{"id":"f","agent":"dsh"},"event":{` + head + `,"text":"t"}}`},
		"lineage": {LineageJSON(authz.Lineage{Target: plain, Boundary: true, Ancestors: []query.Info{rich}, Descendants: []authz.Kin{{Info: rich}, {Depth: 1, Outside: true}}}),
			`{"session":` + plainJSON + `,"ancestors":[` + richJSON + `],"boundary":true,"descendants":[{"depth":0,"session":` + richJSON + `},{"depth":1,"outside":true}]}`},
		"lone": {LineageJSON(authz.Lineage{Target: plain}), `{"session":` + plainJSON + `,"ancestors":[],"boundary":false,"descendants":[]}`},
		"relations": {RelationsJSON(query.Relations{Info: plain, Event: e, ReplacedBy: 0, Chain: []int64{0}}),
			`{"session":` + plainJSON + `,"event":{` + head + `},"replaced_by":0,"replacement_chain":[0],"replaced":[],"sources":[],"derived":[]}`},
		"no relations": {RelationsJSON(query.Relations{Info: plain, Event: e, ReplacedBy: -1}),
			`{"session":` + plainJSON + `,"event":{` + head + `},"replaced_by":null,"replacement_chain":[],"replaced":[],"sources":[],"derived":[]}`},
		"window":  {WindowJSON(w), `{"session":` + plainJSON + `,"event":{` + head + `},"reconstructed":false,"native":{"b":1.0,"a":-0,"a":1e400},"before":[{` + head + `,"text":"t"}],"after":[]}`},
		"no text": {WindowJSON(broken), `{"session":` + plainJSON + `,"event":{` + head + `},"reconstructed":true,"native_base64":"e/8=","before":[],"after":[]}`},
		"coverage": {CoverageJSON(session.Coverage{Sessions: 3, Behind: 1, Unreadable: 1, Stale: true}, true, 0),
			`{"coverage":{"sessions":3,"behind":1,"unreadable":1,"stale":true},"more":true}`},
		"coverage in part": {CoverageJSON(session.Coverage{Sessions: 3, Damaged: 1, Clipped: 2}, false, 0),
			`{"coverage":{"sessions":3,"behind":0,"unreadable":0,"damaged":1,"clipped":2,"stale":false},"more":false}`},
	} {
		if d := cmp.Diff(c.want, string(c.got)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if !json.Valid(c.got) || bytes.ContainsRune(c.got, '\n') {
			t.Errorf("%s is not one line of JSON: %q", name, c.got)
		}
	}
}
