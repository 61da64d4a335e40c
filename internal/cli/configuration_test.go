package cli

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/yorehq/yore"
	"github.com/yorehq/yore/internal/setup"
)

const configurationPage = "../../docs/configuration.md"

// TestConfigurationPage holds docs/configuration.md to the settings, the flags
// and the readers.
func TestConfigurationPage(t *testing.T) {
	var b bytes.Buffer
	b.WriteString("# Configuration\n\nMade from the code by `go test ./internal/cli -run TestConfigurationPage -update`; change that, not this page.\n\n" +
		"yore needs no configuration. A setting is taken from the first of these that gives it:\n\n" +
		"1. a flag of the command,\n2. the environment: `YORE_` and the name in capitals, with `_` for `-`,\n" +
		"3. the file `yore/config.toml` in your configuration folder (on Linux `~/.config`, on macOS `~/Library/Application Support`, on Windows `%AppData%`), or the one that `--config FILE` or `YORE_CONFIG` names,\n" +
		"4. its default.\n\nNothing is ever read from a workspace: a project that you cloned cannot change what yore does. A name that is not known and a value that cannot be used are errors (exit code 2) that name the place.\n\n" +
		"## Settings\n\n| name | values | default | flag of | |\n|---|---|---|---|---|\n")
	root := (&app{}).newRoot()
	for _, s := range settingTable() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", s.name, s.values(), s.unlessGiven(), commandsWith(root, s.name), s.meaning)
	}
	b.WriteString("\nEvery other flag belongs to one call and has no setting: [cli.md](cli.md) lists them by command.\n\n## The file\n\nWith the defaults; a line that is left out means the same. A path is absolute or begins with `~/`.\n\n```toml\n" + sampleFile() + "```\n\n")
	b.WriteString("## Where agents keep their sessions\n\n`[roots]`, `YORE_ROOTS` and `--root AGENT=DIR` replace these places, all of them at once. A place that is not there is passed over.\n\n| agent | places | moved by |\n|---|---|---|\n")
	for _, r := range yore.Readers() {
		var asked []string
		places := r.DefaultRoots(func(name string) string {
			if !slices.Contains(asked, name) {
				asked = append(asked, name)
			}
			return ""
		}, "/home/you")
		if len(places) == 0 {
			continue // the archive, which is where one says
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", r.Agent(), quoted(places, "/home/you", "~"), quoted(asked, "", ""))
	}
	b.WriteString("\n## Other variables of the environment\n\n| variable | |\n|---|---|\n")
	for _, v := range variables() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", v.name, v.meaning)
	}
	b.WriteString("\n## What yore writes\n\nOn Linux; on other systems the user's configuration and cache folders are elsewhere. Folders are 0700, files 0600.\n\n" +
		"| where | what | can it go? |\n|---|---|---|\n" +
		"| `~/.cache/yore` | the index | at any time; it is made again from the logs |\n" +
		"| `~/.cache/yore-results` | long results, saved whole for an agent | at any time; after 24 hours it goes by itself |\n" +
		"| `~/.config/yore/config.toml` | your settings; yore only reads it | |\n" +
		"| `~/.config/yore/forgotten` | what you want forgotten, as hashes ([deletion.md](deletion.md)) | then it comes back |\n" +
		"| `~/.config/yore/worktrees.json` | which worktrees belong together, with `workspace-policy = \"repository\"` alone | then sessions of removed worktrees are no longer found |\n" +
		"| `~/.local/state/yore/reveal.log` | when `--reveal` was used ([masking.md](masking.md)) | yes |\n" +
		"| `~/.config/yore/sent` | what `yore push` has sent, for each session how far ([team.md](team.md)) | yes; the server is asked then |\n" +
		"| the archive's folder | kept sessions, if you name a folder ([archive.md](archive.md)) | then they are gone |\n" +
		"| an agent's own settings | one entry, by `yore setup AGENT --write` alone ([setup.md](setup.md)) | `--undo` |\n")
	same(t, configurationPage, b.String())
}

// same holds a page to what it must be.
func same(t *testing.T, page, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Errorf("%s is not what the code says; -update writes it (-want +got):\n%s", page, d)
	}
}

func (s setting) values() string {
	if s.words == nil {
		return s.value
	}
	return quoted(s.words, "", "")
}

func (s setting) unlessGiven() string {
	if s.fallback == "" {
		return s.unset
	}
	return "`" + s.fallback + "`"
}

// quoted lists words as code, with the beginning from replaced by to.
func quoted(words []string, from, to string) string {
	var all []string
	for _, w := range words {
		if from != "" {
			w = strings.Replace(w, from, to, 1)
		}
		all = append(all, "`"+w+"`")
	}
	return strings.Join(all, ", ")
}

// commandsWith names the commands that have a flag.
func commandsWith(root *cobra.Command, name string) string {
	if root.PersistentFlags().Lookup(name) != nil {
		return "every command"
	}
	var all []string
	for _, c := range root.Commands() {
		if c.LocalNonPersistentFlags().Lookup(name) != nil {
			all = append(all, c.Name())
		}
	}
	if all == nil {
		return "none"
	}
	return quoted(all, "", "")
}

// sampleFile is config.toml with every setting.
func sampleFile() string {
	var b strings.Builder
	for _, s := range settingTable() {
		if s.sample != "" {
			note := s.value
			if s.words != nil {
				note = strings.Join(s.words, ", ")
			}
			if s.fallback == "" {
				note += "; left out: " + strings.ReplaceAll(s.unset, "`", "")
			}
			fmt.Fprintf(&b, "%-31s # %s\n", s.name+" = "+s.sample, note)
		}
	}
	b.WriteString("\n[roots]                         # replaces the usual places of all agents\ndsh = [\"~/.dsh/sessions\"]\nclaude-code = [\"~/.claude/projects\", \"/srv/shared/claude\"]\n" +
		"\n[team]                          # left out: nobody is asked, and nothing is sent (team.md)\nurl = \"https://yore.example.com\"\ntoken-file = \"~/.config/yore/team-token\"\ntimeout = \"2s\"                  # of one question\n" +
		"\n[team.names]                    # what a workspace is called on the server; left out: by its path\n\"~/src/app\" = \"app\"\n" +
		"\n[push]                          # left out: nothing is sent\nworkspaces = [\"~/src/app\"]\n")
	return b.String()
}

// The file can hold what the table says, and nothing else.
func TestConfigurationFile(t *testing.T) {
	var names []string
	for _, s := range settingTable() {
		if s.sample != "" {
			names = append(names, s.name)
		}
	}
	names = append(names, "roots", "team", "push")
	var fields []string
	for i := range reflect.TypeFor[file]().NumField() {
		fields = append(fields, reflect.TypeFor[file]().Field(i).Tag.Get("toml"))
	}
	slices.Sort(names)
	slices.Sort(fields)
	if d := cmp.Diff(names, fields); d != "" {
		t.Errorf("the table and the file differ (-table +file):\n%s", d)
	}

	// What is said to be the default is what holds without it.
	home := t.TempDir()
	t.Setenv("HOME", home)
	configured := func(text string) settings {
		name := filepath.Join(home, "config.toml")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		a := &app{getenv: func(v string) string {
			if v == "YORE_CONFIG" {
				return name
			}
			return ""
		}}
		root := a.newRoot()
		cmd, _, err := root.Find([]string{"mcp"})
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.ParseFlags(nil); err != nil {
			t.Fatal(err)
		}
		s, err := a.configure(cmd)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	without, with := configured(""), configured(sampleFile())
	if with.index != filepath.Join(home, ".cache", "yore") || with.archive != filepath.Join(home, "sessions") || with.inlineBytes == nil || *with.inlineBytes != 10000 || len(with.sources) != 4 {
		t.Errorf("the sample file gives %+v", with)
	}
	src := filepath.Join(home, "src", "app")
	if team := with.team; team.url != "https://yore.example.com" || team.tokenFile != filepath.Join(home, ".config", "yore", "team-token") || team.name(src) != "app" || !slices.Equal(team.push, []string{src}) {
		t.Errorf("the sample file's team is %+v", team)
	}
	if team := without.team; team.url != "" || team.push != nil || with.team.timeout != team.timeout {
		t.Errorf("without a team: %+v", team)
	}
	with.index, with.archive, with.inlineBytes, with.sources, with.team = without.index, without.archive, without.inlineBytes, without.sources, without.team
	if !reflect.DeepEqual(without, with) {
		t.Errorf("the sample's settings are not the defaults:\n%+v\n%+v", with, without)
	}
}

// Whatever the program asks the environment is on the page.
func TestConfigurationIsWhole(t *testing.T) {
	page, err := os.ReadFile(configurationPage)
	if err != nil {
		t.Fatal(err)
	}
	asked := regexp.MustCompile(`(?:[gG]etenv|LookupEnv|folder)\("([A-Z_]+)"\)`)
	found := 0
	for _, dir := range []string{"../../internal", "../../reader", "../.."} {
		err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() && (dir == "../.." && name != "." || d.Name() == "testdata" || slices.Contains(testOnly, d.Name())) {
				if err == nil {
					err = fs.SkipDir
				}
				return err
			}
			if filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
				return nil
			}
			text, err := os.ReadFile(filepath.Join(dir, name))
			for _, m := range asked.FindAllSubmatch(text, -1) {
				found++
				if !bytes.Contains(page, []byte("`"+string(m[1])+"`")) {
					t.Errorf("%s asks for %s, which docs/configuration.md does not name", name, m[1])
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, agent := range setup.Agents() {
		home, _ := setup.Home(agent)
		user, profile := setup.Elsewhere(agent)
		for _, name := range []string{home, setup.File(agent), user, profile} {
			if name != "" && !bytes.Contains(page, []byte("`"+name+"`")) {
				t.Errorf("setup of %s asks for %s, which docs/configuration.md does not name", agent, name)
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d variables found: the test looks in the wrong place", found)
	}
}

// testOnly are packages that are no part of the product.
var testOnly = []string{"bench", "load", "attack", "e2e", "footprint", "mockmodel", "corpus", "storetest", "readertest"}
