package kimi

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/reader/linelog"
	"github.com/yorehq/yore/session"
)

// The client before Kimi Code (Kimi CLI, in Python) kept a folder for each session,
// below one named by the hash of the workspace's path:
//
//	sessions/<hash>/<id>/context.jsonl       what the model sees, a message a line
//	sessions/<hash>/<id>/context_<n>.jsonl   the same before a compaction, a revert or a clear
//	sessions/<hash>/<id>/context_sub*.jsonl  a subagent's, later subagents/<agent>/context.jsonl
//	sessions/<hash>/<id>/wire.jsonl          what was shown; it has the times
//	sessions/<hash>/<id>.jsonl               the earliest releases' context
//	kimi.json                                the workspaces
//
// A context is only appended to; when it becomes another one, what it was is put
// aside as context_<n>.jsonl and a new file begun. Each is a session here, the
// latest one under the session's own id, and each the child of the one before.

// contextName is how contexts are called: the number of one that was put aside, or
// that of a subagent.
var contextName = regexp.MustCompile(`^context(_sub)?(?:_([0-9]{1,9}))?\.jsonl$`)

const (
	contextFile  = "context.jsonl"
	subagentsDir = "subagents"
	shareName    = "kimi.json"
)

// shared is a context by its path.
type shared struct {
	folder string // of the workspace
	dir    string // of the session; "": it has none
	id     session.ID
	sub    string // of a subagent: its name
	number int    // of a context that was put aside; 0: it is the latest
}

// sharedAt takes a path below a root apart; ok is false if it is none of the
// earlier client's.
func sharedAt(root, path string) (s shared, ok bool) {
	rel, err := filepath.Rel(root, path)
	if err != nil {
		return s, false
	}
	parts := strings.Split(filepath.ToSlash(rel), "/")
	if len(parts) < 3 || parts[0] != sessionsDir {
		return s, false
	}
	s.folder = parts[1]
	if len(parts) == 3 {
		id, ok := strings.CutSuffix(parts[2], ".jsonl")
		s.id = session.ID(id)
		return s, ok && id != ""
	}
	s.id, s.dir = session.ID(parts[2]), filepath.Join(root, parts[0], parts[1], parts[2])
	switch m := contextName.FindStringSubmatch(parts[len(parts)-1]); {
	case m == nil:
		return s, false
	case len(parts) == 4 && m[1] != "":
		s.sub = "sub"
		if m[2] != "" {
			s.sub += "-" + m[2]
		}
	case len(parts) == 4:
		s.number, _ = strconv.Atoi(m[2]) // none is 0
	case len(parts) == 6 && parts[3] == subagentsDir && parts[5] == contextFile:
		s.sub = agentPrefix + strings.TrimPrefix(parts[4], agentPrefix)
	default:
		return s, false
	}
	return s, true
}

// own is the id of the context's session here.
func (s shared) own() session.ID {
	switch {
	case s.sub != "":
		return s.id + "/" + session.ID(s.sub)
	case s.number > 0:
		return s.id + "/context-" + session.ID(strconv.Itoa(s.number))
	}
	return s.id
}

// before is the context that this one was before; ok is false if there is none.
func (s shared) before() (path string, number int, ok bool) {
	if s.dir == "" || s.sub != "" {
		return "", 0, false
	}
	list, err := os.ReadDir(s.dir)
	if err != nil {
		return "", 0, false
	}
	for _, e := range list {
		m := contextName.FindStringSubmatch(e.Name())
		if m == nil || m[1] != "" || m[2] == "" {
			continue
		}
		if n, _ := strconv.Atoi(m[2]); n > number && (s.number == 0 || n < s.number) {
			number, path = n, filepath.Join(s.dir, e.Name())
		}
	}
	return path, number, number > 0
}

// identifyShared reads the header of a context. One that holds no message is no
// session yet.
func identifyShared(ctx context.Context, f io.ReaderAt, size int64, root, path string, s shared) (session.Header, error) {
	h := session.Header{Agent: session.Kimi, ID: s.own()}
	said := false
	_, err := linelog.Each(ctx, f, 0, size, func(r *linelog.Record) (bool, error) {
		role := jsonl.Text(r.X.Field(r.Value, "role"))
		said = role != "" && role[0] != '_'
		return !said, nil
	})
	switch {
	case err != nil:
		return h, err
	case !said:
		return h, reader.ErrPending
	}
	h.Cwd = sharedWorkspace(root, s.folder)
	if h.CreatedAt, err = sharedBirth(ctx, s, path); err != nil {
		return h, err
	}
	if s.sub != "" {
		h.ParentSession, h.Origin, h.DelegationDepth = s.id, session.OriginSubagent, 1
		return h, nil
	}
	if former, number, ok := s.before(); ok {
		h.ParentSession = shared{id: s.id, number: number}.own()
		h.SeedLength, err = copied(ctx, f, size, former, reader.Source{Agent: session.Kimi, Root: root, Path: path})
	}
	return h, err
}

// sharedWorkspace finds the workspace whose path has the hash that a folder is
// named by; a folder of another machine's files has a word before it.
func sharedWorkspace(root, folder string) string {
	list := jsonl.Field(objectIn(filepath.Join(root, shareName)), "work_dirs")
	if !jsonl.IsArray(list) {
		return ""
	}
	c := jsonl.Enter(list)
	for v, ok := c.Element(); ok; v, ok = c.Element() {
		if !jsonl.IsObject(v) {
			continue
		}
		dir := jsonl.Text(jsonl.Field(v, "path"))
		if sum := md5.Sum([]byte(dir)); dir != "" && folder == hex.EncodeToString(sum[:]) {
			return dir
		}
	}
	return ""
}

// wireBytes is how far into what was shown a time is looked for.
const wireBytes = 1 << 20

// sharedBirth is the first time in what was shown of a session, or else when its
// context last changed, for nothing else tells.
func sharedBirth(ctx context.Context, s shared, path string) (made int64, err error) {
	if f, stamp, err := reader.OpenRegular(filepath.Join(s.dir, logName)); err == nil && s.dir != "" {
		defer f.Close()
		_, err = linelog.Each(ctx, f, 0, min(stamp.Size, wireBytes), func(r *linelog.Record) (bool, error) {
			seconds, err := strconv.ParseFloat(string(r.X.Field(r.Value, "timestamp")), 64)
			if err == nil && seconds > 0 && seconds < 1e11 {
				made = int64(seconds * 1000)
			}
			return made == 0, nil
		})
		if err != nil || made > 0 {
			return made, err
		}
	}
	stamp, err := reader.StatRegular(path)
	return max(0, stamp.ModTime/1e6), err
}

// copied counts the events of a context that stood in the one before: those of
// the lines that both begin with.
func copied(ctx context.Context, f io.ReaderAt, size int64, former string, src reader.Source) (int64, error) {
	g, stamp, err := reader.OpenRegular(former)
	if err != nil {
		return 0, nil // it has gone meanwhile
	}
	defer g.Close()
	var a, b [64 << 10]byte
	at, line := int64(0), int64(0) // how far both are equal, and where the last equal line ends
	for at < size && at < stamp.Size {
		n, _ := f.ReadAt(a[:], at) // what cannot be read is not equal
		m, _ := g.ReadAt(b[:], at)
		same := 0
		for same < min(n, m) && a[same] == b[same] {
			same++
		}
		if i := bytes.LastIndexByte(a[:same], '\n'); i >= 0 {
			line = at + int64(i) + 1
		}
		if at += int64(same); same < len(a) {
			break
		}
	}
	if line == 0 {
		return 0, ctx.Err()
	}
	return (&linelog.Format{New: decoderOf}).Count(ctx, f, src, line)
}
