package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yorehq/yore/internal/render"
	"github.com/yorehq/yore/internal/setup"
)

// agents is what doctor says of the agents' own configurations.
type agents []setup.Status

// agents looks at the configurations of this user and of the present folder.
func (a *app) agents() agents {
	here, _ := (&scope{}).workspace() // without one, only the user's are looked at
	return setup.Inspect(a.places(), here, setupOptions{}.own)
}

// places tells where the agents keep their configurations.
func (a *app) places() setup.Places {
	home, _ := os.UserHomeDir()
	p := setup.Places{
		Home: home, Homes: map[setup.Agent]string{}, Files: map[setup.Agent]string{},
		Users: map[setup.Agent]string{}, Profiles: map[setup.Agent]string{},
	}
	for _, agent := range setup.Agents() {
		variable, _ := setup.Home(agent)
		p.Homes[agent] = a.folder(variable)
		if variable := setup.File(agent); variable != "" {
			p.Files[agent] = a.folder(variable)
		}
		if user, profile := setup.Elsewhere(agent); user != "" {
			p.Users[agent], p.Profiles[agent] = a.folder(user), a.getenv(profile)
		}
	}
	return p
}

// folder returns a folder or file that the environment names, absolute; "" for none.
func (a *app) folder(name string) string {
	dir := a.getenv(name)
	if strings.TrimSpace(dir) == "" {
		return ""
	}
	// OpenClaw takes the sign of the home folder for itself, also of the one that stands
	// for it; to others it is a name.
	if rest, ok := strings.CutPrefix(strings.TrimSpace(dir), "~"); ok && (rest == "" || rest[0] == '/') && strings.HasPrefix(name, "OPENCLAW_") {
		home, err := os.UserHomeDir()
		if other := a.getenv("OPENCLAW_HOME"); name != "OPENCLAW_HOME" && strings.TrimSpace(other) != "" {
			home, err = a.folder("OPENCLAW_HOME"), nil
		}
		if err == nil {
			return filepath.Join(home, rest)
		}
	}
	if abs, err := filepath.Abs(dir); err == nil {
		return abs
	}
	return dir
}

func (list agents) sound() bool {
	return !slices.ContainsFunc(list, func(s setup.Status) bool { return len(s.Problems) > 0 })
}

func (list agents) text(b *strings.Builder) {
	if len(list) == 0 {
		return
	}
	b.WriteString("agents:\n")
	for _, s := range list {
		for _, e := range s.Found {
			does := "starts"
			if e.Disabled {
				does = "is told not to start (disabled)"
			}
			fmt.Fprintf(b, "  %s: %s %s as %s (%s)\n", s.Agent, does,
				render.Line(strings.Join(append([]string{e.Server.Command}, e.Server.Args...), " "), 0), render.Name(e.Server.Name), at(e.Path, e.Line))
		}
		if len(s.Found) == 0 {
			fmt.Fprintf(b, "  %s: not set up; `yore setup %s` shows how\n", s.Agent, s.Agent)
		}
		for _, p := range s.Problems {
			fmt.Fprintf(b, "  problem: %s\n    %s\n", at(p.Path, p.Line), render.Line(p.Reason, 0))
		}
	}
}

func at(path string, line int) string {
	path = render.Line(path, 0)
	if line > 0 {
		return fmt.Sprintf("%s, line %d", path, line)
	}
	return path
}

type agentJSON struct {
	Agent    setup.Agent        `json:"agent"`
	Servers  []agentServerJSON  `json:"servers"`
	Problems []agentProblemJSON `json:"problems"`
}

// agentServerJSON leaves the environment out, which may hold what is private.
type agentServerJSON struct {
	Path     string   `json:"path"`
	Line     int      `json:"line,omitempty"`
	Name     string   `json:"name"`
	Command  string   `json:"command"`
	Args     []string `json:"args"`
	Disabled bool     `json:"disabled,omitempty"`
}

type agentProblemJSON struct {
	Path   string `json:"path"`
	Line   int    `json:"line,omitempty"`
	Reason string `json:"reason"`
}

func (list agents) json() []agentJSON {
	all := []agentJSON{}
	for _, s := range list {
		x := agentJSON{s.Agent, []agentServerJSON{}, []agentProblemJSON{}}
		for _, e := range s.Found {
			x.Servers = append(x.Servers, agentServerJSON{e.Path, e.Line, e.Server.Name, e.Server.Command, e.Server.Args, e.Disabled})
		}
		for _, p := range s.Problems {
			x.Problems = append(x.Problems, agentProblemJSON{p.Path, p.Line, p.Reason})
		}
		all = append(all, x)
	}
	return all
}
