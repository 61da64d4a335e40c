// Package opencode reads the SQLite database of OpenCode, those of its forks that
// keep its tables under another name, and the trees of files from before it.
//
// It owns everything that is particular to that store: where the database is,
// what a session's rows mean and in which order they follow, what the model sees
// of them after compactions, prunings and reverts, and which rows are not
// finished yet. It knows neither index nor query, and it writes nothing; how a
// database is opened is the business of package rows.
//
// Rows change, so there is no place from which to read on. A session is derived
// from its beginning every time, by one pass over its messages in the order that
// the agent itself reads them, and what was emitted before is left out; a digest
// over the emitted rows tells whether they are still what they were:
//
//	session row        session/title, always event 0
//	user message       turn/start, user/message…
//	assistant message  step/start, assistant/message, tool/call, tool/result, step/end, turn/end
//	what is unfinished nothing, and nothing behind it
//
// A tree is read the same way: a file is to it what a row is to the database.
//
// Layers, from the rows and files up: store.go lists the database, file.go finds
// sessions in trees; kept.go fetches messages from either, with tree.go for files
// and oldest.go for the first form of one; walk.go passes over a session, events.go
// says what a part gives, surface.go follows what the model sees. Start at
// Reader.Read.
package opencode

import (
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/rows"
	"github.com/yorehq/yore/session"
)

// version is the reader's mapping version; it rises whenever a row would become
// another event than before.
const version = 2

// Reader reads the sessions of OpenCode or of one of its forks. It holds nothing
// between calls.
type Reader struct {
	agent session.Agent
	name  string // of the data folder, of the database and of the command
	env   string // names another database
	now   func() time.Time
}

// New returns a reader of OpenCode's sessions.
func New() *Reader { return &Reader{session.OpenCode, "opencode", "OPENCODE_DB", time.Now} }

// NewKilo returns a reader of the sessions of the Kilo CLI, a fork.
func NewKilo() *Reader { return &Reader{session.Kilo, "kilo", "KILO_DB", time.Now} }

var (
	_ reader.Reader  = (*Reader)(nil)
	_ reader.Shelver = (*Reader)(nil)
	_ reader.Resumer = (*Reader)(nil)
)

// Agent implements reader.Reader.
func (r *Reader) Agent() session.Agent { return r.agent }

// Version implements reader.Reader.
func (*Reader) Version() int { return version }

// DefaultRoots implements reader.Reader: the agent's folder below XDG_DATA_HOME,
// or below ~/.local/share where that is unset, and the database that OPENCODE_DB
// names, where it lies elsewhere. A database in memory is none.
func (r *Reader) DefaultRoots(getenv func(string) string, home string) []string {
	data := getenv("XDG_DATA_HOME")
	if strings.TrimSpace(data) == "" {
		data = filepath.Join(home, ".local", "share")
	}
	folder := filepath.Join(data, r.name)
	roots := []string{folder}
	db := strings.TrimSpace(getenv(r.env))
	switch {
	case db == "" || db == ":memory:":
		return roots
	case !filepath.IsAbs(db):
		db = filepath.Join(folder, db)
	}
	if filepath.Dir(db) != folder || r.Classify(filepath.Base(db), false) != reader.Shelf {
		roots = append(roots, filepath.Clean(db))
	}
	return roots
}

// Classify implements reader.Reader. A channel of the agent other than the usual
// ones has a database of its own.
func (r *Reader) Classify(rel string, dir bool) reader.Kind {
	switch {
	case rel == "" || rel == ".":
		if dir {
			return reader.Folder
		}
		return reader.Shelf
	}
	if parts := strings.Split(rel, "/"); parts[0] == "storage" || parts[0] == "project" {
		return classifyTree(parts, dir)
	}
	if dir || path.Dir(rel) != "." || rows.Beside(rel) {
		return reader.Ignore
	}
	name, ok := strings.CutSuffix(rel, ".db")
	if ok && (name == r.name || strings.HasPrefix(name, r.name+"-")) {
		return reader.Shelf
	}
	return reader.Ignore
}

// ResumeCommand implements reader.Resumer.
func (r *Reader) ResumeCommand(h session.Header) string {
	if h.Origin == session.OriginSubagent || !strings.HasPrefix(string(h.ID), "ses_") {
		return ""
	}
	return reader.ShellCommand(h.Cwd, r.name, "--session", string(h.ID))
}
