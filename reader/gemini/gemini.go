// Package gemini reads the logs of the Gemini CLI: one file for a session below
// tmp/<project>/chats of the agent's home, line-delimited JSON, or one JSON
// document as older releases wrote it.
//
// It owns everything that is particular to that format: a message that is written
// again whenever its tool calls come back, whole conversations that are restated
// when the agent compacts, takes back or resumes, rewinds, stub files that a
// resume leaves behind, and where a project's folder is to be found, which no log
// states. It knows neither index nor query, takes no lock and writes nothing.
//
// A message is an event as soon as it is first written, and every call and result
// is one when it first appears; a text or a result that is different later is a
// further event in the place of the first. So numbers never move, and nothing is
// held back. A restated conversation gives events only for what is new in it, and
// one that selects the surface, where that is not what it was.
//
// What a record means depends on which messages came before, so a decoder knows
// all of them by their hashes. A position keeps them while they take little room;
// else the latest, and a filter that tells what was never seen; where that is not
// enough the log is read again up to the record: see feed.decode.
//
// Layers, from the bytes up: log.go yields records, record.go and body.go take
// them apart, header.go and project.go find out whose they are, decoder.go and
// history.go make events, state.go keeps what a decoder knows. Start at
// Reader.Read.
package gemini

import (
	"context"
	"path"
	"path/filepath"
	"strings"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

// version is the reader's mapping version; it rises whenever a record would
// become another event than before.
const version = 2

// Names of the layout.
const (
	projectsDir = "tmp"
	chatsDir    = "chats"
	namePrefix  = "session-"
	linesEnding = ".jsonl"
	wholeEnding = ".json"
)

// Reader reads the logs of the Gemini CLI, or the documents of an agent that began
// as a copy of it. It holds nothing between calls.
type Reader struct {
	agent   session.Agent
	folders func(root string) []string // that are known beside what the agent lists; nil: none
}

// New returns a reader of the Gemini CLI's logs.
func New() *Reader { return &Reader{agent: session.Gemini} }

// NewFor returns a reader of another agent's logs in this form, to be embedded in
// that agent's own: where its files lie and how it resumes is not known here.
// folders lists, for a root, more of the workspaces that may be a log's; nil: none.
func NewFor(agent session.Agent, folders func(root string) []string) *Reader {
	return &Reader{agent: agent, folders: folders}
}

var (
	_ reader.Reader  = (*Reader)(nil)
	_ reader.Resumer = (*Reader)(nil)
	_ reader.Pruner  = (*Reader)(nil)
	_ reader.Loner   = (*Reader)(nil)
)

// Agent implements reader.Reader.
func (r *Reader) Agent() session.Agent { return r.agent }

// Version implements reader.Reader.
func (*Reader) Version() int { return version }

// DefaultRoots implements reader.Reader: .gemini in the folder that
// GEMINI_CLI_HOME names in the place of the user's home.
func (*Reader) DefaultRoots(getenv func(string) string, home string) []string {
	if moved := getenv("GEMINI_CLI_HOME"); moved != "" {
		home = moved
	}
	return []string{filepath.Join(home, ".gemini")}
}

// Classify implements reader.Reader. Subagents' files lie in folders that bear
// the id of their session.
func (*Reader) Classify(rel string, dir bool) reader.Kind {
	if rel == "" || rel == "." {
		return kindIf(dir, reader.Folder)
	}
	parts := strings.Split(rel, "/")
	depth := len(parts)
	known := parts[0] == projectsDir && (depth < 3 || parts[2] == chatsDir)
	if dir {
		return kindIf(known && depth <= 4, reader.Folder)
	}
	name, ending := path.Base(rel), path.Ext(rel)
	session := strings.HasPrefix(name, namePrefix) && (ending == linesEnding || ending == wholeEnding)
	switch {
	case known && depth == 4 && session, known && depth == 5 && ending == linesEnding:
		return reader.File
	case session && (ending == linesEnding || depth > 1 && parts[depth-2] == chatsDir):
		return reader.Misplaced
	}
	return reader.Ignore
}

func kindIf(ok bool, kind reader.Kind) reader.Kind {
	if ok {
		return kind
	}
	return reader.Ignore
}

// whole reports whether a file is one document, which is written anew each time.
func whole(path string) bool { return strings.HasSuffix(path, wholeEnding) }

// Revise implements reader.Reader.
func (*Reader) Revise(ctx context.Context, src reader.Source, at reader.Position) (reader.Revision, reader.Stamp, error) {
	if err := ctx.Err(); err != nil {
		return reader.Replaced, reader.Stamp{}, err
	}
	revision, stamp, err := reader.ReviseAppended(src.Path, at)
	if revision == reader.Grown && whole(src.Path) {
		revision = reader.Replaced
	}
	return revision, stamp, err
}

// Alone implements reader.Loner: a session is read from one file.
func (*Reader) Alone(reader.Source, reader.Position) bool { return true }

// ResumeCommand implements reader.Resumer.
func (*Reader) ResumeCommand(h session.Header) string {
	if h.Origin == session.OriginSubagent || strings.HasPrefix(string(h.ID), "-") {
		return ""
	}
	return reader.ShellCommand(h.Cwd, "gemini", "--resume", string(h.ID))
}
