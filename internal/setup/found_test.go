package setup

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/fault"
)

func TestPlaces(t *testing.T) {
	home := t.TempDir()
	at := func(parts ...string) string { return filepath.Join(append([]string{home}, parts...)...) }
	path := func(p Places, a Agent) string {
		to, err := p.User(a)
		if err != nil {
			t.Fatal(err)
		}
		return to.Path
	}
	usual := Places{Home: home}
	moved := Places{Home: home, Homes: map[Agent]string{Claude: at("c"), Codex: at("x"), DSH: at("d"), Pi: at("p")}}
	for got, want := range map[string]string{
		path(usual, Claude): at(".claude.json"), path(usual, Codex): at(".codex", "config.toml"), path(usual, DSH): at(".dsh", "cordis.patch.yml"),
		path(moved, Claude): at("c", ".claude.json"), path(moved, Codex): at("x", "config.toml"), path(moved, DSH): at("d", "cordis.patch.yml"),
		path(usual, Pi): at(".pi", "agent", "mcp.json"), path(moved, Pi): at("p", "mcp.json"), path(usual, Copilot): at(".copilot", "mcp-config.json"),
		path(usual, Kimi): at(".kimi-code", "mcp.json"),
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	put(t, at(".claude", ".config.json"), "{}")
	if got := path(usual, Claude); got != at(".claude", ".config.json") {
		t.Errorf("an older file: %s", got)
	}
	if p, err := usual.Profile("headless"); err != nil || p.Path != at(".dsh", "profiles", "headless", "cordis.patch.yml") {
		t.Errorf("profile: %s, %v", p.Path, err)
	}
	for _, name := range []string{"", "..", "a/b", ".hidden", "a b"} {
		if _, err := usual.Profile(name); !errors.Is(err, fault.InvalidArgs) {
			t.Errorf("profile %q: %v", name, err)
		}
	}
	for _, name := range []string{"", "a b", "a.b", "ä", strings.Repeat("a", 33)} {
		if err := CheckName(name); !errors.Is(err, fault.InvalidArgs) {
			t.Errorf("name %q: %v", name, err)
		}
	}
}

func stranger(string) bool { return false }

// An entry is found whatever its program is called.
func TestInspectOtherNames(t *testing.T) {
	for command, want := range map[string]struct{ name, own bool }{
		"/opt/x/yore-1.2": {}, "yore.exe": {}, `C:\x\yore_amd64.exe`: {}, "/opt/wrapper": {name: true}, "/opt/same": {own: true},
	} {
		home := t.TempDir()
		name := "history"
		if want.name {
			name = "yore"
		}
		quoted, err := json.Marshal(command)
		if err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Join(home, ".cursor", "mcp.json"), `{"mcpServers":{"other":{"command":"/opt/yoreish","args":["mcp"]},"`+name+`":{"command":`+string(quoted)+`,"args":["mcp"]}}}`)
		all := Inspect(Places{Home: home}, "", func(c string) bool { return want.own && c == command })
		if len(all) != 1 || len(all[0].Found) != 1 || all[0].Found[0].Server.Command != command {
			t.Errorf("%s: %+v", command, all)
		}
	}
}

func TestInspect(t *testing.T) {
	home, project := t.TempDir(), t.TempDir()
	p := Places{Home: home}
	if got := Inspect(p, project, stranger); len(got) != 0 {
		t.Errorf("nobody is here, and found are %v", got)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(home, "yore")
	if err := os.Symlink(self, program); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(home, ".claude.json"), `{"mcpServers":{"other":{"command":"x"}}}`)
	put(t, filepath.Join(project, ".mcp.json"), `{"mcpServers":{"y":{"command":"`+program+`","args":["mcp"]}}}`)
	put(t, filepath.Join(home, ".codex", "config.toml"), "\n[mcp_servers.yore]\ncommand = \"/nowhere/yore\"\nargs = [\"mcp\", \"--workspace=/nowhere\"]\n")
	put(t, filepath.Join(home, ".dsh", "cordis.patch.yml"), "- a: [\n")
	put(t, filepath.Join(home, ".dsh", "profiles", "web", "cordis.patch.yml"), strings.Replace(dshBare, "/opt/yore", program, 1))
	codex, web := filepath.Join(home, ".codex", "config.toml"), filepath.Join(home, ".dsh", "profiles", "web", "cordis.patch.yml")
	want := []Status{
		{Claude, []Entry{{filepath.Join(project, ".mcp.json"), 1, Server{Name: "y", Command: program, Args: []string{"mcp"}}, false}}, nil},
		{Codex, []Entry{{codex, 2, Server{Name: "yore", Command: "/nowhere/yore", Args: []string{"mcp", "--workspace=/nowhere"}}, false}}, []Problem{
			{codex, 2, "the command /nowhere/yore is not there, or cannot be run"}, {codex, 2, "the workspace /nowhere is no folder"},
		}},
		{DSH, []Entry{{web, 2, Server{Name: "yore", Command: program, Args: []string{"mcp"}}, false}}, []Problem{
			{filepath.Join(home, ".dsh", "cordis.patch.yml"), 1, "did not find expected node content"},
			{web, 2, "without --workspace every call is refused: one process of this agent may serve several folders"},
		}},
	}
	if d := cmp.Diff(want, Inspect(p, project, stranger)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
