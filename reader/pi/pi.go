// Package pi reads the sessions of Pi: files in JSON lines, one for each
// session, in one folder for each workspace below the agent's home, or all in one
// folder of the user's choice.
//
// It owns where files lie, what a header says (version 1 to 3), and forks; what
// an entry means is in reader/pitree, the way through a file in reader/linelog.
// It never writes to an agent's folder.
//
// The agent appends to a file, one line for each entry, and rewrites a file of an
// older version as a whole when it opens it, which shows as another head.
package pi

import (
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/yorehq/yore/reader"
	"github.com/yorehq/yore/reader/jsonl"
	"github.com/yorehq/yore/reader/linelog"
	"github.com/yorehq/yore/reader/pitree"
	"github.com/yorehq/yore/session"
)

// version is the reader's mapping version; it rises whenever a record would
// become another event than before.
const version = 2

const logSuffix = ".jsonl"

// Reader reads Pi's sessions. It holds nothing between calls.
type Reader struct{ linelog.Log }

// New returns a reader of Pi's sessions.
func New() *Reader { return &Reader{linelog.Of(format)} }

var (
	_ reader.Reader  = (*Reader)(nil)
	_ reader.Resumer = (*Reader)(nil)
	_ reader.Placer  = (*Reader)(nil)
	_ reader.Loner   = (*Reader)(nil)
)

var format = &linelog.Format{New: decoder, Identify: identify, Block: pitree.Block}

func decoder(reader.Source) linelog.Decoder { return pitree.New("pi") }

// Agent implements reader.Reader.
func (*Reader) Agent() session.Agent { return session.Pi }

// Version implements reader.Reader.
func (*Reader) Version() int { return version }

// DefaultRoots implements reader.Reader: the folder sessions below
// PI_CODING_AGENT_DIR, which is ~/.pi/agent where that is unset, and before it
// the one that PI_CODING_AGENT_SESSION_DIR names, or else sessionDir in the
// agent's settings: sessions that are older than such a choice stay where they
// are. A leading ~ is the user's home, as it is to the agent.
func (*Reader) DefaultRoots(getenv func(string) string, home string) []string {
	base := expand(getenv("PI_CODING_AGENT_DIR"), home)
	if base == "" {
		base = filepath.Join(home, ".pi", "agent")
	}
	roots := []string{filepath.Join(base, "sessions")}
	chosen := expand(getenv("PI_CODING_AGENT_SESSION_DIR"), home)
	if chosen == "" {
		chosen = expand(chosenIn(filepath.Join(base, "settings.json")), home)
	}
	if filepath.IsAbs(chosen) && filepath.Clean(chosen) != roots[0] {
		roots = append([]string{filepath.Clean(chosen)}, roots...)
	}
	return roots
}

// maxSettings is how long the agent's settings may be, in bytes.
const maxSettings = 1 << 20

// chosenIn returns the folder for sessions that the agent's settings name, "" if
// they name none.
func chosenIn(settings string) string {
	f, _, err := reader.OpenRegular(settings)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSettings))
	if err != nil || !jsonl.Valid(text) {
		return ""
	}
	return jsonl.Text(jsonl.Field(text[jsonl.SkipSpace(text, 0):], "sessionDir"))
}

func expand(path, home string) string {
	if path == "~" {
		return home
	}
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(home, rest)
	}
	return path
}

// Classify implements reader.Reader: files in the root, where all sessions lie in
// one folder, and in the folders right below it, whatever these are called.
func (*Reader) Classify(rel string, dir bool) reader.Kind {
	if rel == "" || rel == "." {
		return kindIf(dir, reader.Folder)
	}
	name := rel[strings.LastIndexByte(rel, '/')+1:]
	deep := strings.Count(rel, "/")
	if dir {
		return kindIf(deep == 0, reader.Folder)
	}
	return kindIf(deep <= 1 && strings.HasSuffix(name, logSuffix) && name != logSuffix, reader.File)
}

func kindIf(ok bool, kind reader.Kind) reader.Kind {
	if ok {
		return kind
	}
	return reader.Ignore
}

// ResumeCommand implements reader.Resumer. By its id a session is found from the
// folder that it belongs to, and the agent asks before it goes on elsewhere.
func (*Reader) ResumeCommand(h session.Header) string {
	if h.ID == "" || strings.HasPrefix(string(h.ID), "-") {
		return "" // it would be taken for an option
	}
	return reader.ShellCommand(h.Cwd, "pi", "--session", string(h.ID))
}

// Places implements reader.Placer: the agent names a folder after the directory
// that it was started in. Where the user chose a folder, sessions of all
// workspaces lie in it.
func (*Reader) Places(workspace string, _ time.Time) (folders []string, others reader.Elsewhere) {
	name := workspace
	if name != "" && (name[0] == '/' || name[0] == '\\') {
		name = name[1:]
	}
	name = strings.NewReplacer("/", "-", `\`, "-", ":", "-").Replace(name)
	return []string{".", "--" + name + "--"}, reader.Possible
}
