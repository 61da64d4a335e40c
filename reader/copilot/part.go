package copilot

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/reader/linelog"
	"github.com/yorehq/yore/session"
)

// Subagents are told inside of their session's file, among its events and each
// other's. Each is a session of its own, a part of the file. Its path says where
// its first event stands, so that it can be read from there on.

// part is one subagent in a session's file.
type part struct {
	Name   string `json:"name"`
	Start  int64  `json:"start"` // offset of its first record's line
	End    int64  `json:"end"`   // of the line of its latest record
	Time   int64  `json:"time"`  // of its first record
	Preset string `json:"preset,omitempty"`
}

// parts are the subagents in a file, in the order in which they began.
type parts struct {
	byName map[string]*part
	order  []*part
}

// maxParts is how many are told apart.
const maxParts = 4096

// take notes a record of a subagent.
func (ps *parts) take(name string, e *record, r *linelog.Record) {
	p := ps.byName[name]
	if p == nil {
		if len(ps.order) >= maxParts {
			return
		}
		p = &part{Name: name, Start: r.Place.Offset, Time: e.time, Preset: jsonl.Text(e.data.name)}
		ps.add(p)
	}
	p.End = max(p.End, r.End)
}

func (ps *parts) add(p *part) {
	if ps.byName == nil {
		ps.byName = map[string]*part{}
	}
	ps.byName[p.Name] = p
	ps.order = append(ps.order, p)
}

func (ps *parts) list() []part {
	var list []part
	for _, p := range ps.order {
		list = append(list, *p)
	}
	return list
}

func partsOf(list []part) (ps parts) {
	for _, p := range slices.Clone(list) {
		ps.add(&p)
	}
	return ps
}

// maxName is how long a name may be.
const maxName = 64

// clean makes an id fit for a path and an id of ours; one that is not is known by
// its hash.
func clean(id string) string {
	if id == "" {
		return ""
	}
	if len(id) <= maxName && linelog.Word(id) == id {
		return id
	}
	return "x" + strconv.FormatUint(jsonl.Hash(0, []byte(id)), 16)
}

const agentPrefix = "agent-"

// partOf takes the part of a path; without a name it is the file's own session.
func partOf(path string) part {
	_, name := reader.SplitPart(path)
	name, start, _ := strings.Cut(strings.TrimPrefix(name, agentPrefix), "@")
	p := part{Name: name}
	if n, err := strconv.ParseInt(start, 10, 64); err == nil && n >= 0 {
		p.Start = n
	}
	return p
}

// source returns a part as a source.
func (p *part) source(own reader.Source) reader.Source {
	own.Path = reader.PartPath(own.Path, agentPrefix+p.Name+"@"+strconv.FormatInt(p.Start, 10))
	own.Header, own.End = p.header(own.Header), p.End
	return own
}

// header makes a subagent's header from that of its session.
func (p *part) header(own session.Header) session.Header {
	h := session.Header{
		Agent: own.Agent, ID: own.ID + "/" + agentPrefix + session.ID(p.Name), CreatedAt: p.Time, Cwd: own.Cwd,
		ParentSession: own.ID, Origin: session.OriginSubagent, DelegationDepth: 1, AgentPreset: p.Preset,
	}
	if h.CreatedAt == 0 {
		h.CreatedAt = own.CreatedAt
	}
	return h
}

// partsMark opens a decoder's state that has parts.
const partsMark = `{"parts":`

// Parts implements reader.Divider.
func (*Reader) Parts(own reader.Source, state json.RawMessage) []reader.Source {
	raw := linelog.StateOf(state)
	var st struct{ Parts []part }
	if !strings.HasPrefix(string(raw[:min(len(raw), len(partsMark))]), partsMark) || json.Unmarshal(raw, &st) != nil {
		return nil
	}
	list := make([]reader.Source, 0, len(st.Parts))
	for i := range st.Parts {
		list = append(list, st.Parts[i].source(own))
	}
	return list
}
