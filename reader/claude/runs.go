package claude

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/session"
)

// Releases 1.x wrote the records of subagents into the session's own file, one
// root for each subagent, among the session's records and among each other's.
// Each such run is a session of its own, a part of the file. Its name comes from
// its first record and its path says where that stands, so that a part can be
// read from there on; which records are its own follows from them alone:
//
//   - a record that names an agent is of the run of that name;
//   - else it is of its parent's run, which is the first with such a record;
//   - else it begins a run that is named by its own uuid, if it carries
//     conversation.

// run is one subagent in a session's own file.
type run struct {
	Name  string `json:"name"`
	Start int64  `json:"start"` // offset of its first record
	End   int64  `json:"end"`   // of the line of its latest record
	Time  int64  `json:"time"`  // of its first record; 0: it states none
	IDs   []byte `json:"ids,omitempty"`
}

// runs are the subagents in a session's own file. The zero value is none.
type runs struct {
	list   []*run
	byName map[string]*run
	byID   map[uint64]*run
}

// Bounds of what is kept of runs.
const (
	maxRuns = 1024 // in one file; the records of others stay the session's
	tailIDs = 8    // of each run, in a position that does not hold all
)

// runName makes a name of a record's own words: as they are if they are fit
// for a path and an id.
func runName(words string) string {
	if words == "" || len(words) > maxName || clean(words) != words {
		return "x" + strconv.FormatUint(key(words), 16)
	}
	return words
}

// nameOfRun is the name of the run that a record belongs to if its parent does
// not tell; "" is none.
func (r *record) nameOfRun() string {
	switch {
	case jsonl.Filled(r.agent):
		return runName(jsonl.Text(r.agent))
	case r.nativeID != "":
		return runName(r.nativeID)
	}
	return ""
}

// of finds the run of a record; nil if it belongs to none so far.
func (rs *runs) of(r *record) *run {
	if known := rs.byID[r.parent]; known != nil && r.parent != 0 && !jsonl.Filled(r.agent) {
		return known
	}
	return rs.byName[r.nameOfRun()]
}

// settled reports whether it is known which run a record belongs to, and whether
// its own identity is one of a run already.
func (rs *runs) settled(r *record, seen filter) bool {
	known := func(id uint64) bool { return id == 0 || rs.byID[id] != nil || !seen.has(id) }
	return known(r.id) && (jsonl.Filled(r.agent) || known(r.parent))
}

// take puts a record into its run; ok is false if it belongs to none.
func (rs *runs) take(r *record, start, end int64) (ok bool) {
	to := rs.of(r)
	if to == nil {
		name := r.nameOfRun()
		if name == "" || !r.talks() || len(rs.list) >= maxRuns {
			return false
		}
		to = &run{Name: name, Start: start, Time: r.time}
		rs.add(to)
	}
	to.End = max(to.End, end)
	if r.id != 0 && rs.byID[r.id] == nil { // of the run that has it first, whatever a position remembers
		rs.byID[r.id] = to
		to.IDs = binary.LittleEndian.AppendUint64(to.IDs, r.id)
	}
	return true
}

func (rs *runs) add(one *run) {
	if rs.byName == nil {
		rs.byName, rs.byID = map[string]*run{}, map[uint64]*run{}
	}
	rs.list = append(rs.list, one)
	rs.byName[one.Name] = one
}

// size is how many bytes the ids of all runs take.
func (rs *runs) size() (bytes int) {
	for _, one := range rs.list {
		bytes += len(one.IDs)
	}
	return bytes
}

// save returns the runs with the latest ids of each, at most so many.
func (rs *runs) save(most int) []run {
	var list []run
	for _, one := range rs.list {
		saved := *one
		saved.IDs = one.IDs[max(0, len(one.IDs)-8*most):]
		list = append(list, saved)
	}
	return list
}

// restoreRuns is the opposite of save.
func restoreRuns(list []run) (rs runs, ok bool) {
	for i := range list {
		one := list[i]
		if len(one.IDs)%8 != 0 || one.Name == "" || len(list) > maxRuns {
			return rs, false
		}
		one.IDs = append([]byte{}, one.IDs...)
		rs.add(&one)
		for ids := one.IDs; len(ids) > 0; ids = ids[8:] {
			rs.byID[binary.LittleEndian.Uint64(ids)] = &one
		}
	}
	return rs, true
}

// owns reports whether a record is of the part that is being read. Of a partial
// graph it may take one for the part's that is not: settled says so.
func (d *decoder) owns(r *record) bool {
	switch {
	case !r.linked() || !r.side:
		return false
	case jsonl.Filled(r.agent):
		return r.nameOfRun() == d.run.Name
	case r.parent != 0 && d.g.byID[r.parent] != nil:
		return true
	case r.parent != 0 && d.g.partial && d.g.seen.has(r.parent):
		return true
	}
	return r.nameOfRun() == d.run.Name
}

// unsure reports whether a partial graph cannot tell if a record is the part's.
func (d *decoder) unsure(r *record) bool {
	return d.run.Name != "" && !jsonl.Filled(r.agent) && r.parent != 0 && d.g.byID[r.parent] == nil && d.g.seen.has(r.parent)
}

// identifyRun completes the header of a part: its first record has to stand where
// its path says.
func identifyRun(ctx context.Context, f io.ReaderAt, path string, one run, own session.Header, size int64) (session.Header, error) {
	if one.Start >= size {
		return own, reader.ErrPending
	}
	s := newFeed(f, nil, one.Start, size)
	l, err := s.Next(ctx)
	switch {
	case errors.Is(err, io.EOF):
		return own, reader.ErrPending
	case err != nil:
		return own, err
	}
	values, _ := jsonl.Values(l.Text)
	for _, v := range values {
		r := parseRecord(objectOr(v))
		if r.linked() && r.side && r.talks() && r.nameOfRun() == one.Name {
			one.Time = r.time
			return one.header(own), nil
		}
	}
	return own, reader.Unreadable(path, 0, one.Start, "no subagent begins here")
}

// partOf takes the path of a source apart: its file, and which run of it; a run
// without a name is the file's own session.
func partOf(path string) (file string, one run) {
	file, part := reader.SplitPart(path)
	name, start, ok := strings.Cut(strings.TrimPrefix(part, agentPrefix), "@")
	if !ok || !strings.HasPrefix(part, agentPrefix) {
		return file, run{Name: part}
	}
	one.Name = name
	var err error
	if one.Start, err = strconv.ParseInt(start, 10, 64); err != nil || one.Start < 0 {
		one.Start = 0
	}
	return file, one
}

// source returns a run as a source.
func (one *run) source(own reader.Source) reader.Source {
	own.Path = reader.PartPath(own.Path, agentPrefix+one.Name+"@"+strconv.FormatInt(one.Start, 10))
	own.Header, own.End = one.header(own.Header), one.End
	return own
}

// header makes the header of a run from that of its session: what a subagent
// did is seen where its session is.
func (one *run) header(own session.Header) session.Header {
	h := session.Header{
		Agent: own.Agent, ID: own.ID + "/" + agentPrefix + session.ID(one.Name), CreatedAt: one.Time, Cwd: own.Cwd,
		ParentSession: own.ID, Origin: session.OriginSubagent, DelegationDepth: 1,
	}
	if h.CreatedAt == 0 {
		h.CreatedAt = own.CreatedAt
	}
	return h
}

// runsMark opens a state that has runs, so that others need not be looked at.
const runsMark = `{"runs":`

// Parts implements reader.Divider.
func (*Reader) Parts(own reader.Source, state json.RawMessage) []reader.Source {
	if !strings.HasPrefix(string(state[:min(len(state), len(runsMark))]), runsMark) {
		return nil
	}
	var st struct{ Runs []run }
	if json.Unmarshal(state, &st) != nil {
		return nil
	}
	list := make([]reader.Source, 0, len(st.Runs))
	for i := range st.Runs {
		list = append(list, st.Runs[i].source(own))
	}
	return list
}
