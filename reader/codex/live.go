package codex

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/session"
)

// Names beside the logs.
const (
	lockDir   = "thread-writer-locks"
	indexName = "session_index.jsonl"
)

// Running implements reader.Liveness. A thread that a process has loaded is
// locked with flock; the kernel's own table of locks tells which are, without
// taking any. Systems without that table say nothing.
func (*Reader) Running(ctx context.Context, root string) (map[session.ID]reader.Process, error) {
	return running(ctx, root, "/proc")
}

func running(ctx context.Context, root, proc string) (map[session.ID]reader.Process, error) {
	found := map[session.ID]reader.Process{}
	entries, err := os.ReadDir(filepath.Join(root, lockDir))
	if err != nil || len(entries) == 0 {
		return found, ctx.Err()
	}
	table, err := os.ReadFile(filepath.Join(proc, "locks"))
	if err != nil {
		return found, ctx.Err()
	}
	holders := flocks(table)
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		id, ok := strings.CutSuffix(e.Name(), ".lock")
		path := filepath.Join(root, lockDir, e.Name())
		stamp, err := reader.StatRegular(path)
		if !ok || err != nil || !plainID(id) {
			continue
		}
		for _, pid := range holders[stamp.Inode] {
			if holds(proc, pid, path) {
				found[session.ID(id)] = reader.Process{PID: pid, Busy: busy(ctx, root, id)}
			}
		}
	}
	return found, ctx.Err()
}

// flocks reads the kernel's table: who holds an exclusive flock, by inode. Inodes
// of several file systems may be equal, so a holder is only a candidate.
func flocks(table []byte) map[uint64][]int {
	found := map[uint64][]int{}
	for line := range bytes.Lines(table) {
		// 1: FLOCK  ADVISORY  WRITE 4711 08:01:131 0 EOF
		f := strings.Fields(string(line))
		if len(f) < 6 || f[1] != "FLOCK" || f[3] != "WRITE" {
			continue
		}
		pid, err := strconv.Atoi(f[4])
		inode, also := strconv.ParseUint(f[5][strings.LastIndexByte(f[5], ':')+1:], 10, 64)
		if err == nil && also == nil && pid > 0 {
			found[inode] = append(found[inode], pid)
		}
	}
	return found
}

// holds reports whether a process has a file open.
func holds(proc string, pid int, path string) bool {
	dir := filepath.Join(proc, strconv.Itoa(pid), "fd")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	for _, e := range entries {
		if target, err := os.Readlink(filepath.Join(dir, e.Name())); err == nil && target == path {
			return true
		}
	}
	return false
}

// tailBytes is how much of a log's end is looked at.
const tailBytes = 1 << 20

// busy reports whether the latest turn of a thread has not ended.
func busy(ctx context.Context, root, id string) bool {
	best := reader.Stamp{}
	var path string
	for _, dir := range folders(root, filepath.Join(root, liveDir), id) {
		for _, p := range logs(dir, id) {
			if s, err := reader.StatRegular(p); err == nil && (path == "" || s.ModTime > best.ModTime) {
				path, best = p, s
			}
		}
	}
	tail, err := tailOf(path)
	if path == "" || err != nil || ctx.Err() != nil {
		return false
	}
	open := false
	for line := range bytes.Lines(tail) {
		if !bytes.Contains(line, []byte(`"event_msg"`)) || !jsonl.Valid(line) || !jsonl.IsObject(line) {
			continue
		}
		r := parseRecord(nil, line)
		switch {
		case r.isEvent("task_started", "turn_started"):
			open = true
		case r.isEvent("task_complete", "turn_complete", "turn_aborted"):
			open = false
		}
	}
	return open
}

// tailOf returns the end of a plain file, from the beginning of a line on.
func tailOf(path string) ([]byte, error) {
	f, stamp, err := reader.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	from := max(0, stamp.Size-tailBytes)
	tail, err := io.ReadAll(io.NewSectionReader(f, from, stamp.Size-from))
	if err != nil {
		return nil, err
	}
	if from > 0 {
		_, tail, _ = bytes.Cut(tail, []byte{'\n'})
	}
	return tail, nil
}

// Bounds of a search for a call.
const (
	maxDays  = 60 // folders, the newest ones
	maxFiles = 48 // logs, the last written ones
)

// FindCall implements reader.CallFinder.
func (*Reader) FindCall(ctx context.Context, root, workspace, callID string) (session.ID, bool, error) {
	if callID == "" {
		return "", false, ctx.Err()
	}
	type candidate struct {
		path string
		time int64
	}
	days, err := filepath.Glob(filepath.Join(globbed(root), liveDir, "[0-9]*", "[0-9]*", "[0-9]*"))
	if err != nil {
		return "", false, fmt.Errorf("listing days: %w", err)
	}
	slices.Sort(days)
	var list []candidate
	for _, dir := range days[max(0, len(days)-maxDays):] {
		for _, path := range logs(dir, "") {
			if s, err := reader.StatRegular(path); err == nil && formOf(path) == plain {
				list = append(list, candidate{path, s.ModTime})
			}
		}
	}
	slices.SortFunc(list, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.time, a.time), strings.Compare(a.path, b.path))
	})
	for _, c := range list[:min(len(list), maxFiles)] {
		if err := ctx.Err(); err != nil {
			return "", false, err
		}
		tail, err := tailOf(c.path)
		if err != nil || !hasCall(tail, callID) {
			continue
		}
		p, err := look(ctx, c.path)
		if (err == nil || errors.Is(err, reader.ErrPending)) && p.cwd == workspace && p.id != "" {
			return p.id, true, nil
		}
	}
	return "", false, ctx.Err()
}

// globbed takes the meaning of patterns out of a path.
func globbed(path string) string {
	return strings.NewReplacer(`*`, `[*]`, `?`, `[?]`, `[`, `[[]`).Replace(path)
}

// hasCall reports whether a log's end holds a call with this id, the latest
// lines first.
func hasCall(tail []byte, callID string) bool {
	for len(tail) > 0 {
		i := bytes.LastIndexByte(bytes.TrimRight(tail, "\n"), '\n') + 1
		line := tail[i:]
		tail = tail[:i]
		if !bytes.Contains(line, []byte(callID)) || !jsonl.Valid(line) || !jsonl.IsObject(line) {
			continue
		}
		r := parseRecord(nil, line)
		if !r.is(itemType) {
			continue
		}
		if it := parseItem(&r.in); it.typ == session.ToolCall && it.body.CallID == callID {
			return true
		}
	}
	return false
}

// Title implements reader.Titler: the latest name of the thread in the agent's
// index of names.
func (*Reader) Title(ctx context.Context, src reader.Source) (string, bool, error) {
	t, err := openText(filepath.Join(src.Root, indexName), 0, 0, -1)
	switch {
	case gone(err):
		return "", false, ctx.Err()
	case err != nil:
		return "", false, err
	}
	defer t.close()
	title := ""
	for {
		v, err := t.next(ctx)
		if errors.Is(err, io.EOF) {
			return title, title != "", nil
		}
		if err != nil {
			return "", false, err
		}
		if !v.none && jsonl.Is(jsonl.Field(v.text, "id"), string(src.Header.ID)) {
			title = oneLine(jsonl.Text(jsonl.Field(v.text, "thread_name")))
		}
	}
}
