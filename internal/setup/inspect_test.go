package setup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What is switched off is found and is no problem; what holds for one folder is
// looked at for that folder.
func TestInspectSwitchedOff(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "yore")
	if err := os.Symlink(self, program); err != nil {
		t.Fatal(err)
	}
	const here = "/srv/code/alpha"
	server := Server{Name: "yore", Command: program, Args: []string{"mcp"}}
	gone := Server{Name: "yore", Command: "/nowhere/yore", Args: []string{"mcp"}}
	claude := func(projects string) string {
		return strings.ReplaceAll("{\n\"mcpServers\": {\"yore\": {\"command\": \"PROGRAM\", \"args\": [\"mcp\"]}},\n\"projects\": "+projects+"\n}", "PROGRAM", program)
	}
	for _, tc := range []struct {
		name, file, text string
		found            []Entry
		problems         []string
	}{
		{"codex, switched off", ".codex/config.toml", "[mcp_servers.yore]\ncommand = \"/nowhere/yore\"\nargs = [\"mcp\"]\nenabled = false\n", []Entry{{Line: 1, Server: gone, Disabled: true}}, nil},
		{"codex, switched on", ".codex/config.toml", "[mcp_servers.yore]\ncommand = \"" + program + "\"\nargs = [\"mcp\"]\nenabled = true\n", []Entry{{Line: 1, Server: server}}, nil},
		{"claude, switched off here", ".claude.json", claude(`{"/srv/code/alpha": {"disabledMcpServers": ["x", "yore"]}}`), []Entry{{Line: 2, Server: server, Disabled: true}}, nil},
		{"claude, switched off elsewhere", ".claude.json", claude(`{"/srv/code/beta": {"disabledMcpServers": ["yore"]}}`), []Entry{{Line: 2, Server: server}}, nil},
		{"claude, an entry of this folder that is gone", ".claude.json", claude("{\"/srv/code/alpha\": {\n\"mcpServers\": {\n\"yore\": {\"command\": \"/nowhere/yore\", \"args\": [\"mcp\"]}}}}"),
			[]Entry{{Line: 5, Server: gone}, {Line: 2, Server: server}}, []string{"the command /nowhere/yore is not there, or cannot be run"}},
		{"claude, an odd folder", ".claude.json", claude(`{"/srv/code/alpha": {"disabledMcpServers": 7, "mcpServers": []}}`), []Entry{{Line: 2, Server: server}}, nil},
		{"claude, odd folders", ".claude.json", claude(`[]`), []Entry{{Line: 2, Server: server}}, nil},
	} {
		home := t.TempDir()
		path := filepath.Join(home, tc.file)
		put(t, path, tc.text)
		all := Inspect(Places{Home: home}, here, stranger)
		if len(all) != 1 {
			t.Fatalf("%s: %v", tc.name, all)
		}
		for i := range tc.found {
			tc.found[i].Path = path
		}
		if d := cmp.Diff(tc.found, all[0].Found); d != "" {
			t.Errorf("%s: found (-want +got):\n%s", tc.name, d)
		}
		var reasons []string
		for _, p := range all[0].Problems {
			reasons = append(reasons, p.Reason)
		}
		if d := cmp.Diff(tc.problems, reasons); d != "" {
			t.Errorf("%s: problems (-want +got):\n%s", tc.name, d)
		}
	}
}
