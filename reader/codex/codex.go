// Package codex reads the logs of the OpenAI Codex CLI: line-delimited JSON,
// plain or as one zstd stream, below the folders sessions and archived_sessions
// of the agent's home.
//
// It owns everything that is particular to that format: file names, the several
// generations of layout, threads that lie in more than one file (segments after
// a revert, bases of forks), what is sent to the model and what is only shown,
// rollbacks and compactions. It knows neither index nor query, takes no lock and
// writes nothing.
//
// One file names a thread; the thread is read as a whole: first the lines that it
// takes over from other threads, then its own segments in the order they were
// made, each of which begins by selecting the surface it goes on from. Every
// file of a thread is identified with the same header and gives the same events.
//
// What a line means depends on little: four flags, which a place carries with
// it, and, for rollbacks, compactions and segments, the surface so far. A
// position keeps the surface while that is small. Else, and for a window, the
// thread is read again up to the line that needs it, which is rare: see
// decoder.recall. A log that merely grows costs its new bytes.
//
// Layers, from the bytes up: text.go yields JSON values out of a file, probe.go
// and thread.go find a thread's header and files, record.go and body.go take a
// value apart, decoder.go makes events of it, surface.go and rollback.go follow what
// the model sees. Start at Reader.Read.
package codex

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

// version is the reader's mapping version; it rises whenever a record would
// become another event than before.
const version = 4

// Names of the layout.
const (
	liveDir     = "sessions"
	archivedDir = "archived_sessions"
	namePrefix  = "rollout-"
)

// Reader reads Codex logs. It holds nothing between calls.
type Reader struct{}

// New returns a reader of Codex logs.
func New() *Reader { return &Reader{} }

var (
	_ reader.Reader     = (*Reader)(nil)
	_ reader.Liveness   = (*Reader)(nil)
	_ reader.CallFinder = (*Reader)(nil)
	_ reader.Resumer    = (*Reader)(nil)
	_ reader.Titler     = (*Reader)(nil)
)

// Agent implements reader.Reader.
func (*Reader) Agent() session.Agent { return session.Codex }

// Version implements reader.Reader.
func (*Reader) Version() int { return version }

// DefaultRoots implements reader.Reader: CODEX_HOME, or ~/.codex where that is
// unset or blank.
func (*Reader) DefaultRoots(getenv func(string) string, home string) []string {
	base := getenv("CODEX_HOME")
	if strings.TrimSpace(base) == "" {
		base = filepath.Join(home, ".codex")
	}
	return []string{base}
}

// Classify implements reader.Reader.
func (*Reader) Classify(rel string, dir bool) reader.Kind {
	if rel == "" || rel == "." {
		return kindIf(dir, reader.Folder)
	}
	parts := strings.Split(rel, "/")
	folders := parts
	if !dir {
		folders = parts[:len(parts)-1]
	}
	known := len(folders) > 0 && (folders[0] == archivedDir && len(folders) == 1 || folders[0] == liveDir && datePath(folders[1:]))
	_, ours := segmentOf(path.Base(rel))
	switch {
	case dir:
		return kindIf(known, reader.Folder)
	case !ours:
		return reader.Ignore
	case known:
		return reader.File
	}
	return reader.Misplaced
}

// datePath reports whether folders are the beginning of YYYY/MM/DD.
func datePath(folders []string) bool {
	digits := [...]int{4, 2, 2}
	for i, f := range folders {
		if i >= len(digits) || len(f) != digits[i] || strings.Trim(f, "0123456789") != "" {
			return false
		}
	}
	return true
}

func kindIf(ok bool, kind reader.Kind) reader.Kind {
	if ok {
		return kind
	}
	return reader.Ignore
}

// Revise implements reader.Reader. A thread is replaced when a file that it
// takes lines from has changed in them, or one that was missing has appeared.
func (*Reader) Revise(ctx context.Context, src reader.Source, at reader.Position) (reader.Revision, reader.Stamp, error) {
	if err := ctx.Err(); err != nil {
		return reader.Replaced, reader.Stamp{}, err
	}
	revision, stamp, err := reader.ReviseAppended(src.Path, at)
	if err != nil || revision == reader.Gone || revision == reader.Replaced || len(at.State) == 0 {
		return revision, stamp, err
	}
	st, err := parseState(at.State)
	switch {
	case err != nil:
		return reader.Replaced, stamp, nil
	case revision == reader.Grown && formOf(src.Path) == document:
		return reader.Replaced, stamp, nil // such a file is written anew
	case revision == reader.Grown && st.Part > st.Primary:
		return reader.Replaced, stamp, nil // its new lines stand before others that were read
	}
	for i := range st.Parts {
		if p := &st.Parts[i]; i != st.Primary && !p.unchanged(src.Root) {
			return reader.Replaced, stamp, nil
		}
	}
	for _, seg := range st.Missing {
		if near(src.Root, filepath.Dir(src.Path), seg) != "" {
			return reader.Replaced, stamp, nil
		}
	}
	return revision, stamp, nil
}

// unchanged reports whether what was read of a file beside the primary one is
// still the same. Of a file that was not needed to its end, growth is no change.
func (p *part) unchanged(root string) bool {
	path := filepath.Join(root, filepath.FromSlash(p.Path))
	now, err := reader.StatRegular(path)
	switch {
	case err != nil:
		return false
	case now == p.Stamp || p.Extent == 0:
		return true
	case now.Size < p.Extent || p.Open && now.Size != p.Stamp.Size:
		return false
	}
	f, _, err := reader.OpenRegular(path)
	if err != nil {
		return false
	}
	defer f.Close()
	check, err := reader.CheckBefore(f, p.Extent)
	return err == nil && check == p.Check
}

// ResumeCommand implements reader.Resumer.
func (*Reader) ResumeCommand(h session.Header) string {
	if h.Origin == session.OriginSubagent || !plainID(string(h.ID)) {
		return ""
	}
	return reader.ShellCommand(h.Cwd, "codex", "resume", string(h.ID))
}

// plainID reports whether an id can stand in a file name and in a command.
func plainID(id string) bool {
	if id == "" || len(id) > 128 || id[0] == '-' {
		return false
	}
	for i := range len(id) {
		switch c := id[i]; {
		case c >= '0' && c <= '9', c|0x20 >= 'a' && c|0x20 <= 'z', c == '-':
		default:
			return false
		}
	}
	return true
}

func gone(err error) bool { return errors.Is(err, fs.ErrNotExist) }
