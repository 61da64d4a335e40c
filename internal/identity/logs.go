package identity

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

// Logs is a CallFinder over the agents' logs. A call with an id is looked for by
// the agent's reader, at the ends of logs. Without one, for agents that tell
// nothing of their sessions, only logs that are being written are looked at:
// each is read once and then what was added to it. It is safe for concurrent
// use; lookups run one at a time.
type Logs struct {
	o       LogsOptions
	readers map[session.Agent]reader.Reader

	mu    sync.Mutex
	tails map[string]*tail // by the path of the primary file
}

// LogsOptions say where the logs are.
type LogsOptions struct {
	// List returns the sources of a workspace, in any order; sources of agents
	// without a reader here are ignored.
	List func(ctx context.Context, workspace string) ([]reader.Source, error)
	// Roots returns the folders below which an agent keeps its sessions; nil: none.
	Roots   func(session.Agent) []string
	Readers []reader.Reader
	Now     func() time.Time // nil: the system's clock
}

// tail is how far a log has been read, and what is open there.
type tail struct {
	at   reader.Position
	open openCalls
}

const (
	maxLogs  = 8               // how many logs, the last written ones, are looked at
	maxBytes = 256 << 20       // a log that grew by more than this since it was last read is passed over
	fresh    = 1 * time.Minute // a log that was written longer ago holds no call that is being made now
)

// NewLogs returns a finder.
func NewLogs(o LogsOptions) *Logs {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Roots == nil {
		o.Roots = func(session.Agent) []string { return nil }
	}
	l := &Logs{o: o, readers: make(map[session.Agent]reader.Reader), tails: make(map[string]*tail)}
	for _, r := range o.Readers {
		l.readers[r.Agent()] = r
	}
	return l
}

// FindCall implements CallFinder. A log that cannot be read holds no call.
func (l *Logs) FindCall(ctx context.Context, workspace string, call PendingCall) ([]session.Key, error) {
	if call.ID != "" {
		return l.byID(ctx, workspace, call)
	}
	sources, err := l.o.List(ctx, workspace)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	found, sources, err := l.onShelves(ctx, workspace, call, sources)
	if err != nil {
		return nil, err
	}
	for _, s := range l.choose(ctx, workspace, call.Agent, sources) {
		open, err := l.follow(ctx, s)
		if err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			continue
		}
		if open.has(call) && !slices.Contains(found, s.Header.Key()) {
			found = append(found, s.Header.Key())
		}
	}
	return found, nil
}

// onShelves asks the readers that hold back what is unfinished, once for each
// shelf, and returns the sources that are left.
func (l *Logs) onShelves(ctx context.Context, workspace string, call PendingCall, sources []reader.Source) (found []session.Key, left []reader.Source, err error) {
	asked := map[string][]reader.OpenCall{}
	for _, s := range sources {
		r := l.readers[s.Agent]
		caller, ok := r.(reader.OpenCaller)
		if !ok || !reader.OnShelf(r, s.Root, s.Path) {
			left = append(left, s)
			continue
		}
		if s.Header.Cwd != workspace || call.Agent != "" && s.Agent != call.Agent {
			continue
		}
		file := reader.FileOf(s.Path)
		open, known := asked[file]
		if !known {
			open, _ = caller.OpenCalls(ctx, file)
			if ctx.Err() != nil {
				return nil, nil, ctx.Err()
			}
			asked[file] = open // none, if it cannot be read
		}
		for _, o := range open {
			if o.Session == s.Header.ID && call.matches(o.Name, o.Args) && !slices.Contains(found, s.Header.Key()) {
				found = append(found, s.Header.Key())
			}
		}
	}
	return found, left, nil
}

// byID asks the readers that can find a call by its id.
func (l *Logs) byID(ctx context.Context, workspace string, call PendingCall) ([]session.Key, error) {
	var found []session.Key
	for agent, r := range l.readers {
		finder, ok := r.(reader.CallFinder)
		if !ok || call.Agent != "" && agent != call.Agent {
			continue
		}
		for _, root := range l.o.Roots(agent) {
			id, ok, err := finder.FindCall(ctx, root, workspace, call.ID)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if key := (session.Key{Agent: agent, ID: id}); err == nil && ok && !slices.Contains(found, key) {
				found = append(found, key)
			}
		}
	}
	return found, nil
}

// stampsOf returns when the sessions of a shelf were written, by their names, as
// far as the shelf can be listed.
func stampsOf(ctx context.Context, r reader.Reader, root, file string) map[string]reader.Stamp {
	stamps := map[string]reader.Stamp{}
	if shelver, ok := r.(reader.Shelver); ok {
		// A shelf that cannot be listed holds no call.
		_ = shelver.List(ctx, root, file, func(s reader.Listed) error {
			stamps[s.Name] = s.Stamp
			return nil
		})
	}
	return stamps
}

// choose returns those of the workspace's last written logs, of one agent or of
// every one, that are being written now. How far the others have been read is
// remembered, as long as they are among the last.
func (l *Logs) choose(ctx context.Context, workspace string, agent session.Agent, sources []reader.Source) []reader.Source {
	type dated struct {
		reader.Source
		stamp reader.Stamp
		rows  bool // what its position counts is no bytes
	}
	var logs []dated
	shelves := map[string]map[string]reader.Stamp{}
	for _, s := range sources {
		r := l.readers[s.Agent]
		if s.Header.Cwd != workspace || r == nil || agent != "" && s.Agent != agent {
			continue
		}
		file, name := reader.SplitPart(s.Path)
		if !reader.OnShelf(r, s.Root, s.Path) {
			if stamp, err := reader.StatRegular(file); err == nil {
				logs = append(logs, dated{s, stamp, false})
			}
			continue
		}
		stamps, known := shelves[file]
		if !known {
			stamps = stampsOf(ctx, r, s.Root, file)
			shelves[file] = stamps
		}
		if stamp, ok := stamps[name]; ok {
			logs = append(logs, dated{s, stamp, true})
		}
	}
	slices.SortFunc(logs, func(a, b dated) int { return cmp.Compare(b.stamp.ModTime, a.stamp.ModTime) })
	logs = logs[:min(len(logs), maxLogs)]
	now := l.o.Now()
	kept := make(map[string]*tail, len(logs))
	chosen := make([]reader.Source, 0, len(logs))
	for _, d := range logs {
		t := l.tails[d.Path]
		if t == nil {
			t = &tail{open: make(openCalls)}
		}
		if !d.rows && d.stamp.Size-t.at.Offset > maxBytes {
			continue
		}
		kept[d.Path] = t
		if now.Sub(time.Unix(0, d.stamp.ModTime)).Abs() <= fresh {
			chosen = append(chosen, d.Source)
		}
	}
	l.tails = kept
	return chosen
}

// follow reads what a log has gained and returns the calls open in it.
func (l *Logs) follow(ctx context.Context, s reader.Source) (openCalls, error) {
	r, t := l.readers[s.Agent], l.tails[s.Path]
	if t.at.Next > 0 || t.at.Offset > 0 {
		revision, _, err := r.Revise(ctx, s, t.at)
		switch {
		case err != nil:
			return nil, err
		case revision == reader.Unchanged:
			return t.open, nil
		case revision != reader.Grown:
			*t = tail{open: make(openCalls)}
		}
	}
	end, err := r.Read(ctx, s, t.at, func(e session.Event) error {
		t.open.apply(&e)
		return nil
	})
	if err != nil {
		// Some events may have been applied: begin anew next time.
		delete(l.tails, s.Path)
		return nil, err
	}
	t.at = end.Position
	return t.open, nil
}
