// Package demo owns the guided tour: sample sessions that are part of the
// program, and the calls that show what the five tools answer.
//
// It works on a private copy of the samples in the system's folder for
// temporary files and removes it at the end; it reads no session of the user
// and no configuration. It knows nothing of terminals. Start at Run.
package demo

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/yorehq/yore"
	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/session"
	"github.com/yorehq/yore/toolset"
)

// samples are logs of the DSH format: two sessions that a real agent wrote, and
// some made ones that show compaction, pruning, forks and several scripts.
//
//go:embed all:samples
var samples embed.FS

// The workspaces of the samples.
const (
	workspace = "/srv/code/alpha"
	foreign   = "/home/dev/proj"
)

// stop is one call of the tour.
type stop struct {
	why    string
	caller string // its workspace
	tool   string
	args   string
}

var tour = []stop{
	{
		"An agent in " + workspace + " remembers that a build once failed. Which session was it?",
		workspace, "session_search", `{"query":"linker cannot find"}`,
	},
	{
		"Text without spaces between its words is found by any part of it.",
		workspace, "session_search", `{"query":"连接"}`,
	},
	{
		"More of one session: what was said of the ledger? Two compactions took most of it out of the model's context.",
		workspace, "session_event_search", `{"session_id":"alpha-compact","query":"quota ledger"}`,
	},
	{
		"What became of event 3 of that session?",
		workspace, "session_event_trace", `{"session_id":"alpha-compact","seq":3}`,
	},
	{
		"The event itself, exactly as the agent logged it, with its neighbours.",
		workspace, "session_event_read", `{"session_id":"alpha-compact","seq":3,"before":1,"after":1}`,
	},
	{
		"Where does a session come from, and what came from it?",
		workspace, "session_trace", `{"session_id":"alpha-fork-child"}`,
	},
	{
		"An agent in " + foreign + " sees the sessions of its own workspace …",
		foreign, "session_search", `{"query":"greeting"}`,
	},
	{
		"… and no other: a session that it may not see and one that is not there read the same.",
		foreign, "session_event_read", `{"session_id":"alpha-compact","seq":3}`,
	},
}

const farewell = `Where to go next
  yore list --all                  your own sessions, if an agent of this machine keeps some
  yore search QUERY...             search those of the directory you are in
  yore mcp --help                  give the five tools to an agent
  docs/architecture.md             how it is made
`

// Run takes the tour. emit gets the text piece by piece; its error ends the
// tour. Nothing stays behind, whatever happens.
func Run(ctx context.Context, logger *slog.Logger, emit func(text string) error) (err error) {
	dir, err := os.MkdirTemp("", "yore-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	logs := filepath.Join(dir, "sessions")
	if err := unpack(logs); err != nil {
		return err
	}
	h, err := yore.Open(ctx, yore.Options{
		Sources:    []yore.Source{{Agent: session.DSH, Root: logs}},
		IndexDir:   filepath.Join(dir, "index"),
		ForgetFile: filepath.Join(dir, "forgotten"), // the tour has nothing to do with what its reader forgets
		Logger:     logger,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	for i, s := range tour {
		out := h.Tools().Call(ctx, toolset.Call{Caller: authz.Caller{Workspace: s.caller}, Tool: s.tool, Args: json.RawMessage(s.args)})
		if err := ctx.Err(); err != nil {
			return err
		}
		answer := out.Text
		if out.Err != nil {
			answer = "refused: " + out.Err.Error()
		}
		text := fmt.Sprintf("%d. %s\n   %s %s\n\n%s\n\n", i+1, s.why, s.tool, s.args, indent(answer))
		if err := emit(text); err != nil {
			return err
		}
	}
	return emit(farewell)
}

// indent sets an answer off from the tour's own words.
func indent(text string) string {
	return "   │ " + strings.ReplaceAll(text, "\n", "\n   │ ")
}

// unpack writes the samples to a folder.
func unpack(dir string) error {
	return fs.WalkDir(samples, "samples", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join(dir, filepath.FromSlash(strings.TrimPrefix(path, "samples")))
		if d.IsDir() {
			return os.MkdirAll(to, 0o700)
		}
		text, err := samples.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(to, text, 0o600)
	})
}
