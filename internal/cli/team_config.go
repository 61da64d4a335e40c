package cli

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/team"
)

// teamSettings are where the team's server is, and what is sent there. Without a
// url nothing of this machine asks anybody.
type teamSettings struct {
	url       string // "": there is no team
	tokenFile string
	timeout   time.Duration     // of one question
	names     map[string]string // what workspaces of this machine are called there; others go by their path
	push      []string          // the workspaces that are sent, sorted
}

// teamFile is [team] in config.toml, pushFile is [push].
type teamFile struct {
	URL       *string           `toml:"url"`
	TokenFile *string           `toml:"token-file"`
	Timeout   *string           `toml:"timeout"`
	Names     map[string]string `toml:"names"`
}

type pushFile struct {
	Workspaces []string `toml:"workspaces"`
}

// takeTeam takes over what the file says of the team.
func (l *layers) takeTeam(f *file, home string) (err error) {
	for name, v := range map[string]*string{"team-url": f.Team.URL, "team-timeout": f.Team.Timeout} {
		if v != nil {
			l.file[name] = *v
		}
	}
	if f.Team.TokenFile != nil {
		if l.file["team-token-file"], err = inHome(*f.Team.TokenFile, home, "team.token-file in "+l.path); err != nil {
			return err
		}
	}
	l.names = map[string]string{}
	for path, name := range f.Team.Names {
		if path, err = inHome(path, home, "team.names in "+l.path); err != nil {
			return err
		}
		if name == "" || strings.ContainsRune(name, 0) {
			return wrong("team.names in "+l.path, name, "a name that is not empty")
		}
		l.names[path] = name
	}
	for _, path := range f.Push.Workspaces {
		if path, err = inHome(path, home, "push.workspaces in "+l.path); err != nil {
			return err
		}
		l.sent = append(l.sent, path)
	}
	return nil
}

// teamSettings resolves what is said of the team.
func (l *layers) teamSettings() (teamSettings, error) {
	t := teamSettings{names: l.names, push: slices.Clone(l.sent)}
	slices.Sort(t.push)
	t.push = slices.Compact(t.push)
	var origin string
	t.url, _ = l.value("team-url")
	if t.tokenFile, origin = l.value("team-token-file"); t.tokenFile != "" && !filepath.IsAbs(t.tokenFile) {
		return t, wrong(origin, t.tokenFile, "an absolute path")
	}
	text, origin := l.value("team-timeout")
	var err error
	if t.timeout, err = time.ParseDuration(text); err != nil || t.timeout <= 0 || t.timeout > 5*time.Minute {
		return t, wrong(origin, text, "a duration up to 5m, such as 2s")
	}
	return t, nil
}

// name is what a workspace of this machine is called on the server.
func (t *teamSettings) name(workspace string) string {
	if name, ok := t.names[workspace]; ok {
		return name
	}
	return workspace
}

// sends maps the workspaces that are sent to their names. Two that would be sent
// under one name are refused: their sessions would be mixed without a way back.
func (t *teamSettings) sends() (map[string]string, error) {
	out, taken := map[string]string{}, map[string]string{}
	for _, w := range t.push {
		name := t.name(w)
		if other, ok := taken[name]; ok {
			return nil, fault.New(fault.InvalidConfig, "the workspaces %s and %s would be sent under one name, %q: change [team.names]", other, w, name)
		}
		out[w], taken[name] = name, w
	}
	return out, nil
}

// maxTokenFile is how long a file with a token can be, in bytes.
const maxTokenFile = 4096

// teamServer connects to the team's server; nil: there is none. A token that anybody
// on the machine can read is refused.
func (a *app) teamServer() (*team.Server, error) {
	t := &a.settings.team
	if t.url == "" {
		return nil, nil
	}
	if t.tokenFile == "" {
		return nil, fault.New(fault.InvalidConfig, "the team's server is named and its token is not: set token-file under [team], or YORE_TEAM_TOKEN_FILE")
	}
	f, err := os.Open(t.tokenFile)
	if err != nil {
		return nil, fault.New(fault.InvalidConfig, "the team's token cannot be read: %v", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !private(info) {
		return nil, fault.New(fault.InvalidConfig, "the team's token lies where others can read it: chmod 600 %s", t.tokenFile)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxTokenFile))
	if err != nil {
		return nil, fault.New(fault.InvalidConfig, "the team's token cannot be read: %v", err)
	}
	return team.Dial(team.Options{URL: t.url, Token: strings.TrimSpace(string(text)), Version: version(), Timeout: t.timeout})
}

// private reports whether a file is its owner's alone, where the system says so.
func private(info os.FileInfo) bool {
	return filepath.Separator == '\\' || info.Mode().Perm()&0o077 == 0
}
