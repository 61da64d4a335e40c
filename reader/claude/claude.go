// Package claude reads the transcripts of Claude Code: line-delimited JSON below
// <config>/projects, one file for each session and one for each of its
// subagents.
//
// It owns everything that is particular to that format: where files lie, which
// records reach the model, the tree of records and the path through it that is
// live, compactions, results that were moved into files of their own, titles,
// and the registry of running sessions. The format is not documented and changes
// with almost every release, so records are known by their shape, never by the
// version they state. Nothing a log holds makes it unreadable: what is not
// understood is an event without text. The package knows neither index nor
// query, and it never writes to an agent's folder.
//
// A transcript is a tree: each record names its parent, and a record that hangs
// on an older one than the last is a rewind. The reader goes through the file
// once, keeps the live path (graph.go, whose comment states the rules) and
// expresses every jump of it as one select. A number, once given, never moves.
//
// What it remembers between reads. A record may refer to any earlier one, so a
// position would have to hold the identities of all of them. It does for
// ordinary sessions, as hashes. Of longer ones it holds the end of the path and
// a Bloom filter over every identity seen: that is enough to tell that a record
// only continues the path, which almost all do. For any other record (a rewind,
// a compaction, an identity that may have been seen, which is at times a false
// alarm) the beginning of the file is gone through again, without making texts,
// and the exact answer taken from there.
//
// Windows. What an event does to the surface depends on what came before it, so
// a reading offers marks to begin windows at (marks.go); without one a window
// goes through the file from its start. They make texts only inside the window.
//
// Layers, from the bytes up: record.go takes a line apart, pieces.go says which
// events a record gives, body.go extracts text, side.go finds moved results,
// runs.go tells inline subagents apart, graph.go keeps the path (compaction.go
// what compactions do to it), decoder.go
// puts events together, made.go finds their bytes again, state.go keeps
// positions, header.go identifies a file. Start at decoder, then Reader.Read.
package claude

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/session"
)

// version is the reader's mapping version; it rises whenever a record would
// become another event than before.
const version = 5

// Names of the layout.
const (
	logSuffix    = ".jsonl"
	metaSuffix   = ".meta.json"
	agentPrefix  = "agent-"
	subagentsDir = "subagents"
	resultsDir   = "tool-results"
	registryDir  = "sessions"
)

// Reader reads Claude Code's transcripts. It holds nothing between calls.
type Reader struct{}

// New returns a reader of Claude Code's transcripts.
func New() *Reader { return &Reader{} }

var (
	_ reader.Reader     = (*Reader)(nil)
	_ reader.Liveness   = (*Reader)(nil)
	_ reader.CallFinder = (*Reader)(nil)
	_ reader.Resumer    = (*Reader)(nil)
	_ reader.Titler     = (*Reader)(nil)
	_ reader.Divider    = (*Reader)(nil)
)

// Agent implements reader.Reader.
func (*Reader) Agent() session.Agent { return session.Claude }

// Version implements reader.Reader.
func (*Reader) Version() int { return version }

// DefaultRoots implements reader.Reader: the folder projects below
// CLAUDE_CONFIG_DIR, or below ~/.claude where that is unset.
func (*Reader) DefaultRoots(getenv func(string) string, home string) []string {
	base := getenv("CLAUDE_CONFIG_DIR")
	if base == "" {
		base = filepath.Join(home, ".claude")
	}
	return []string{filepath.Join(base, "projects")}
}

// Classify implements reader.Reader. Folders of projects are never decoded: two
// workspaces may share one.
func (*Reader) Classify(rel string, dir bool) reader.Kind {
	if rel == "" || rel == "." {
		return kindIf(dir, reader.Folder)
	}
	parts := strings.Split(rel, "/")
	name := parts[len(parts)-1]
	stem, isLog := strings.CutSuffix(name, logSuffix)
	switch {
	case len(parts) <= 2 && dir:
		return reader.Folder
	case len(parts) == 2:
		return kindIf(isLog && stem != "", reader.File)
	case len(parts) < 3 || parts[2] != subagentsDir:
		return reader.Ignore
	case dir:
		return reader.Folder
	}
	return kindIf(isLog && len(parts) > 3 && strings.HasPrefix(stem, agentPrefix), reader.File)
}

func kindIf(ok bool, kind reader.Kind) reader.Kind {
	if ok {
		return kind
	}
	return reader.Ignore
}

// Revise implements reader.Reader: the agent appends, and replaces a file whose
// lines it has to change.
func (*Reader) Revise(ctx context.Context, src reader.Source, at reader.Position) (reader.Revision, reader.Stamp, error) {
	if err := ctx.Err(); err != nil {
		return reader.Replaced, reader.Stamp{}, err
	}
	revision, stamp, err := reader.ReviseAppended(reader.FileOf(src.Path), at)
	if err != nil || revision != reader.Grown && revision != reader.Unchanged {
		return revision, stamp, err
	}
	if src.End > 0 && at.Offset >= src.End {
		return reader.Unchanged, stamp, nil // what the file gained is of others
	}
	if revision == reader.Grown {
		if _, err := parseState(at.State); err != nil {
			return reader.Replaced, stamp, nil
		}
	}
	if len(at.State) > 0 && isAgentFile(src.Root, src.Path) && reader.FileOf(src.Path) == src.Path {
		var st struct{ Meta reader.Stamp }
		if json.Unmarshal(at.State, &st) != nil || st.Meta != describedBy(src) {
			return reader.Replaced, stamp, nil // its header may be another one now
		}
	}
	return revision, stamp, nil
}

// ResumeCommand implements reader.Resumer. A subagent is resumed with the
// session that it belongs to.
func (*Reader) ResumeCommand(h session.Header) string {
	id, _, _ := strings.Cut(string(h.ID), "/")
	if id == "" || strings.HasPrefix(id, "-") {
		return "" // it would be taken for an option
	}
	return reader.ShellCommand(h.Cwd, "claude", "--resume", id)
}
