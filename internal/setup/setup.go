// Package setup owns the place that yore takes in an agent's own configuration:
// where the file is by that agent's rules, what an entry for an MCP server looks
// like in it, and how one is put in and taken out without a change to anything
// else.
//
// Files are edited as text, so comments, order and line ends stay. Every edit is
// parsed again before it is written, and refused if any other setting would
// read differently. The package reads no environment and knows nothing of
// sessions; it is told what to write. Start at Target, then Write in file.go.
package setup

import (
	"bytes"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/yorehq/yore/fault"
)

// Agent is an agent whose configuration is known here.
type Agent string

// The agents.
const (
	Claude  Agent = "claude"
	Codex   Agent = "codex"
	DSH     Agent = "dsh"
	Pi      Agent = "pi"
	Copilot Agent = "copilot"
	Kimi    Agent = "kimi"
	Gemini  Agent = "gemini"
	Qwen    Agent = "qwen"
	Cursor  Agent = "cursor"

	OpenCode Agent = "opencode"
	Kilo     Agent = "kilo"
	OpenClaw Agent = "openclaw"
)

// Server is an MCP server as an agent's configuration describes it.
type Server struct {
	Name    string            // [A-Za-z0-9_-]{1,32}
	Command string            // an absolute path, or a name to be found on PATH
	Args    []string          // the first is "mcp"
	Env     map[string]string // set for the server besides what the agent passes on
}

// runs reports whether this is an entry that starts yore's server: by the name of
// the program, which may have a version behind it, by the name of the server, or
// because own knows the program.
func (s Server) runs(own func(command string) bool) bool {
	base := strings.TrimSuffix(filepath.Base(strings.ReplaceAll(s.Command, `\`, "/")), ".exe")
	rest, named := strings.CutPrefix(base, "yore")
	named = named && (rest == "" || strings.IndexByte("-_.", rest[0]) >= 0)
	return slices.Contains(s.Args, "mcp") && (named || s.Name == "yore" || own(s.Command))
}

func (s Server) equal(o Server) bool {
	return s.Name == o.Name && s.Command == o.Command && slices.Equal(s.Args, o.Args) && maps.Equal(s.Env, o.Env)
}

// entry is a server that a configuration file holds.
type entry struct {
	Server
	line     int  // from 1
	other    bool // it has settings that yore does not make
	disabled bool // the agent is told not to start it
}

// foreign says by what an entry shows that setup did not write it; "": by
// nothing. own reports whether a command starts this program.
func (e entry) foreign(own func(command string) bool) string {
	workspace, given := e.workspace()
	args := []string{"mcp"}
	if given {
		args = append(args, "--workspace", workspace)
	}
	switch {
	case e.other:
		return "it has settings that setup does not make"
	case !own(e.Command):
		return fmt.Sprintf("it starts %s, which is not this program", e.Command)
	case !slices.Equal(e.Args, args):
		return "its arguments are not those that setup gives"
	}
	return ""
}

// format is how one agent's file holds servers. An empty text is a
// document without settings. Failures are flaws.
type format interface {
	// entries lists the servers.
	entries(text []byte) ([]entry, error)
	// without returns the decoded document less the named server and what is
	// empty without it, to be compared.
	without(text []byte, name string) (any, error)
	// add returns the text with one more server, which it does not hold yet.
	add(text []byte, s Server) ([]byte, error)
	// remove returns the text without a server it holds.
	remove(text []byte, name string) ([]byte, error)
}

// Places tell where the agents keep their configuration.
type Places struct {
	Home  string           // the user's home folder
	Homes map[Agent]string // the agents' homes that the environment moves, absolute (see Home)
	Files map[Agent]string // the configurations that the environment names, absolute (see File)

	Users    map[Agent]string // what stands for the user's home with an agent, absolute (see Elsewhere)
	Profiles map[Agent]string // the profiles that the environment names (see Elsewhere)
}

// home is where an agent keeps its own files.
func (p Places) home(agent Agent) string {
	k, _ := of(agent)
	return or(p.Homes[agent], filepath.Join(p.user(agent), k.home+p.profile(agent)))
}

// user is what an agent takes for the user's home.
func (p Places) user(agent Agent) string { return or(p.Users[agent], p.Home) }

// profile is what the profile adds to the names of an agent's folders: a dash and
// its name. The usual one adds nothing, and a word that is no name is none.
func (p Places) profile(agent Agent) string {
	name := strings.TrimSpace(p.Profiles[agent])
	if strings.EqualFold(name, "default") || !profileName.MatchString(name) {
		return ""
	}
	return "-" + name
}

func or(value, fallback string) string {
	if value == "" {
		return fallback
	}
	return value
}

// Target is one file of one agent.
type Target struct {
	Agent  Agent
	Path   string
	format format
}

// User returns the file that holds for every project of the user. For DSH,
// where one process may serve many projects, that is the whole machine's patch.
func (p Places) User(agent Agent) (Target, error) {
	k, ok := of(agent)
	switch {
	case !ok:
		return Target{}, fault.New(fault.InvalidArgs, "%q is not an agent that can be set up: want %s", agent, Names())
	case p.Files[agent] != "":
		return Target{agent, p.Files[agent], k.format}, nil
	case k.file != nil:
		return Target{agent, k.file(p), k.format}, nil
	}
	return Target{agent, filepath.Join(p.home(agent), k.name), k.format}, nil
}

// Project returns Claude Code's file for everybody who works in a folder.
func Project(dir string) Target {
	return Target{Claude, filepath.Join(dir, ".mcp.json"), claudeForm()}
}

// Profile returns the patch of one DSH profile.
func (p Places) Profile(name string) (Target, error) {
	if !profileName.MatchString(name) {
		return Target{}, fault.New(fault.InvalidArgs, "the profile %q is no name", name)
	}
	return Target{DSH, filepath.Join(p.home(DSH), "profiles", name, patchFile), yamlFile{}}, nil
}

// patchFile is the name of a layer of DSH's composition.
const patchFile = "cordis.patch.yml"

var (
	serverName  = regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`)
	profileName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)
)

// CheckName refuses what one of the agents would not take as a server's name.
func CheckName(name string) error {
	if !serverName.MatchString(name) {
		return fault.New(fault.InvalidArgs, "the server's name is %q: want 1 to 32 letters, digits, - or _", name)
	}
	return nil
}

// Snippet returns a file of this kind that holds the server and nothing else.
func (t Target) Snippet(s Server) (string, error) {
	text, err := t.format.add(nil, s)
	return string(text), err
}

// flaw is what keeps a file from being edited, and the line it is in; 0: unknown.
type flaw struct {
	line int
	what string
}

func (f *flaw) Error() string {
	if f.line > 0 {
		return fmt.Sprintf("line %d: %s", f.line, f.what)
	}
	return f.what
}

func flawed(line int, form string, args ...any) error {
	return &flaw{line, fmt.Sprintf(form, args...)}
}

// lineAt returns the line of an offset in a text, from 1.
func lineAt(text []byte, offset int) int {
	return 1 + bytes.Count(text[:min(max(offset, 0), len(text))], []byte("\n"))
}

// lineEnd is what a text ends its lines with.
func lineEnd(text []byte) string {
	if i := bytes.IndexByte(text, '\n'); i > 0 && text[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// unmark takes a byte order mark off a text; mark is what was taken.
func unmark(text []byte) (mark, rest []byte) {
	if bytes.HasPrefix(text, []byte("\xef\xbb\xbf")) {
		return text[:3], text[3:]
	}
	return nil, text
}
