package opencode

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/session"
)

var (
	_ reader.Ranker = (*Reader)(nil)
	_ reader.Loner  = (*Reader)(nil)
)

// form is how a session is kept. A later one takes over what an earlier one
// holds and leaves it where it is.
type form int

const (
	inProject  form = iota // the tree of the oldest releases
	inStorage              // that of those before the database
	inDatabase             // rows
)

const (
	fileEnding = ".json"
	filePrefix = "ses_"
)

// formOf tells the form of a source by its path.
func formOf(root, path string) form {
	rel, err := filepath.Rel(root, path)
	if _, part := reader.SplitPart(path); part != "" || err != nil {
		return inDatabase
	}
	switch first, _, _ := strings.Cut(filepath.ToSlash(rel), "/"); first {
	case "storage":
		return inStorage
	case "project":
		return inProject
	}
	return inDatabase
}

// classifyTree is Classify for what lies in the folders of the trees.
func classifyTree(parts []string, dir bool) reader.Kind {
	pattern := []string{"storage", "session", ""}
	if parts[0] == "project" {
		pattern = []string{"project", "", "storage", "session", "info"}
	}
	for i, p := range parts[:min(len(parts), len(pattern))] {
		if pattern[i] != "" && pattern[i] != p {
			return reader.Ignore
		}
	}
	name := parts[len(parts)-1]
	switch {
	case dir && len(parts) <= len(pattern):
		return reader.Folder
	case !dir && len(parts) == len(pattern)+1 && strings.HasPrefix(name, filePrefix) && strings.HasSuffix(name, fileEnding):
		return reader.File
	}
	return reader.Ignore
}

// Rank implements reader.Ranker: what was taken over counts in its later form.
func (*Reader) Rank(root, path string) int { return int(formOf(root, path)) }

// Alone implements reader.Loner. The agent writes a session's own file with every
// prompt, so a session that has been at rest is looked at by that alone. The oldest
// releases did not.
func (*Reader) Alone(src reader.Source, at reader.Position) bool {
	var st state
	return formOf(src.Root, src.Path) == inStorage && json.Unmarshal(at.State, &st) == nil && st.Quiet
}

// openTree finds a session in a tree.
func (r *Reader) openTree(ctx context.Context, src reader.Source) (store, entry, error) {
	t := treeOf(src.Root, src.Path)
	e, err := r.entryIn(ctx, t)
	if err != nil {
		var p *reader.Problem
		if errors.As(err, &p) || ctx.Err() != nil {
			return nil, e, err
		}
		return nil, e, shelfFault(src.Path, err)
	}
	return t, e, nil
}

// entryIn reads a session's own file, and looks at what lies beside it.
func (r *Reader) entryIn(ctx context.Context, t *tree) (e entry, err error) {
	h := &e.Header
	h.Agent, e.files = r.agent, true
	if e.Stamp, err = reader.StatRegular(t.path); err != nil {
		return e, err
	}
	names, err := t.ids(t.messages)
	if err != nil {
		return e, err
	}
	e.tree.Last = strings.Join(names[max(0, len(names)-lastMessages):], " ")
	sum, latest, err := t.beside(e.tree.Last)
	if err != nil {
		return e, err
	}
	e.tree.Beside = sum
	latest = max(latest, e.Stamp.ModTime)
	e.tree.Quiet = r.rested(latest)

	own, err := load(ctx, t.path)
	if err != nil {
		return e, err
	}
	times := jsonl.Field(own.data, "time")
	created, dated := jsonl.Natural(jsonl.Field(times, "created"))
	id := jsonl.Text(jsonl.Field(own.data, "id"))
	if own.bad || !dated || id+fileEnding != filepath.Base(t.path) {
		return e, reader.Unreadable(t.path, 0, 0, "the file is no session of this agent")
	}
	h.ID, h.CreatedAt, h.Cwd = session.ID(id), created, jsonl.Text(jsonl.Field(own.data, "directory"))
	e.title, e.app = jsonl.Text(jsonl.Field(own.data, "title")), jsonl.Text(jsonl.Field(own.data, "version"))
	e.revert = string(compact(jsonl.Field(own.data, "revert")))
	updated, _ := jsonl.Natural(jsonl.Field(times, "updated"))
	e.updated = max(updated, created)
	if h.ParentSession = session.ID(jsonl.Text(jsonl.Field(own.data, "parentID"))); h.ParentSession != "" {
		h.Origin = session.OriginSubagent
		if h.DelegationDepth, err = t.depth(ctx, string(h.ParentSession)); err != nil {
			return e, err
		}
	}
	if h.Cwd == "" {
		if h.Cwd, err = t.workspace(ctx, names); err != nil {
			return e, err
		}
	}
	if err := h.Validate(); err != nil {
		return e, reader.Unreadable(t.path, 0, 0, "%s", err)
	}
	if len(names) > 0 && e.tree.Quiet {
		m, err := t.head(ctx, outline{id: names[len(names)-1]})
		if err != nil {
			return e, err
		}
		_, completed := jsonl.Natural(jsonl.Field(jsonl.Field(m.data, "time"), "completed"))
		e.idle = m.role() == "assistant" && !completed
	}
	return e, nil
}

// rested reports whether a time, in nanoseconds, is so long ago that what is
// unfinished has been given up.
func (r *Reader) rested(at int64) bool { return r.now().UnixNano()-at > abandoned.Nanoseconds() }

// depth is how many sessions stand above one whose parent is given.
func (t *tree) depth(ctx context.Context, parent string) (n int64, err error) {
	for n < maxDepth && parent != "" {
		n++
		if filepath.Base(parent) != parent {
			break
		}
		v, err := load(ctx, filepath.Join(filepath.Dir(t.path), parent+fileEnding))
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return n, err
		}
		parent = jsonl.Text(jsonl.Field(v.data, "parentID"))
	}
	return n, nil
}

// firstMessages is how many messages are looked at for the folder of a session
// whose own file does not state it.
const firstMessages = 16

// workspace finds the folder of a session by its first answer.
func (t *tree) workspace(ctx context.Context, names []string) (string, error) {
	for _, name := range names[:min(len(names), firstMessages)] {
		m, err := t.head(ctx, outline{id: name})
		if err != nil {
			return "", err
		}
		if cwd := jsonl.Text(jsonl.Field(jsonl.Field(m.data, "path"), "cwd")); cwd != "" {
			return cwd, nil
		}
	}
	if len(names) < firstMessages {
		return "", reader.ErrPending
	}
	return "", nil
}

// lastMessages is how many messages at the end of a session are stated for a
// change: a prompt may be given while the answer before it is being written.
const lastMessages = 2

// beside hashes the stats of the folder of messages and of the latest messages
// with their parts, and returns the latest of their times in nanoseconds.
func (t *tree) beside(last string) (sum uint64, latest int64, err error) {
	h := fnv.New64a()
	add := func(path string) {
		var s reader.Stamp
		info, statErr := os.Lstat(path)
		switch {
		case statErr == nil:
			s = reader.StampOf(info)
		case !errors.Is(statErr, fs.ErrNotExist):
			err = errors.Join(err, statErr)
		}
		var numbers [24]byte
		binary.LittleEndian.PutUint64(numbers[0:], s.Inode)
		binary.LittleEndian.PutUint64(numbers[8:], uint64(s.Size))
		binary.LittleEndian.PutUint64(numbers[16:], uint64(s.ModTime))
		fmt.Fprintf(h, "%s\n%s", path, numbers[:])
		latest = max(latest, s.ModTime)
	}
	add(t.messages)
	for _, id := range strings.Fields(last) {
		add(t.file(id))
		folder := t.partsOf(id)
		add(folder)
		names, listErr := t.ids(folder)
		err = errors.Join(err, listErr)
		for _, name := range names {
			add(filepath.Join(folder, name+fileEnding))
		}
	}
	return h.Sum64(), latest, err
}

// glance is Revise by stats alone; ok says that they were enough.
func (r *Reader) glance(src reader.Source, at reader.Stamp, st state) (rev reader.Revision, stamp reader.Stamp, ok bool) {
	stamp, err := reader.StatRegular(src.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return reader.Gone, reader.Stamp{}, true
	case err != nil || stamp != at:
		return reader.Replaced, stamp, false
	case st.Quiet && formOf(src.Root, src.Path) == inStorage:
		return reader.Unchanged, stamp, true
	}
	sum, latest, err := treeOf(src.Root, src.Path).beside(st.Last)
	switch {
	case err != nil || sum != st.Beside:
		return reader.Replaced, stamp, false
	case !st.Quiet && r.rested(max(latest, stamp.ModTime)):
		return reader.Grown, stamp, true // by what was given up; from then on it is at rest
	}
	return reader.Unchanged, stamp, true
}
