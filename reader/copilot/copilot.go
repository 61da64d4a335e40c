// Package copilot reads the sessions of GitHub Copilot CLI: one folder for each
// session below session-state in the agent's home, with its events in JSON lines;
// older releases wrote a file without a folder.
//
// It owns where files lie, what events mean (format version 1), the subagents
// that are told inside of their session's file, titles, and the locks of running
// sessions. The way through a file is in reader/linelog. It never writes to an
// agent's folder.
//
// The agent appends, and a rewind shortens the file without a trace: what was
// taken back is gone from the log, and the session is read anew.
package copilot

import (
	"path/filepath"
	"strings"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/linelog"
	"github.com/yorehq/yore/session"
)

// version is the reader's mapping version; it rises whenever a record would
// become another event than before.
const version = 3

// Names of the layout.
const (
	stateDir   = "session-state"
	historyDir = "history-session-state" // of early releases
	logName    = "events.jsonl"
	notesName  = "workspace.yaml"
	logSuffix  = ".jsonl"
)

// Reader reads Copilot CLI's sessions. It holds nothing between calls.
type Reader struct{ linelog.Log }

// New returns a reader of Copilot CLI's sessions.
func New() *Reader { return &Reader{linelog.Of(format)} }

var (
	_ reader.Reader   = (*Reader)(nil)
	_ reader.Liveness = (*Reader)(nil)
	_ reader.Resumer  = (*Reader)(nil)
	_ reader.Titler   = (*Reader)(nil)
	_ reader.Divider  = (*Reader)(nil)
	_ reader.Loner    = (*Reader)(nil)
	_ reader.Ranker   = (*Reader)(nil)
)

var format = &linelog.Format{
	New:      func(src reader.Source) linelog.Decoder { return newDecoder(partOf(src.Path)) },
	Identify: identify,
	Start:    func(src reader.Source) int64 { return partOf(src.Path).Start },
	Block:    block,
}

// Agent implements reader.Reader.
func (*Reader) Agent() session.Agent { return session.Copilot }

// Version implements reader.Reader.
func (*Reader) Version() int { return version }

// DefaultRoots implements reader.Reader: COPILOT_HOME, or ~/.copilot where that is
// unset.
func (*Reader) DefaultRoots(getenv func(string) string, home string) []string {
	base := getenv("COPILOT_HOME")
	if base == "" {
		base = filepath.Join(home, ".copilot")
	}
	return []string{base}
}

// Classify implements reader.Reader.
func (*Reader) Classify(rel string, dir bool) reader.Kind {
	parts := strings.Split(rel, "/")
	name := parts[len(parts)-1]
	hidden := strings.HasPrefix(name, ".")
	switch known := parts[0] == stateDir || parts[0] == historyDir; {
	case rel == "" || rel == ".":
		return kindIf(dir, reader.Folder)
	case !known || hidden || len(parts) > 3:
		return reader.Ignore
	case len(parts) == 1:
		return kindIf(dir, reader.Folder)
	case len(parts) == 2 && dir:
		return kindIf(parts[0] == stateDir, reader.Leaf)
	case len(parts) == 2:
		return kindIf(strings.HasSuffix(name, logSuffix) || parts[0] == historyDir && isDocument(name), reader.File)
	}
	return kindIf(!dir && name == logName && parts[0] == stateDir, reader.File)
}

func kindIf(ok bool, kind reader.Kind) reader.Kind {
	if ok {
		return kind
	}
	return reader.Ignore
}

// ResumeCommand implements reader.Resumer. A subagent is resumed with the session
// that it belongs to. One without a workspace is of the earliest releases, whose
// documents the agent of today does not look for.
func (*Reader) ResumeCommand(h session.Header) string {
	id, _, _ := strings.Cut(string(h.ID), "/")
	if id == "" || h.Cwd == "" {
		return ""
	}
	return reader.ShellCommand(h.Cwd, "copilot", "--resume="+id)
}
