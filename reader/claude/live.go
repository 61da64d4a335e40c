package claude

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/session"
)

// Bounds of what is looked at outside of a read.
const (
	maxEntry   = 256 << 10 // of one entry of the registry
	maxEntries = 1024
	maxFiles   = 64      // transcripts that a call is looked for in
	tailBytes  = 1 << 20 // and so much of the end of each
)

// Running implements reader.Liveness: the registry of the agent, one file for
// each process, below the folder that holds the root. The agent removes its
// entry only when it ends in order, so each is checked against the process.
func (*Reader) Running(ctx context.Context, root string) (map[session.ID]reader.Process, error) {
	running := map[session.ID]reader.Process{}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	dir := filepath.Join(filepath.Dir(root), registryDir)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return running, nil
	}
	if err != nil {
		return nil, err
	}
	for _, e := range entries[:min(len(entries), maxEntries)] {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		id, p, ok := registered(filepath.Join(dir, e.Name()))
		if other, twice := running[id]; ok && (!twice || p.Busy && !other.Busy) {
			running[id] = p
		}
	}
	return running, nil
}

// registered reads one entry of the registry; ok says that its process runs.
func registered(path string) (id session.ID, p reader.Process, ok bool) {
	if filepath.Ext(path) != ".json" {
		return "", p, false
	}
	f, _, err := reader.OpenRegular(path)
	if err != nil {
		return "", p, false
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxEntry))
	if err != nil || !jsonl.Valid(data) {
		return "", p, false
	}
	data = data[jsonl.SkipSpace(data, 0):]
	id = session.ID(jsonl.Text(jsonl.Field(data, "sessionId")))
	pid, _ := jsonl.Natural(jsonl.Field(data, "pid"))
	if id == "" || pid <= 0 || pid > 1<<30 {
		return "", p, false
	}
	began := jsonl.Field(data, "procStart")
	want := string(began)
	if jsonl.IsString(began) {
		want = jsonl.Text(began)
	}
	if strings.Trim(want, "0123456789") != "" {
		want = "" // not in the system's own words
	}
	p = reader.Process{PID: int(pid), Busy: jsonl.Is(jsonl.Field(data, "status"), "busy")}
	return id, p, alive(p.PID, want)
}

// alive reports whether a process runs that began at the given time, in the
// words of the system; "" is any time. Where the system does not say when a
// process began, that is not checked.
func alive(pid int, began string) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		if _, err := os.Stat("/proc/self/stat"); err == nil {
			return false
		}
		p, err := os.FindProcess(pid)
		if err != nil {
			return false
		}
		defer p.Release()
		err = p.Signal(syscall.Signal(0))
		return err == nil || errors.Is(err, fs.ErrPermission)
	}
	// The second field is a name in brackets that may hold anything; the start
	// is the 22nd, the 20th behind it.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	const start = 19
	return began == "" || len(fields) <= start || fields[start] == began
}

// FindCall implements reader.CallFinder. A call of an inline subagent is that
// one's if the end of the transcript tells which it was, else its session's.
func (r *Reader) FindCall(ctx context.Context, root, workspace, callID string) (session.ID, bool, error) {
	if callID == "" {
		return "", false, ctx.Err()
	}
	files, err := r.newest(ctx, root)
	if err != nil {
		return "", false, err
	}
	for _, path := range files {
		if err := ctx.Err(); err != nil {
			return "", false, err
		}
		made, by := makes(path, callID)
		if !made {
			continue
		}
		h, err := r.Identify(ctx, root, path)
		if ctx.Err() != nil {
			return "", false, ctx.Err()
		}
		if err == nil && h.Cwd == workspace {
			if by != "" && !isAgentFile(root, path) {
				h = (&run{Name: by}).header(h)
			}
			return h.ID, true, nil
		}
	}
	return "", false, nil
}

// newest lists the transcripts below a root that changed last.
func (r *Reader) newest(ctx context.Context, root string) ([]string, error) {
	type file struct {
		path    string
		changed int64
	}
	var files []file
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return nil // not readable, or gone since it was listed
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return nil
		}
		switch kind := r.Classify(filepath.ToSlash(rel), e.IsDir()); {
		case e.IsDir() && kind == reader.Ignore:
			return fs.SkipDir
		case kind != reader.File || !e.Type().IsRegular():
			return nil
		}
		if info, err := e.Info(); err == nil {
			files = append(files, file{path, info.ModTime().UnixNano()})
		}
		return nil
	})
	slices.SortFunc(files, func(a, b file) int {
		return cmp.Or(cmp.Compare(b.changed, a.changed), strings.Compare(a.path, b.path))
	})
	var paths []string
	for _, f := range files[:min(len(files), maxFiles)] {
		paths = append(paths, f.path)
	}
	return paths, err
}

// makes reports whether the end of a transcript holds a call with this id, and,
// of a sidechain, the name of its run; "" if that does not show.
func makes(path, callID string) (made bool, by string) {
	f, stamp, err := reader.OpenRegular(path)
	if err != nil {
		return false, ""
	}
	defer f.Close()
	from := max(0, stamp.Size-tailBytes)
	tail := make([]byte, stamp.Size-from)
	n, err := f.ReadAt(tail, from)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, ""
	}
	for text := range bytes.Lines(tail[:n]) {
		if !bytes.Contains(text, []byte(callID)) {
			continue
		}
		values, _ := jsonl.Values(text)
		for _, v := range values {
			r := parseRecord(objectOr(v))
			found := false
			r.each(r.blocks, func(b *block) { found = found || b.isCall() && jsonl.Is(b.id, callID) })
			switch {
			case !found || r.kind != assistantRecord:
			case r.side:
				return true, runIn(tail[:n], &r)
			default:
				return true, ""
			}
		}
	}
	return false, ""
}

// runIn follows a sidechain record to its root within a piece of a transcript
// and names its run; "" if the piece does not hold the root.
func runIn(text []byte, r *record) string {
	if jsonl.Filled(r.agent) {
		return r.nameOfRun()
	}
	type link struct {
		parent uint64
		name   string
	}
	links := map[uint64]link{}
	for line := range bytes.Lines(text) {
		values, _ := jsonl.Values(line)
		for _, v := range values {
			if o := parseRecord(objectOr(v)); o.linked() && o.side && o.id != 0 {
				l := link{parent: o.parent}
				if o.parent == 0 || jsonl.Filled(o.agent) {
					l = link{name: o.nameOfRun()}
				}
				links[o.id] = l
			}
		}
	}
	id := r.id
	for range len(links) {
		l, ok := links[id]
		if !ok || l.name != "" {
			return l.name
		}
		id = l.parent
	}
	return ""
}

// objectOr gives an empty record for a value that is no object.
func objectOr(v []byte) []byte {
	if jsonl.IsObject(v) {
		return v
	}
	return []byte("{}")
}
