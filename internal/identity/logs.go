package identity

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

// Logs is a CallFinder over the newest logs of a workspace, for agents that
// tell nothing of their sessions. It reads each log once and then what was
// added to it. It is safe for concurrent use; lookups run one at a time.
type Logs struct {
	list    func(ctx context.Context, workspace string) ([]reader.Source, error)
	readers map[session.Agent]reader.Reader

	mu    sync.Mutex
	tails map[string]*tail // by the path of the primary file
}

// tail is how far a log has been read, and what is open there.
type tail struct {
	at   reader.Position
	open openCalls
}

const (
	maxLogs  = 8         // how many logs, the last written ones, are looked at
	maxBytes = 256 << 20 // a log that grew by more than this since it was last read is passed over
)

// NewLogs returns a finder over the sources that list returns for a workspace,
// in any order; sources of agents without a reader here are ignored.
func NewLogs(list func(ctx context.Context, workspace string) ([]reader.Source, error), readers ...reader.Reader) *Logs {
	l := &Logs{list: list, readers: make(map[session.Agent]reader.Reader), tails: make(map[string]*tail)}
	for _, r := range readers {
		l.readers[r.Agent()] = r
	}
	return l
}

// FindCall implements CallFinder. A log that cannot be read holds no call.
func (l *Logs) FindCall(ctx context.Context, workspace string, call PendingCall) ([]session.Key, error) {
	sources, err := l.list(ctx, workspace)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []session.Key
	for _, s := range l.newest(workspace, sources) {
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

// newest chooses the workspace's last written logs and forgets all others.
func (l *Logs) newest(workspace string, sources []reader.Source) []reader.Source {
	type dated struct {
		reader.Source
		stamp reader.Stamp
	}
	var logs []dated
	for _, s := range sources {
		if s.Header.Cwd != workspace || l.readers[s.Agent] == nil {
			continue
		}
		if stamp, err := reader.StatRegular(s.Path); err == nil {
			logs = append(logs, dated{s, stamp})
		}
	}
	slices.SortFunc(logs, func(a, b dated) int { return cmp.Compare(b.stamp.ModTime, a.stamp.ModTime) })
	logs = logs[:min(len(logs), maxLogs)]
	kept := make(map[string]*tail, len(logs))
	chosen := make([]reader.Source, 0, len(logs))
	for _, d := range logs {
		t := l.tails[d.Path]
		if t == nil {
			t = &tail{open: make(openCalls)}
		}
		if d.stamp.Size-t.at.Offset > maxBytes {
			continue
		}
		kept[d.Path] = t
		chosen = append(chosen, d.Source)
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
