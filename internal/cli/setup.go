package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/setup"
)

// setupOptions are the flags of `yore setup`.
type setupOptions struct {
	agent                setup.Agent
	write, undo, replace bool
	project              bool
	profile              string
	name                 string
	command              string
	workspace            string
}

func (a *app) setupCommand() *cobra.Command {
	var o setupOptions
	cmd := &cobra.Command{
		Use:   "setup AGENT",
		Short: "Give an agent the five tools, in its own configuration",
		Long: `Setup prints the entry that makes an agent (` + setup.Names() + `) start
` + "`yore mcp`" + `, and says which file it belongs in. With --write it puts the entry there
itself: comments, order and all other settings stay, what the file held is kept in
a backup beside it, and a second time changes nothing. --undo takes the entry out
again. A file that is broken, read-only, or holds an entry of that name that
setup did not write is left alone, and the reason is given with its line.

For all but dsh and openclaw the entry holds in every project: they start the server in
the folder of each session, which is the workspace it shows. (Cursor's editor does
not, but tells the folder.) One process of dsh
may serve many folders and does not say which of them calls. So without
--workspace only the profile headless is set up, which works in one folder; with
it, every session of dsh gets the history of that one folder. OpenClaw's gateway
serves all of its chats: they get the history of --workspace, or else of the folder
that its configuration says its agents work in.

Where the program, its index and the agents' homes are told by the environment,
the entry hands it on.`,
		Example: `  yore setup claude
  yore setup codex --write
  yore setup claude --project --write     for everybody who works in this folder
  yore setup dsh --workspace /srv/code/alpha --write
  yore setup codex --undo`,
		Args:      takesOneOf("AGENT"),
		ValidArgs: setupAgents(),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.agent = setup.Agent(args[0])
			return a.setup(cmd, o)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.write, "write", false, "put the entry into the agent's configuration")
	f.BoolVar(&o.undo, "undo", false, "take the entry out again")
	f.BoolVar(&o.replace, "replace", false, "with --write: put it in the place of a different entry of that name; with --undo: take out one that setup did not write")
	f.BoolVar(&o.project, "project", false, "claude: the file .mcp.json of this folder, for everybody who works here")
	f.StringVar(&o.profile, "profile", "", "dsh: the profile `NAME` (default headless, or all with --workspace)")
	f.StringVar(&o.name, "name", "yore", "the server's `NAME` in the configuration")
	f.StringVar(&o.command, "command", "", "the `PROGRAM` to start (default: this one)")
	f.StringVarP(&o.workspace, "workspace", "w", "", "show the history of this `DIR`, whichever folder the agent works in")
	cmd.MarkFlagsMutuallyExclusive("write", "undo")
	cmd.MarkFlagsMutuallyExclusive("project", "workspace")
	return cmd
}

// setupAgents names the agents that can be set up.
func setupAgents() []string {
	var names []string
	for _, agent := range setup.Agents() {
		names = append(names, string(agent))
	}
	return names
}

func (a *app) setup(cmd *cobra.Command, o setupOptions) error {
	if err := setup.CheckName(o.name); err != nil {
		return err
	}
	targets, err := a.targets(&o)
	if err != nil {
		return err
	}
	if o.undo {
		for _, t := range targets {
			r, err := t.Undo(o.name, o.own, o.replace)
			if err != nil {
				return err
			}
			if err := a.changed(o, r); err != nil {
				return err
			}
		}
		return nil
	}
	server, err := a.server(cmd, o)
	if err != nil {
		return err
	}
	target := targets[0]
	if !o.write {
		return a.show(target, server)
	}
	r, err := target.Write(server, o.replace)
	if err != nil {
		return err
	}
	return a.changed(o, r)
}

// targets returns the file to edit; for an undo that names none, every file
// that setup may have chosen. It settles the workspace.
func (a *app) targets(o *setupOptions) ([]setup.Target, error) {
	places := a.places()
	if o.agent != setup.DSH && o.profile != "" {
		return nil, fault.New(fault.InvalidArgs, "--profile is for dsh")
	}
	if o.agent != setup.Claude && o.project {
		return nil, fault.New(fault.InvalidArgs, "--project is for claude")
	}
	given := o.workspace != ""
	if given {
		dir, err := (&scope{dir: o.workspace}).workspace()
		if err != nil {
			return nil, err
		}
		o.workspace = dir
	}
	if o.project {
		dir, err := (&scope{}).workspace()
		return []setup.Target{setup.Project(dir)}, err
	}
	if dir := places.Workspace(o.agent); dir != "" && !given && !o.undo {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return nil, fault.New(fault.InvalidArgs, "%s serves all of its chats from one process, and its folder %s is not there: --workspace DIR must say whose history they get", o.agent, dir)
		}
		o.workspace = dir
	}
	user, err := places.User(o.agent)
	if err != nil || o.agent != setup.DSH {
		return []setup.Target{user}, err
	}
	if given && o.profile == "" {
		return []setup.Target{user}, nil
	}
	if !given {
		// The host's own folder, where the server is started.
		o.workspace = "."
		if o.profile == "web" && !o.undo {
			return nil, fault.New(fault.InvalidArgs, "the profile web serves many folders from one process: --workspace DIR must say whose history it gets")
		}
	}
	name := o.profile
	if name == "" {
		name = "headless"
	}
	profile, err := places.Profile(name)
	if o.undo && o.profile == "" {
		return []setup.Target{profile, user}, err
	}
	return []setup.Target{profile}, err
}

// server is the entry that is wanted.
func (a *app) server(cmd *cobra.Command, o setupOptions) (setup.Server, error) {
	s := setup.Server{Name: o.name, Command: o.command, Args: []string{"mcp"}}
	if o.workspace != "" {
		s.Args = append(s.Args, "--workspace", o.workspace)
	}
	if o.project {
		// Others will use this file, whose machines look different.
		if s.Command == "" {
			s.Command = "yore"
		}
		return s, nil
	}
	var err error
	if s.Command == "" {
		s.Command, err = program()
	} else if strings.ContainsRune(s.Command, filepath.Separator) {
		s.Command, err = filepath.Abs(s.Command)
	}
	s.Env = a.handedOn(cmd, o.agent)
	return s, err
}

// own reports whether an entry's command starts what setup would have it start.
func (o setupOptions) own(command string) bool {
	if o.command != "" {
		abs, err := filepath.Abs(o.command)
		return command == o.command || err == nil && command == abs
	}
	if o.project && command == "yore" {
		return true
	}
	self, err := os.Executable()
	if err != nil {
		return false
	}
	found, err := exec.LookPath(command)
	return err == nil && sameFile(found, self)
}

// program returns the path of this program by which it is known: a link on PATH
// outlives an upgrade of what it leads to.
func program() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fault.New(fault.InvalidConfig, "the path of this program is not known: --command gives it")
	}
	if known, err := exec.LookPath("yore"); err == nil && sameFile(known, self) {
		if abs, err := filepath.Abs(known); err == nil {
			return abs, nil
		}
	}
	if slices.ContainsFunc(strings.Split(filepath.ToSlash(self), "/"), func(p string) bool { return strings.HasPrefix(p, "go-build") }) {
		return "", fault.New(fault.InvalidConfig, "this program was built for one run and will be gone after it: install it, or give --command")
	}
	return self, nil
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// handedOn is the environment that the server needs to find the same sessions
// and the same index: agents hand on little of theirs, or not always.
func (a *app) handedOn(cmd *cobra.Command, agent setup.Agent) map[string]string {
	env := map[string]string{}
	home, _ := os.UserHomeDir()
	folders := map[string]string{
		"XDG_CACHE_HOME": ".cache", "XDG_CONFIG_HOME": ".config", "PI_CODING_AGENT_SESSION_DIR": "", "QWEN_RUNTIME_DIR": ".qwen",
		"XDG_DATA_HOME": filepath.Join(".local", "share"), "KIMI_SHARE_DIR": ".kimi",
	}
	for _, known := range setup.Agents() {
		variable, usual := setup.Home(known)
		folders[variable] = usual
		if user, profile := setup.Elsewhere(known); a.getenv(user)+a.getenv(profile) != "" {
			folders[user], folders[variable] = "", "" // what is usual is another place
			if name := strings.TrimSpace(a.getenv(profile)); name != "" {
				env[profile] = name
			}
		}
	}
	for name, usual := range folders {
		if dir := a.folder(name); dir != "" && dir != filepath.Join(home, usual) {
			env[name] = dir
		}
	}
	for _, name := range []string{"OPENCODE_DB", "KILO_DB"} {
		if path := a.getenv(name); filepath.IsAbs(path) { // else it lies where it usually does
			env[name] = path
		}
	}
	told := func(name string) bool {
		return cmd.Flags().Changed(name) || a.getenv(envName(name)) != ""
	}
	if told("index") {
		env[envName("index")] = a.settings.index
	}
	if told("archive") {
		env[envName("archive")] = a.settings.archive
	}
	if told("config") {
		l := layers{cmd: cmd, getenv: a.getenv}
		path, _ := l.value("config")
		if abs, err := filepath.Abs(path); err == nil {
			env[envName("config")] = abs
		}
	}
	roots := cmd.Flags().Changed("root") || a.getenv(envName("roots")) != ""
	if _, moved := env["DSH_HOME"]; moved && agent == setup.DSH {
		// It takes its own names out of what it hands on.
		delete(env, "DSH_HOME")
		roots = true
	}
	if roots {
		var all []string
		for _, s := range a.settings.sources {
			all = append(all, string(s.Agent)+"="+s.Root)
		}
		env[envName("roots")] = strings.Join(all, string(filepath.ListSeparator))
	}
	return env
}

// show prints the entry, and beside it where it belongs.
func (a *app) show(t setup.Target, s setup.Server) error {
	text, err := t.Snippet(s)
	if err != nil {
		return err
	}
	if err := a.emit(text); err != nil {
		return err
	}
	pending, err := t.Pending(s)
	if err != nil {
		return err
	}
	switch pending {
	case setup.Unchanged:
		a.note("%s holds this entry.", t.Path)
	case setup.Replaced:
		a.note("%s holds another entry of this name; --write --replace puts this one in its place.", t.Path)
	default:
		a.note("This belongs in %s; --write puts it there.", t.Path)
	}
	return nil
}

// changed says what was done.
func (a *app) changed(o setupOptions, r setup.Result) error {
	text := string(r.Change) + ": " + r.Path
	switch {
	case r.Change == setup.Unchanged && o.undo:
		text += " has no server " + o.name
	case r.Change == setup.Unchanged:
		text += " holds this entry"
	}
	if r.Backup != "" {
		text += "\nbackup: " + r.Backup
	}
	return a.emit(fmt.Sprintf("%s\n", text))
}
