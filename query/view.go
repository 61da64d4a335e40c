package query

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/session"
)

// view is one open snapshot with its sessions.
type view struct {
	corpus    *Corpus
	workspace string
	snap      Snapshot
	sessions  map[int64]*entry // by number in the shard: those that may be shown
	all       map[int64]*entry // unsound ones too
	states    map[int64][]Shadow
	asked     map[int64]int // runs of a session that were looked up one by one
}

// entry is a session in a view.
type entry struct {
	row        *Row
	live       bool // registered in this process
	running    bool // open in a process of its agent, by the agent's own word
	persisted  bool
	suppressed bool // hidden by its live log, or in conflict with it
	contested  bool // a live log that the one stored log contradicts: no store knows of it
}

// views are the snapshots of a scope. They must be closed.
type views []*view

// openViews takes one snapshot of every shard in a scope. Of everything, what
// cannot be opened is left out: the refresher has counted its sessions.
func (e *Engine) openViews(ctx context.Context, scope session.Scope) (views, error) {
	var all views
	for _, c := range e.corpora() {
		workspaces := scope.Workspaces
		if scope.All {
			var err error
			if workspaces, err = c.Store.Workspaces(ctx); err != nil {
				return nil, errors.Join(err, all.Close())
			}
		}
		running, err := c.running(ctx)
		if err != nil {
			return nil, errors.Join(err, all.Close())
		}
		for _, w := range workspaces {
			v, err := openView(ctx, c, w, c == &e.Live)
			if err != nil && scope.All && !fault.IsContext(err) && !errors.Is(err, ErrMoved) {
				e.Logger.Warn("a part of the index is left out", "error", err)
				continue
			}
			if err != nil {
				return nil, errors.Join(err, all.Close())
			}
			if v != nil {
				v.markRunning(running)
				all = append(all, v)
			}
		}
	}
	if err := e.unite(ctx, all); err != nil {
		return nil, errors.Join(err, all.Close())
	}
	return all, nil
}

func openView(ctx context.Context, c *Corpus, workspace string, live bool) (*view, error) {
	snap, err := c.Store.Snapshot(ctx, workspace)
	if err != nil || snap == nil {
		return nil, err
	}
	rows, err := snap.Sessions(ctx)
	if err != nil {
		return nil, errors.Join(err, snap.Close())
	}
	v := &view{corpus: c, workspace: workspace, snap: snap, sessions: make(map[int64]*entry, len(rows)), all: make(map[int64]*entry, len(rows)), states: map[int64][]Shadow{}, asked: map[int64]int{}}
	entries := make([]entry, len(rows))
	for i := range rows {
		entries[i] = entry{row: &rows[i], live: live, persisted: !live}
		v.all[rows[i].Num] = &entries[i]
	}
	return v, nil
}

// running returns the sessions that their agents have open.
func (c *Corpus) running(ctx context.Context) (map[session.Key]bool, error) {
	if c.Outside == nil {
		return nil, nil
	}
	return c.Outside.Running(ctx)
}

func (v *view) markRunning(running map[session.Key]bool) {
	if len(running) == 0 {
		return
	}
	for _, s := range v.all {
		s.running = running[s.row.Header.Key()]
	}
}

// unite applies what one corpus says about another: a live session hides its
// stored log, or both stay out when their headers differ.
func (e *Engine) unite(ctx context.Context, all views) error {
	live := map[Target]*entry{}
	for _, v := range all {
		if v.corpus != &e.Live {
			continue
		}
		for _, s := range v.all {
			live[TargetOf(s.row.Header)] = s
		}
		if e.DiskErr != nil {
			continue
		}
		// What is on disk may be catalogued and not yet (or never) indexed.
		known, err := e.Disk.Store.Headers(ctx, Lookup{Workspaces: []string{v.workspace}})
		if err != nil {
			return err
		}
		contradicted := map[*entry]bool{} // in storage already, and counted there
		for _, k := range known {
			s := live[TargetOf(k.Header)]
			if s == nil || k.Problem != nil && k.Problem.Code != fault.ToolFailed {
				continue
			}
			s.persisted = true
			s.suppressed = s.suppressed || k.Header != s.row.Header || k.Problem != nil
			contradicted[s] = contradicted[s] || k.Problem != nil
		}
		for _, s := range v.all {
			s.contested = s.suppressed && !contradicted[s]
		}
	}
	for _, v := range all {
		for num, s := range v.all {
			if v.corpus != &e.Live {
				s.suppressed = len(live) > 0 && live[TargetOf(s.row.Header)] != nil
			}
			if !s.suppressed && s.row.Problem == nil {
				v.sessions[num] = s
			}
		}
	}
	return nil
}

// Close closes every snapshot.
func (vs views) Close() error {
	var errs []error
	for _, v := range vs {
		errs = append(errs, v.snap.Close())
	}
	return errors.Join(errs...)
}

// state is a hash over the generations that the views show.
func (vs views) state() [sha256.Size]byte {
	h := sha256.New()
	for _, v := range vs {
		var n [8]byte
		binary.LittleEndian.PutUint64(n[:], v.snap.Generation())
		h.Write([]byte(v.workspace))
		h.Write(n[:])
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// find returns the entry of a session, sound or not, and its view.
func (vs views) find(t Target) (*view, *entry) {
	for _, v := range vs {
		if v.workspace != t.Workspace {
			continue
		}
		for _, s := range v.all {
			if s.row.Header.Key() == t.Key && !(s.suppressed && s.persisted && !s.live) {
				return v, s
			}
		}
	}
	return nil, nil
}

// stateOf returns what has become of a surface event or document.
func (v *view) stateOf(ctx context.Context, d Document) (session.State, error) {
	if !d.Surface {
		return session.LogOnly, nil
	}
	by, err := v.shadowOf(ctx, d.Doc.Session(), d.Seq)
	switch {
	case err != nil:
		return session.LogOnly, err
	case by < 0:
		return session.Current, nil
	}
	return session.Shadowed, nil
}

// shadowOf returns who took a surface event out; -1: nobody.
func (v *view) shadowOf(ctx context.Context, num, seq int64) (int64, error) {
	run, err := v.shadowRun(ctx, num, seq)
	return run.By, err
}

// singleRuns is how many runs of a session are looked up one by one before all
// of them are read: a long session has tens of thousands.
const singleRuns = 4

// shadowRun returns the run of shadowed surface events that a seq lies in; one
// of nobody (By -1) if there is none. What lies between a run's ends need not be
// a surface event; the ends are.
func (v *view) shadowRun(ctx context.Context, num, seq int64) (Shadow, error) {
	if runs, ok := v.states[num]; ok {
		return RunAt(runs, seq), nil
	}
	if v.asked[num]++; v.asked[num] <= singleRuns {
		return v.snap.Log(num).Shadow(ctx, seq)
	}
	runs, err := v.snap.Log(num).States(ctx)
	if err != nil {
		return NoShadow, err
	}
	v.states[num] = runs
	return RunAt(runs, seq), nil
}

// open reports whether the session goes on: its closing records do not exist then.
func (s *entry) open() bool { return s.live || s.running }

// info returns what is known of an entry, with the title that its agent keeps
// outside of the log. own says that closing records do not exist for whom asks.
func (v *view) info(ctx context.Context, s *entry, own bool) (Info, error) {
	info := s.info(own)
	if v.corpus.Outside == nil || info.Fault != "" {
		return info, nil
	}
	title, ok, err := v.corpus.Outside.Title(ctx, s.row.Source, s.row.Header)
	if ok && err == nil {
		info.Title, info.TitleFail = title, ""
	}
	return info, err
}

func (s *entry) info(own bool) Info {
	info := Info{
		Header: s.row.Header, Title: Untitled, TitleFail: s.row.TitleFail,
		Live: s.open(), Persisted: s.persisted, Events: s.row.Events, Changed: s.row.Changed,
	}
	if s.row.Title != nil {
		info.Title = *s.row.Title
	}
	if own || s.open() {
		info.Events -= s.row.Provisional
	}
	if s.row.Problem != nil {
		info.Fault = s.row.Problem.Code
		info.Title, info.TitleFail = Untitled, info.Fault
	}
	if info.TitleFail != "" {
		info.Title = Untitled
	}
	return info
}
