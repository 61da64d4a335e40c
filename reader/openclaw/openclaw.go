// Package openclaw reads the sessions of OpenClaw: rows of one SQLite database for
// each agent, and before that files in JSON lines, one for each session.
//
// It owns where both lie, what the rows around a transcript say of a session,
// compressed rows and cold archives; what an entry means is in reader/pitree, the
// way through a file in reader/linelog, how a database is opened in reader/rows.
// It never writes to an agent's folder.
//
// Rows of a transcript are only appended. When the agent rewrites one it says so
// by another generation, and the session is read anew. Layers, from the rows up:
// store.go opens and lists, payload.go gives the records of a session, hot or
// cold, read.go passes over them, file.go has the files of before. Start at
// Reader.Read.
package openclaw

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/linelog"
	"github.com/yorehq/yore/reader/pitree"
	"github.com/yorehq/yore/session"
)

// version is the reader's mapping version; it rises whenever a record would
// become another event than before.
const version = 2

// Names below the folder of the agent's state: agents/<agent>/agent/<database>,
// agents/<agent>/sessions/<id>.jsonl.
const (
	agentsDir   = "agents"
	databaseDir = "agent"
	database    = "openclaw-agent.sqlite"
	sessionsDir = "sessions"
	coldDir     = "cold"
	labels      = "sessions.json"
	logSuffix   = ".jsonl"
)

// prefix is that of types without an equal in the model.
const prefix = "openclaw"

// Reader reads OpenClaw's sessions. It holds nothing between calls.
type Reader struct{}

// New returns a reader of OpenClaw's sessions.
func New() *Reader { return &Reader{} }

var (
	_ reader.Reader  = (*Reader)(nil)
	_ reader.Shelver = (*Reader)(nil)
	_ reader.Titler  = (*Reader)(nil)
	_ reader.Loner   = (*Reader)(nil)
	_ reader.Resumer = (*Reader)(nil)
)

var format = &linelog.Format{New: decoder, Identify: identify, Block: pitree.Block}

func decoder(reader.Source) linelog.Decoder { return pitree.NewSteered(prefix) }

// Agent implements reader.Reader.
func (*Reader) Agent() session.Agent { return session.OpenClaw }

// Version implements reader.Reader.
func (*Reader) Version() int { return version }

// DefaultRoots implements reader.Reader: the folder that OPENCLAW_STATE_DIR names,
// or else ~/.openclaw (~/.openclaw-<profile> with OPENCLAW_PROFILE), and those of
// the product's earlier names, of which it takes the state over by moving or
// copying it: a session that lies in both is one. OPENCLAW_HOME takes the place of
// the home folder.
func (*Reader) DefaultRoots(getenv func(string) string, home string) []string {
	if other := atHome(getenv("OPENCLAW_HOME"), home); filepath.IsAbs(other) {
		home = other
	}
	chosen := atHome(getenv("OPENCLAW_STATE_DIR"), home)
	if filepath.IsAbs(chosen) {
		return []string{filepath.Clean(chosen)}
	}
	if profile := strings.TrimSpace(getenv("OPENCLAW_PROFILE")); profile != "" && !strings.EqualFold(profile, "default") && !strings.ContainsAny(profile, `/\`) {
		return []string{filepath.Join(home, ".openclaw-"+profile)}
	}
	return []string{filepath.Join(home, ".openclaw"), filepath.Join(home, ".clawdbot"), filepath.Join(home, ".moldbot"), filepath.Join(home, ".moltbot")}
}

// atHome puts a home folder in the place of its sign.
func atHome(dir, home string) string {
	dir = strings.TrimSpace(dir)
	if rest, ok := strings.CutPrefix(dir, "~"); ok && (rest == "" || rest[0] == '/') {
		return filepath.Join(home, rest)
	}
	return dir
}

// ResumeCommand implements reader.Resumer: one more turn, of which the agent wants
// to know the prompt at once. The command reads that from the terminal, to its end
// (Ctrl-D). The gateway finds the session by its id, in whichever chat it is.
func (*Reader) ResumeCommand(h session.Header) string {
	command := reader.ShellCommand("", "openclaw", "agent", "--session-id", string(h.ID), "--message")
	if command == "" || h.ID == "" || strings.HasPrefix(string(h.ID), "-") || h.Origin == session.OriginSubagent {
		return ""
	}
	return command + ` "$(cat)"`
}

// Classify implements reader.Reader. Archives of the files that were taken over
// into a database lie elsewhere, or end otherwise.
func (*Reader) Classify(rel string, dir bool) reader.Kind {
	parts := strings.Split(rel, "/")
	if rel == "" || rel == "." {
		parts = nil
	}
	pattern := []string{agentsDir, "", ""}
	for i, p := range parts[:min(len(parts), len(pattern))] {
		if p == "" || pattern[i] != "" && p != pattern[i] {
			return reader.Ignore
		}
	}
	known := len(parts) < 3 || slices.Contains([]string{databaseDir, sessionsDir}, parts[2])
	switch {
	case dir && len(parts) <= 3 && known:
		return reader.Folder
	case dir || len(parts) != 4:
		return reader.Ignore
	case parts[2] == databaseDir && parts[3] == database:
		return reader.Shelf
	case parts[2] == sessionsDir && strings.HasSuffix(parts[3], logSuffix) && parts[3] != logSuffix:
		return reader.File
	}
	return reader.Ignore
}

// onShelf reports whether a source is of a database.
func onShelf(path string) bool {
	_, part := reader.SplitPart(path)
	return part != ""
}

// Identify implements reader.Reader.
func (r *Reader) Identify(ctx context.Context, root, path string) (session.Header, error) {
	if onShelf(path) {
		return r.identifyRow(ctx, root, path)
	}
	if err := ctx.Err(); err != nil {
		return session.Header{}, err
	}
	f, stamp, err := reader.OpenRegular(path)
	if err != nil {
		return session.Header{}, err
	}
	defer f.Close()
	return identify(ctx, f, stamp.Size, root, path)
}

// Revise implements reader.Reader.
func (r *Reader) Revise(ctx context.Context, src reader.Source, at reader.Position) (reader.Revision, reader.Stamp, error) {
	if onShelf(src.Path) {
		return r.reviseRows(ctx, src, at)
	}
	return format.Revise(ctx, src, at)
}

// Read implements reader.Reader. Nothing a log holds makes it unsound.
func (r *Reader) Read(ctx context.Context, src reader.Source, from reader.Position, emit func(session.Event) error) (reader.Tail, error) {
	if onShelf(src.Path) {
		return r.readRows(ctx, src, from, emit)
	}
	return format.Read(ctx, src, from, emit)
}

// Window implements reader.Reader.
func (r *Reader) Window(ctx context.Context, src reader.Source, at session.Checkpoint, from, to int64, natives session.Range, emit func(session.Raw) error) (session.Header, error) {
	if onShelf(src.Path) {
		return r.rowWindow(ctx, src, at, from, to, natives, emit)
	}
	return format.Window(ctx, src, at, from, to, natives, emit)
}

// Alone implements reader.Loner. What a database says of a session is in its stamp.
func (*Reader) Alone(reader.Source, reader.Position) bool { return true }
