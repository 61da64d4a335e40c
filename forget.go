package yore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/ingest"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
	"github.com/yorehq/yore/sqlite"
)

// DefaultForgetFile returns where the list of forgotten sessions is kept unless
// told otherwise: below the user's configuration folder, since an index may be
// deleted at any time and shall not bring back what was forgotten.
func DefaultForgetFile() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("%w: no configuration folder: %w", fault.InvalidConfig, err)
	}
	return filepath.Join(dir, "yore", "forgotten"), nil
}

// remembered is the index without the sessions that their owner wants forgotten.
// The shards are without them already; the catalog knows their headers.
type remembered struct {
	*sqlite.Index
	ingest *ingest.Ingester
}

// Headers implements query.Store.
func (r remembered) Headers(ctx context.Context, which query.Lookup) ([]query.Known, error) {
	all, err := r.Index.Headers(ctx, which)
	if err != nil {
		return nil, err
	}
	list, err := r.ingest.Forgets(ctx)
	if err != nil {
		return nil, err
	}
	kept := all[:0]
	for _, k := range all {
		has, err := list.Has(k.Header)
		if err != nil {
			return nil, err
		}
		if !has {
			kept = append(kept, k)
		}
	}
	return withoutLesser(r.ingest.Roots, kept), nil
}

// withoutLesser leaves out the forms of a session that do not count because its
// agent keeps another one that tells more: what they state is no contradiction.
func withoutLesser(roots []ingest.Root, all []query.Known) []query.Known {
	seen, twice := map[session.Header]bool{}, false
	for _, k := range all {
		at := session.Header{Agent: k.Header.Agent, ID: k.Header.ID, Cwd: k.Header.Cwd}
		twice = twice || seen[at]
		seen[at] = true
	}
	if !twice {
		return all
	}
	rows := make([]ingest.FileRow, len(all))
	for i, k := range all {
		rows[i] = ingest.FileRow{Path: k.Path, Header: k.Header, Pending: k.Problem != nil}
		for _, r := range roots {
			if strings.HasPrefix(k.Path, strings.TrimSuffix(r.Path, "/")+string(filepath.Separator)) && r.Reader.Agent() == k.Header.Agent {
				rows[i].Root, rows[i].Agent = r.Path, r.Reader.Agent()
			}
		}
	}
	lesser := ingest.Lesser(roots, rows)
	return slices.DeleteFunc(all, func(k query.Known) bool { return lesser[k.Path] })
}

// Forgettable is a session as far as forgetting it is concerned. It holds no
// session text.
type Forgettable struct {
	Header session.Header
	Paths  []string // every catalogued log and copy of it, sorted; of a part, its file's
	With   bool     // it was not named: it goes with the session whose subagent it is
	Since  string   // the day on which it was forgotten, as YYYY-MM-DD; "": it is not, or goes with another
}

// Forgetting is what would go, and what would stay although it holds copies.
type Forgetting struct {
	Sessions []Forgettable // by workspace and id
	Forks    []session.Header
}

// sessionsOf gathers catalogued files to sessions, by workspace and id.
func sessionsOf(files []ingest.FileRow) []Forgettable {
	at := map[place]int{}
	var all []Forgettable
	for _, f := range files {
		if f.Header.ID == "" {
			continue
		}
		p := place{f.Header.Key(), f.Header.Cwd}
		i, ok := at[p]
		if !ok {
			i = len(all)
			at[p] = i
			all = append(all, Forgettable{Header: f.Fork.Apply(f.Header)})
		}
		if path := reader.FileOf(f.Path); !slices.Contains(all[i].Paths, path) {
			all[i].Paths = append(all[i].Paths, path)
		}
	}
	slices.SortFunc(all, func(a, b Forgettable) int {
		return cmp.Or(cmp.Compare(a.Header.Cwd, b.Header.Cwd), session.CompareKey(a.Header.Key(), b.Header.Key()))
	})
	for i := range all {
		slices.Sort(all[i].Paths)
	}
	return all
}

// Forgetting says what Forget would take with the named sessions, in every
// workspace: their subagents go with them, at any depth. Forks are sessions of
// their own and stay, with the copy of what they inherited.
func (h *History) Forgetting(ctx context.Context, keys []session.Key) (Forgetting, error) {
	var out Forgetting
	if h.err != nil {
		return out, h.err
	}
	if _, err := h.ingest.Refresh(ctx, session.Scope{}, nil); err != nil {
		return out, err
	}
	files, err := h.index.Files(ctx, ingest.FileLookup{})
	if err != nil {
		return out, err
	}
	goes := map[session.Key]bool{}
	for _, key := range keys {
		goes[key] = true
	}
	all := sessionsOf(files)
	for grown := true; grown; {
		grown = false
		for _, s := range all {
			parent := session.Key{Agent: s.Header.Agent, ID: s.Header.ParentSession}
			if s.Header.Origin == session.OriginSubagent && goes[parent] && !goes[s.Header.Key()] {
				goes[s.Header.Key()], grown = true, true
			}
		}
	}
	for _, s := range all {
		parent := session.Key{Agent: s.Header.Agent, ID: s.Header.ParentSession}
		switch {
		case goes[s.Header.Key()]:
			s.With = !slices.Contains(keys, s.Header.Key())
			out.Sessions = append(out.Sessions, s)
		case goes[parent]:
			out.Forks = append(out.Forks, s.Header)
		}
	}
	return out, nil
}

// Forget puts sessions on the list, with their subagents, and takes them out of
// the index: their texts, titles and tokens, off the disk as well. The agents'
// logs are not touched. It is durable when Forget returns, and survives the index
// and a failure of what follows: done false and no error says that something of
// them is still in a file of the index, since another process is reading it or
// writes to it, or that its folder cannot be written to; Tidy, of any process that
// can, ends the work.
func (h *History) Forget(ctx context.Context, keys []session.Key) (done bool, err error) {
	going, err := h.Forgetting(ctx, keys)
	if err != nil {
		return false, err
	}
	all := slices.Clone(keys)
	workspaces := map[string]bool{}
	for _, s := range going.Sessions {
		all = append(all, s.Header.Key())
		workspaces[s.Header.Cwd] = true
	}
	if err := h.forgets.Add(all, time.Now()); err != nil {
		return false, err
	}
	done, err = h.settle(ctx, workspaces)
	return done && h.scratch == "", err // what the folder holds that could not be opened, nobody has looked at
}

// Unforget takes sessions off the list, with their subagents. What their logs
// hold is found again, as far as the logs are still there.
func (h *History) Unforget(ctx context.Context, keys []session.Key) error {
	going, err := h.Forgetting(ctx, keys)
	if err != nil {
		return err
	}
	all := slices.Clone(keys)
	for _, s := range going.Sessions {
		all = append(all, s.Header.Key())
	}
	return h.forgets.Remove(all)
}

// Forgotten returns the forgotten sessions whose logs are known, and how many
// entries of the list are of none of them: their logs are gone.
func (h *History) Forgotten(ctx context.Context) (known []Forgettable, others int, err error) {
	if h.err != nil {
		return nil, 0, h.err
	}
	files, err := h.index.Files(ctx, ingest.FileLookup{})
	if err != nil {
		return nil, 0, err
	}
	list, err := h.ingest.Forgets(ctx)
	if err != nil {
		return nil, 0, err
	}
	_, gone, err := list.Split(files)
	if err != nil {
		return nil, 0, err
	}
	set, err := h.forgets.Now()
	if err != nil {
		return nil, 0, err
	}
	known = sessionsOf(there(gone))
	listed := map[session.Key]bool{}
	for i := range known {
		key := known[i].Header.Key()
		known[i].Since = set.Since(key)
		known[i].With = known[i].Since == ""
		listed[key] = listed[key] || !known[i].With
	}
	others = set.Len()
	for _, on := range listed {
		if on {
			others--
		}
	}
	return known, others, nil
}

// there keeps the files that are not gone: no look at their workspaces may have
// found out yet.
func there(files []ingest.FileRow) []ingest.FileRow {
	return slices.DeleteFunc(files, func(f ingest.FileRow) bool {
		_, err := os.Lstat(reader.FileOf(f.Path))
		return errors.Is(err, fs.ErrNotExist)
	})
}

// IsForgotten reports whether a key is on the list itself.
func (h *History) IsForgotten(key session.Key) (bool, error) {
	set, err := h.forgets.Now()
	return err == nil && set.Has(key), err
}

const (
	// settleTime is how long Forget waits for other processes.
	settleTime = 20 * time.Second

	settleEvery = 100 * time.Millisecond
)

// settle brings workspaces up to date and takes what was deleted off the disk.
func (h *History) settle(ctx context.Context, workspaces map[string]bool) (bool, error) {
	var scope session.Scope
	for w := range workspaces {
		scope.Workspaces = append(scope.Workspaces, w)
	}
	if slices.Sort(scope.Workspaces); len(scope.Workspaces) == 0 {
		return true, nil
	}
	for deadline := time.Now().Add(settleTime); ; {
		coverage, err := h.ingest.Refresh(ctx, scope, nil)
		if err == nil {
			err = h.ingest.Tidy(ctx)
		}
		if err != nil {
			return false, err
		}
		done := !coverage.Stale && !slices.ContainsFunc(h.ingest.Remains(), func(w string) bool { return workspaces[w] })
		if done || time.Now().After(deadline) {
			return done, nil
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(settleEvery):
		}
	}
}
