// Package dsh reads the session logs of DSH (DeepSeek Harness): line-delimited
// JSON, plain or in a row of zstd frames, below <home>/sessions.
//
// It owns everything that is particular to that format: the folder names, the
// header, packed stream rows, older shapes, torn tails, what makes a log
// unreadable, and the records that close an interrupted turn. It knows neither
// index nor query, and it never writes to a log.
//
// Layers, from the bytes up: package jsonl yields lines of bounded size and walks
// their JSON, frames.go finds frame borders, source.go puts both together,
// record.go and packed.go take a line apart, shape.go and legacy.go check and
// upgrade it, body.go extracts text, closers.go follows open turns. Start at
// Decoder, which turns one line into an event, then Reader.Read.
package dsh

import (
	"context"
	"encoding/json"
	"io"
	"path/filepath"
	"strings"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/rows"
	"github.com/yorehq/yore/session"
)

// version is the reader's mapping version; it rises whenever a record would
// become another event than before.
const version = 3

// Names of the layout.
const (
	rawName    = "session.jsonl"
	zstdName   = "session.jsonl.zstd"
	stagingDir = ".dsh-mkdir-"
)

// Reader reads DSH logs. It holds nothing between calls.
type Reader struct{}

// New returns a reader of DSH logs.
func New() *Reader { return &Reader{} }

var _ reader.Reader = (*Reader)(nil)

// Agent implements reader.Reader.
func (*Reader) Agent() session.Agent { return session.DSH }

// Version implements reader.Reader.
func (*Reader) Version() int { return version }

// DefaultRoots implements reader.Reader: the folder sessions below DSH_HOME, or
// below ~/.dsh where that is unset or blank, and where the layers of its
// composition put sessions instead.
func (*Reader) DefaultRoots(getenv func(string) string, home string) []string {
	base := getenv("DSH_HOME")
	if strings.TrimSpace(base) == "" {
		base = filepath.Join(home, ".dsh")
	}
	roots := []string{filepath.Join(base, "sessions")}
	for _, place := range patched(base) {
		if place != roots[0] {
			roots = append(roots, place)
		}
	}
	return roots
}

// Classify implements reader.Reader.
func (*Reader) Classify(rel string, dir bool) reader.Kind {
	if rel == "" || rel == "." {
		if !dir {
			return reader.Shelf
		}
		return reader.Folder
	}
	parts := strings.Split(rel, "/")
	for _, p := range parts {
		if strings.HasPrefix(p, stagingDir) {
			return reader.Ignore
		}
	}
	name := parts[len(parts)-1]
	switch {
	case len(parts) == 1 && dir:
		return reader.Folder
	case len(parts) == 1 && !rows.Beside(name) && !strings.HasSuffix(name, ".jsonl"):
		return reader.Shelf // databases have any name; their first bytes tell
	case len(parts) == 2 && dir:
		return reader.Leaf
	case len(parts) == 2 && strings.HasSuffix(name, ".jsonl"):
		return reader.Misplaced
	case len(parts) == 3 && !dir && (name == rawName || name == zstdName):
		return reader.File
	}
	return reader.Ignore
}

// Revise implements reader.Reader. A log whose last frame was read in part is
// replaced when that part has changed.
func (*Reader) Revise(ctx context.Context, src reader.Source, at reader.Position) (reader.Revision, reader.Stamp, error) {
	if err := ctx.Err(); err != nil {
		return reader.Replaced, reader.Stamp{}, err
	}
	if onShelf(src) {
		return reviseRow(ctx, src, at)
	}
	revision, stamp, err := reader.ReviseAppended(src.Path, at)
	if err != nil || revision != reader.Grown {
		return revision, stamp, err
	}
	st, err := parseState(at.State)
	if err != nil {
		return reader.Replaced, stamp, nil
	}
	if st.Inner == 0 {
		return reader.Grown, stamp, nil
	}
	f, stamp, err := reader.OpenRegular(src.Path)
	if err != nil {
		return reader.Replaced, stamp, err
	}
	defer f.Close()
	same, err := st.sameFrame(f, at.Offset, stamp.Size)
	switch {
	case err != nil:
		return reader.Replaced, stamp, err
	case !same:
		return reader.Replaced, stamp, nil
	}
	return reader.Grown, stamp, nil
}

func compressed(path string) bool { return filepath.Base(path) == zstdName }

// state is what a position keeps beside seq and offset.
type state struct {
	Line int64 `json:"line"` // lines read, the header among them
	Time int64 `json:"time"` // of the latest event

	// Inner is set when a frame was read in part: it is torn, or a line in it is.
	// Inner bytes of its text were read; Seen bytes of the frame were there then,
	// with this Check.
	Inner int64  `json:"inner,omitempty"`
	Seen  int64  `json:"seen,omitempty"`
	Check uint64 `json:"check,omitempty"`

	Tear  *tear           `json:"tear,omitempty"`  // at which the log ended
	Table *tableState     `json:"table,omitempty"` // of a log in a database
	Open  open            `json:"open"`
	Root  map[int64]int64 `json:"root,omitempty"` // rewritten results of the older shape: seq to the seq whose id it has
}

func parseState(raw json.RawMessage) (state, error) {
	var st state
	if len(raw) == 0 {
		return st, nil
	}
	err := json.Unmarshal(raw, &st)
	return st, err
}

// sameFrame reports whether what was seen of the partly read frame is unchanged.
func (st *state) sameFrame(f io.ReaderAt, offset, size int64) (bool, error) {
	if size < offset+st.Seen {
		return false, nil
	}
	check, err := reader.CheckBefore(io.NewSectionReader(f, offset, st.Seen), st.Seen)
	return check == st.Check, err
}
