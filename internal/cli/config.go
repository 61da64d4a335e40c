package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/spf13/cobra"

	"github.com/yorehq/yore"
	"github.com/yorehq/yore/authz"
	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/query"
	"github.com/yorehq/yore/reader/archive"
	"github.com/yorehq/yore/session"
)

// settings are what a run is configured with.
type settings struct {
	index       string // "": the default place
	sources     []yore.Source
	archive     string // a folder of kept sessions, one of sources; "": there is none
	match       query.Match
	order       query.Order
	inherited   bool
	network     bool // the index may be on a network file system
	snippet     int
	searchMode  query.SearchMode
	policy      authz.Policy
	inlineBytes *int // nil: by the client's name
	spill       string
	logLevel    slog.Level
	team        teamSettings
}

// file is config.toml. It belongs to the user and is never looked for in a
// workspace, so paths in it are absolute or begin with ~/.
type file struct {
	Index          *string             `toml:"index"` // a name for each row of settingTable
	Archive        *string             `toml:"archive"`
	Roots          map[string][]string `toml:"roots"`
	Match          *string             `toml:"match"`
	Order          *string             `toml:"order"`
	Inherited      *bool               `toml:"inherited"`
	NetworkIndex   *bool               `toml:"network-index"`
	Snippet        *int                `toml:"snippet"`
	SearchMode     *string             `toml:"search-mode"`
	Policy         *string             `toml:"workspace-policy"`
	MaxInlineBytes *int                `toml:"max-inline-bytes"`
	LogLevel       *string             `toml:"log-level"`
	Team           teamFile            `toml:"team"`
	Push           pushFile            `toml:"push"`
}

// layers answer for one setting after the other: a flag, then YORE_*, then the
// file, then the default.
type layers struct {
	cmd    *cobra.Command
	getenv func(string) string
	path   string // of the file; "": there is none
	file   map[string]string

	names map[string]string // of workspaces, on the team's server
	sent  []string          // workspaces that are sent there
}

// value returns a setting and who says so, for messages. What is no row of
// settingTable has no default.
func (l *layers) value(name string) (value, origin string) {
	if f := l.cmd.Flags().Lookup(name); f != nil && f.Changed {
		return f.Value.String(), "--" + name
	}
	env := envName(name)
	if v := l.getenv(env); v != "" {
		return v, env
	}
	if v, ok := l.file[name]; ok {
		return v, name + " in " + l.path
	}
	if i := slices.IndexFunc(settingTable(), func(s setting) bool { return s.name == name }); i >= 0 {
		value = settingTable()[i].fallback
	}
	return value, "the default of " + name
}

func envName(name string) string {
	return "YORE_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// wrong is a setting that cannot be used.
func wrong(origin, value, want string) error {
	return fault.New(fault.InvalidConfig, "%s is %q: want %s", origin, value, want)
}

// oneOf returns a setting that must be one of its words.
func (l *layers) oneOf(name string) (string, error) {
	v, origin := l.value(name)
	words := settingOf(name).words
	if slices.Contains(words, v) {
		return v, nil
	}
	return "", wrong(origin, v, orList(words)+didYouMean(v, words))
}

// count returns a setting that must be a number, not negative.
func (l *layers) count(name string) (int, error) {
	v, origin := l.value(name)
	n, err := strconv.Atoi(v)
	if err != nil || n < 0 {
		return 0, wrong(origin, v, "a number, 0 or more")
	}
	return n, nil
}

// configure resolves every setting of a command.
func (a *app) configure(cmd *cobra.Command) (settings, error) {
	var s settings
	home, _ := os.UserHomeDir()
	l := &layers{cmd: cmd, getenv: a.getenv}
	roots, err := l.read(home)
	if err != nil {
		return s, err
	}
	if s.sources, err = a.sources(cmd, roots, home); err != nil {
		return s, err
	}
	var origin string
	if s.index, origin = l.value("index"); s.index != "" {
		if s.index, err = filepath.Abs(s.index); err != nil {
			return s, wrong(origin, s.index, "a folder")
		}
	}
	if s.archive, err = l.archive(); err != nil {
		return s, err
	}
	if kept := (yore.Source{Agent: archive.Agent, Root: s.archive}); s.archive != "" && !slices.Contains(s.sources, kept) {
		s.sources = append(s.sources, kept)
	}
	match, err1 := l.oneOf("match")
	order, err2 := l.oneOf("order")
	inherited, err3 := l.oneOf("inherited")
	shared, err8 := l.oneOf("network-index")
	mode, err4 := l.oneOf("search-mode")
	policy, err7 := l.oneOf("workspace-policy")
	snippet, err5 := l.count("snippet")
	level, levelOrigin := l.value("log-level")
	err6 := s.logLevel.UnmarshalText([]byte(level))
	if err6 != nil {
		err6 = wrong(levelOrigin, level, orList(logLevels())+didYouMean(level, logLevels()))
	}
	if v, _ := l.value("max-inline-bytes"); v != "" {
		n, err := l.count("max-inline-bytes")
		if err != nil {
			return s, err
		}
		s.inlineBytes = &n
	}
	for _, err := range []error{err1, err2, err3, err4, err5, err6, err7, err8} {
		if err != nil {
			return s, err
		}
	}
	s.match, s.order, s.searchMode = query.Match(match), query.Order(order), query.SearchMode(mode)
	if policy == "repository" {
		s.policy = authz.Repository
	}
	s.inherited, s.network, s.snippet = inherited == "true", shared == "true", snippet
	if s.team, err = l.teamSettings(); err != nil {
		return s, err
	}
	if cache, err := os.UserCacheDir(); err == nil {
		s.spill = filepath.Join(cache, "yore-results")
	}
	return s, nil
}

// archive returns the folder of kept sessions, absolute; "" for none.
func (l *layers) archive() (string, error) {
	dir, origin := l.value("archive")
	if f := l.cmd.Flags().Lookup("dir"); f != nil && f.Changed && l.cmd.Name() == "archive" {
		dir, origin = f.Value.String(), "--dir"
	}
	if dir == "" {
		return "", nil
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", wrong(origin, dir, "a folder")
	}
	return abs, nil
}

// read loads the configuration file. That there is none is no error unless one
// was named.
func (l *layers) read(home string) (map[string][]string, error) {
	path, _ := l.value("config")
	named := path != ""
	if !named {
		dir, err := os.UserConfigDir()
		if err != nil {
			return nil, nil
		}
		path = filepath.Join(dir, "yore", "config.toml")
	}
	var f file
	meta, err := toml.DecodeFile(path, &f)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !named:
		return nil, nil
	case err != nil:
		return nil, fault.New(fault.InvalidConfig, "%s: %s", path, strings.TrimPrefix(err.Error(), "toml: "))
	}
	if unknown := meta.Undecoded(); len(unknown) > 0 {
		return nil, fault.New(fault.InvalidConfig, "%s: there is no setting %q", path, unknown[0].String())
	}
	l.path, l.file = path, map[string]string{}
	for name, v := range map[string]*string{"match": f.Match, "order": f.Order, "search-mode": f.SearchMode, "workspace-policy": f.Policy, "log-level": f.LogLevel} {
		if v != nil {
			l.file[name] = *v
		}
	}
	for name, v := range map[string]*int{"snippet": f.Snippet, "max-inline-bytes": f.MaxInlineBytes} {
		if v != nil {
			l.file[name] = strconv.Itoa(*v)
		}
	}
	if f.NetworkIndex != nil {
		l.file["network-index"] = strconv.FormatBool(*f.NetworkIndex)
	}
	if f.Inherited != nil {
		l.file["inherited"] = strconv.FormatBool(*f.Inherited)
	}
	if f.Index != nil {
		if l.file["index"], err = inHome(*f.Index, home, "index in "+path); err != nil {
			return nil, err
		}
	}
	if f.Archive != nil && *f.Archive != "" {
		if l.file["archive"], err = inHome(*f.Archive, home, "archive in "+path); err != nil {
			return nil, err
		}
	}
	if err := l.takeTeam(&f, home); err != nil {
		return nil, err
	}
	for agent, dirs := range f.Roots {
		if !slices.Contains(readable(), agent) {
			return nil, wrong("roots in "+path, agent, "one of the agents "+strings.Join(readable(), ", ")+didYouMean(agent, readable()))
		}
		for i := range dirs {
			if dirs[i], err = inHome(dirs[i], home, "roots."+agent+" in "+path); err != nil {
				return nil, err
			}
		}
	}
	return f.Roots, nil
}

// inHome makes a path of the configuration file absolute.
func inHome(path, home, origin string) (string, error) {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && home != "" {
		path = filepath.Join(home, rest)
	}
	if !filepath.IsAbs(path) {
		return "", wrong(origin, path, "an absolute path, or one that begins with ~/")
	}
	return path, nil
}

func logLevels() []string { return []string{"debug", "info", "warn", "error"} }

// readable names the agents whose folders can be read.
func readable() []string {
	var all []string
	for _, r := range yore.Readers() {
		all = append(all, string(r.Agent()))
	}
	return all
}

// sources returns where the agents keep their sessions.
func (a *app) sources(cmd *cobra.Command, fromFile map[string][]string, home string) ([]yore.Source, error) {
	origin := "--root"
	given, err := cmd.Flags().GetStringArray("root")
	if err != nil {
		return nil, err
	}
	if len(given) == 0 {
		if v := a.getenv(envName("roots")); v != "" {
			origin, given = envName("roots"), filepath.SplitList(v)
		}
	}
	var all []yore.Source
	for _, g := range given {
		agent, dir, ok := strings.Cut(g, "=")
		if !ok || agent == "" || dir == "" {
			return nil, wrong(origin, g, "AGENT=DIR")
		}
		if !slices.Contains(readable(), agent) {
			return nil, wrong(origin, g, "AGENT=DIR with one of the agents "+strings.Join(readable(), ", ")+didYouMean(agent, readable()))
		}
		abs, err := filepath.Abs(dir)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", origin, err)
		}
		all = append(all, yore.Source{Agent: session.Agent(agent), Root: abs})
	}
	if all != nil {
		return all, nil
	}
	if fromFile != nil {
		for _, agent := range slices.Sorted(maps.Keys(fromFile)) {
			for _, d := range fromFile[agent] {
				all = append(all, yore.Source{Agent: session.Agent(agent), Root: d})
			}
		}
		return all, nil
	}
	for _, s := range yore.DefaultSources(a.getenv, home) {
		// Without a home folder the usual places have no path.
		if filepath.IsAbs(s.Root) {
			all = append(all, s)
		}
	}
	return all, nil
}
