package setup

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Status is what is known of one agent's configuration.
type Status struct {
	Agent    Agent
	Found    []Entry
	Problems []Problem
}

// Entry is a place where an agent is told to start yore's server.
type Entry struct {
	Path     string
	Line     int // from 1; 0: unknown
	Server   Server
	Disabled bool // the agent does not start it: it is switched off
}

// Problem is why an agent will not get its tools.
type Problem struct {
	Path   string
	Line   int // from 1; 0: unknown
	Reason string
}

// Inspect looks at the configuration of every agent that is there: for its
// user, for Claude Code also that of the project folder, for DSH also that of
// each profile. An agent that is not there is left out. own reports whether a
// command starts this program, under whatever name.
func Inspect(p Places, project string, own func(command string) bool) []Status {
	var all []Status
	for _, agent := range Agents() {
		user, err := p.User(agent)
		if err != nil {
			continue
		}
		k, _ := of(agent)
		if !exists(filepath.Join(p.home(agent), k.folder)) && !exists(user.Path) {
			continue
		}
		targets := []Target{user}
		switch agent {
		case Claude:
			if project != "" {
				targets = append(targets, Project(project))
			}
		case DSH:
			// The pattern is a path of ours; that it may be malformed means no profiles.
			profiles, _ := filepath.Glob(filepath.Join(p.home(DSH), "profiles", "*", patchFile))
			for _, path := range profiles {
				targets = append(targets, Target{DSH, path, yamlFile{}})
			}
		}
		s := Status{Agent: agent}
		if agent == Claude {
			// What holds for one folder only goes before what holds for all.
			local := user.local(project)
			s.check(user.Path, local.entries, own)
			for _, t := range targets {
				t.inspect(&s, local.off, own)
			}
		} else {
			for _, t := range targets {
				t.inspect(&s, nil, own)
			}
		}
		all = append(all, s)
	}
	return all
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// inspect looks at what a file holds; the servers named in off are not started.
func (t Target) inspect(s *Status, off []string, own func(command string) bool) {
	fail := func(line int, reason string) { s.Problems = append(s.Problems, Problem{t.Path, line, reason}) }
	c, err := t.read()
	if err != nil {
		fail(0, "the file cannot be read")
		return
	}
	all, err := t.format.entries(c.text)
	if f, ok := err.(*flaw); ok {
		fail(f.line, f.what)
		return
	}
	for i := range all {
		all[i].disabled = all[i].disabled || slices.Contains(off, all[i].Name)
	}
	s.check(t.Path, all, own)
}

// check says of the entries of a file that start yore what will keep them from it.
func (s *Status) check(path string, all []entry, own func(command string) bool) {
	fail := func(line int, reason string) { s.Problems = append(s.Problems, Problem{path, line, reason}) }
	for _, e := range all {
		if !e.runs(own) {
			continue
		}
		s.Found = append(s.Found, Entry{path, e.line, e.Server, e.disabled})
		if e.disabled {
			continue
		}
		if _, err := exec.LookPath(e.Command); err != nil {
			fail(e.line, "the command "+e.Command+" is not there, or cannot be run")
		}
		workspace, given := e.workspace()
		switch {
		case Pinned(s.Agent) && !given:
			fail(e.line, "without --workspace every call is refused: one process of this agent may serve several folders")
		case given && workspace == "":
			fail(e.line, "--workspace names no folder")
		case given && filepath.IsAbs(workspace):
			if info, err := os.Stat(workspace); err != nil || !info.IsDir() {
				fail(e.line, "the workspace "+workspace+" is no folder")
			}
		}
	}
}

// workspace returns what the arguments say the workspace is.
func (s Server) workspace() (dir string, given bool) {
	for i, a := range s.Args {
		for _, flag := range []string{"--workspace", "-w"} {
			if a == flag {
				if i+1 < len(s.Args) {
					return s.Args[i+1], true
				}
				return "", true
			}
			if rest, ok := strings.CutPrefix(a, flag+"="); ok {
				return rest, true
			}
		}
	}
	return "", false
}
