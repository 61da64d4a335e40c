package setup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/fault"
)

var (
	bare = Server{Name: "yore", Command: "/opt/yore", Args: []string{"mcp"}}
	full = Server{Name: "yore", Command: "/opt/yo re/yore", Args: []string{"mcp", "--workspace", `/srv/it's "q"`}, Env: map[string]string{"YORE_INDEX": "/i", "CODEX_HOME": "/c"}}
)

func target(t *testing.T, agent Agent) Target {
	t.Helper()
	home := t.TempDir()
	to, err := Places{Home: home}.User(agent)
	if err != nil {
		t.Fatal(err)
	}
	return to
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// names lists what lies in a folder.
func names(t *testing.T, dir string) []string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range list {
		all = append(all, e.Name())
	}
	return all
}

const claudeBare = `"yore": {
      "type": "stdio",
      "command": "/opt/yore",
      "args": [
        "mcp"
      ],
      "env": {}
    }`

const dshBare = `- insert:
    - id: mcp-yore
      name: '@deepseek-ai/dsh-mcp-client'
      config:
        serverName: 'yore'
        transport: stdio
        command: '/opt/yore'
        args: ['mcp']
`

const codexBare = "[mcp_servers.yore]\ncommand = \"/opt/yore\"\nargs = [\"mcp\"]\n"

// What Claude Code 2.1.332 and Codex 0.171.0 write themselves for such an entry
// is what is wanted here; everything around it stays as it is.
func TestAdd(t *testing.T) {
	for _, tc := range []struct {
		name          string
		agent         Agent
		server        Server
		before, after string
	}{
		{"claude, empty", Claude, bare, "", "{\n  \"mcpServers\": {\n    " + claudeBare + "\n  }\n}\n"},
		{"claude, empty object", Claude, bare, " {} \n", " {\n  \"mcpServers\": {\n    " + claudeBare + "\n  }\n} \n"},
		{"claude, other settings, no end of line", Claude, bare, "{\n  \"n\": 1e400,\n  \"s\": \"<&>\"\n}",
			"{\n  \"n\": 1e400,\n  \"s\": \"<&>\",\n  \"mcpServers\": {\n    " + claudeBare + "\n  }\n}"},
		{"claude, other servers", Claude, bare, "{\n  \"mcpServers\": {\n    \"x\": {\"url\": \"http://a\", \"type\": \"http\"}\n  },\n  \"z\": [ ]\n}\n",
			"{\n  \"mcpServers\": {\n    \"x\": {\"url\": \"http://a\", \"type\": \"http\"},\n    " + claudeBare + "\n  },\n  \"z\": [ ]\n}\n"},
		{"claude, no servers left", Claude, bare, "{\n  \"mcpServers\": {}\n}", "{\n  \"mcpServers\": {\n    " + claudeBare + "\n  }\n}"},
		{"claude, one line", Claude, bare, `{"a":"}{","mcpServers":{"x":{"command":"\"y"}}}`,
			`{"a":"}{","mcpServers":{"x":{"command":"\"y"}, "yore": {"type":"stdio","command":"/opt/yore","args":["mcp"],"env":{}}}}`},
		{"claude, tabs, CRLF, mark", Claude, bare, "\ufeff{\r\n\t\"a\": 1\r\n}\r\n",
			"\ufeff{\r\n\t\"a\": 1,\r\n\t\"mcpServers\": {\r\n\t\t" + strings.NewReplacer("\n", "\r\n", "  ", "\t").Replace(strings.ReplaceAll(claudeBare, "\n    ", "\n\t\t")) + "\r\n\t}\r\n}\r\n"},
		{"claude, everything", Claude, full, "", `{
  "mcpServers": {
    "yore": {
      "type": "stdio",
      "command": "/opt/yo re/yore",
      "args": [
        "mcp",
        "--workspace",
        "/srv/it's \"q\""
      ],
      "env": {
        "CODEX_HOME": "/c",
        "YORE_INDEX": "/i"
      }
    }
  }
}
`},
		{"codex, empty", Codex, bare, "", codexBare},
		{"codex, comments, no end of line", Codex, bare, "# mine\nmodel = \"x\" # why\n[mcp_servers.z]\ncommand = 'z'", "# mine\nmodel = \"x\" # why\n[mcp_servers.z]\ncommand = 'z'\n\n" + codexBare},
		{"codex, CRLF", Codex, bare, "a = 1\r\n", "a = 1\r\n\r\n" + strings.ReplaceAll(codexBare, "\n", "\r\n")},
		{"codex, servers in one table", Codex, bare, "[mcp_servers]\nz = { command = \"z\" }\n", "[mcp_servers]\nz = { command = \"z\" }\n\n" + codexBare},
		{"codex, everything", Codex, full, "", `[mcp_servers.yore]
command = "/opt/yo re/yore"
args = ["mcp", "--workspace", "/srv/it's \"q\""]

[mcp_servers.yore.env]
CODEX_HOME = "/c"
YORE_INDEX = "/i"
`},
		{"dsh, empty", DSH, bare, "", dshBare},
		{"dsh, comments only", DSH, bare, "# mine", "# mine\n" + dshBare},
		// As the agent makes it with a profile; a list of its own behind it would be two.
		{"dsh, no change yet", DSH, bare, "# Your patch layer\n[]\n", "# Your patch layer\n" + dshBare},
		{"dsh, no change yet, CRLF, more behind", DSH, bare, "# a\r\n[]\r\n# b\r\n", "# a\r\n" + strings.ReplaceAll(dshBare, "\n", "\r\n") + "# b\r\n"},
		{"dsh, other changes", DSH, bare, "# a\n- {id: hmr, disabled: false}\n- id: x\n  config: # why\n    dir: !!js process.cwd() || ''\n",
			"# a\n- {id: hmr, disabled: false}\n- id: x\n  config: # why\n    dir: !!js process.cwd() || ''\n" + dshBare},
		{"dsh, indented", DSH, bare, "---\n  - id: x\n    disabled: true\n", "---\n  - id: x\n    disabled: true\n  " + strings.TrimSuffix(strings.ReplaceAll(dshBare, "\n", "\n  "), "  ")},
		{"dsh, CRLF", DSH, bare, "- id: x\r\n", "- id: x\r\n" + strings.ReplaceAll(dshBare, "\n", "\r\n")},
		{"dsh, everything", DSH, full, "", `- insert:
    - id: mcp-yore
      name: '@deepseek-ai/dsh-mcp-client'
      config:
        serverName: 'yore'
        transport: stdio
        command: '/opt/yo re/yore'
        args: ['mcp', '--workspace', '/srv/it''s "q"']
        env:
          'CODEX_HOME': '/c'
          'YORE_INDEX': '/i'
`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			to := target(t, tc.agent)
			put(t, to.Path, tc.before)
			if pending, err := to.Pending(tc.server); err != nil || pending != Added {
				t.Errorf("pending: %s, %v", pending, err)
			}
			r, err := to.Write(tc.server, false)
			if err != nil {
				t.Fatal(err)
			}
			if pending, err := to.Pending(tc.server); err != nil || pending != Unchanged {
				t.Errorf("then pending: %s, %v", pending, err)
			}
			if d := cmp.Diff(tc.after, get(t, to.Path)); d != "" {
				t.Errorf("after (-want +got):\n%s", d)
			}
			if d := cmp.Diff(tc.before, get(t, r.Backup)); r.Change != Added || d != "" {
				t.Errorf("%s, backup (-want +got):\n%s", r.Change, d)
			}
			info, err := os.Stat(to.Path)
			if err != nil || info.Mode().Perm() != 0o640 {
				t.Errorf("mode %v, %v", info.Mode(), err)
			}
			// The second time there is nothing to do.
			files := names(t, filepath.Dir(to.Path))
			again, err := to.Write(tc.server, false)
			if err != nil || again.Change != Unchanged || again.Backup != "" {
				t.Errorf("the second time: %+v, %v", again, err)
			}
			if d := cmp.Diff(files, names(t, filepath.Dir(to.Path))); d != "" {
				t.Errorf("files after the second time (-want +got):\n%s", d)
			}
			// Undone, the file is what it was.
			back, err := to.Undo("yore", runs("/elsewhere"), false)
			if err != nil || back.Change != Restored {
				t.Fatalf("undo: %+v, %v", back, err)
			}
			if d := cmp.Diff(tc.before, get(t, to.Path)); d != "" {
				t.Errorf("undone (-want +got):\n%s", d)
			}
			if back, err = to.Undo("yore", runs("/elsewhere"), false); err != nil || back.Change != Unchanged {
				t.Errorf("undo again: %+v, %v", back, err)
			}
		})
	}
}

// Files that yore cannot have made, and what is left of them without its entry.
func TestRemove(t *testing.T) {
	for _, tc := range []struct {
		name          string
		agent         Agent
		before, after string
	}{
		{"claude, alone", Claude, `{"mcpServers": { "yore": {"command":"yore","args":["mcp"]} } }`, `{"mcpServers": {} }`},
		{"claude, first", Claude, "{\"mcpServers\": {\n \"yore\": {\"command\":\"yore\",\"args\":[\"mcp\"]},\n \"b\": {}\n}}", "{\"mcpServers\": {\n \"b\": {}\n}}"},
		{"claude, last", Claude, "{\"mcpServers\": {\n \"b\": {},\n \"yore\": {\"command\":\"yore\",\"args\":[\"mcp\"]}\n}}", "{\"mcpServers\": {\n \"b\": {}\n}}"},
		{"claude, edited by hand", Claude, `{"mcpServers":{"b":{},"yore":{"command":"/x/yore","args":["-v","mcp"],"timeout":5},"c":{}}}`, `{"mcpServers":{"b":{},"c":{}}}`},
		{"codex, between others", Codex, "a = 1\n\n[mcp_servers.yore] # ours\ncommand = \"yore\"\nargs = [\"mcp\",\n  # why\n  \"-w\", \"[x]\\\"\",\n]\nenabled = true\n\n[ mcp_servers . \"yore\" . env ]\nA = \"\"\"\n[b]\n\"\"\"\n\n# about z\n[mcp_servers.z]\ncommand = \"z\"\n",
			"a = 1\n\n# about z\n[mcp_servers.z]\ncommand = \"z\"\n"},
		{"codex, env elsewhere", Codex, "[mcp_servers.yore.env]\nA = \"1\"\n[other]\nx = '''\n[mcp_servers.yore]\n'''\n[mcp_servers.yore]\ncommand = 'yore'\nargs = ['mcp']",
			"[other]\nx = '''\n[mcp_servers.yore]\n'''\n"},
		{"dsh, a row among others", DSH, "- insert:\n  - id: a\n    name: x\n  - id: q\n    name: '@deepseek-ai/dsh-mcp-client'\n    config: {serverName: yore, transport: stdio, command: yore, args: [mcp]}\n  # about b\n  - id: b\n    name: y\n",
			"- insert:\n  - id: a\n    name: x\n  # about b\n  - id: b\n    name: y\n"},
		{"dsh, a change among others", DSH, "- id: a\n\n# about ours\n" + strings.ReplaceAll(dshBare, "['mcp']", "['mcp', '-w', !!js process.cwd()]") + "\n# about b\n- id: b\n", "- id: a\n\n# about ours\n\n# about b\n- id: b\n"},
		// Without a list the agent does not start.
		{"dsh, the only change", DSH, "# mine\n" + dshBare, "# mine\n[]\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			to := target(t, tc.agent)
			put(t, to.Path, tc.before)
			r, err := to.Undo("yore", runs("yore"), true)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.after, get(t, to.Path)); d != "" {
				t.Errorf("after (-want +got):\n%s", d)
			}
			if r.Change != Removed || get(t, r.Backup) != tc.before {
				t.Errorf("%+v", r)
			}
		})
	}
}

// What cannot be edited is named with its line, and nothing is touched.
func TestRefusals(t *testing.T) {
	for _, tc := range []struct {
		name   string
		agent  Agent
		before string
		undo   bool
		want   string
	}{
		{"claude, comment", Claude, "{\n  // no\n}", false, "line 2: "},
		{"claude, cut off", Claude, "{\n  \"a\": {\n", false, "unexpected end of JSON input"},
		{"claude, two documents", Claude, "{}\n{}", false, "line 2: "},
		{"claude, a list", Claude, "[]", false, "holds no JSON object"},
		{"claude, servers a list", Claude, "{\n\"mcpServers\": []}", false, "line 2: mcpServers is no object"},
		{"claude, servers twice", Claude, "{\"mcpServers\": {},\n\"mcpServers\": {}}", false, `line 2: "mcpServers" stands twice`},
		{"claude, server twice", Claude, "{\"mcpServers\": {\"yore\":{},\n\"yore\":{}}}", false, `line 2: "yore" stands twice`},
		{"claude, edited by hand", Claude, "{\"mcpServers\": {\n\"yore\":{\"command\":\"/opt/yore\",\"args\":[\"mcp\"],\"timeout\":3}}}", false, "line 2: the server \"yore\" is there already and differs"},
		{"claude, a stranger of that name", Claude, `{"mcpServers": {"yore":{"command":"/bin/other","args":["mcp"]}}}`, true, "line 1: setup did not write the server \"yore\": it starts /bin/other, which is not this program; --replace"},
		{"claude, a remote server of that name", Claude, `{"mcpServers": {"yore":{"type":"http","url":"http://x"}}}`, true, "it has settings that setup does not make"},
		{"codex, broken", Codex, "a = 1\nb = \n", false, "line 2: "},
		{"codex, key twice", Codex, "a = 1\na = 2\n", false, "line 2: "},
		{"codex, servers no table", Codex, "mcp_servers = 1\n", false, "mcp_servers is no table"},
		{"codex, servers inline", Codex, "mcp_servers = { z = { command = \"z\" } }\n", false, "change it by hand"},
		{"codex, edited by hand", Codex, "\n" + codexBare + "tool_timeout_sec = 3\n", false, "line 2: the server \"yore\" is there already and differs"},
		{"codex, inline entry", Codex, "[mcp_servers]\nyore = { command = \"yore\", args = [\"mcp\"] }\n", true, "by hand"},
		{"codex, dotted entry", Codex, "mcp_servers.yore.command = \"yore\"\nmcp_servers.yore.args = [\"mcp\"]\n", true, "by hand"},
		{"dsh, broken", DSH, "- a: b\n- c: 'x\n", false, "line 2: "},
		{"dsh, a mapping", DSH, "\na: b\n", false, "line 2: the file holds no list of changes"},
		{"dsh, two documents", DSH, "- id: a\n---\n- id: b\n", false, "second document"},
		{"dsh, brackets", DSH, "[{id: a}]\n", false, "line 1: the list is written in brackets"},
		{"dsh, brackets over lines", DSH, "[\n]\n", false, "line 1: the list is written in brackets"},
		{"dsh, ended", DSH, "- id: a\n...\n", false, "by hand"},
		{"dsh, edited by hand", DSH, dshBare + "        timeout: 5\n", false, "line 2: the server \"yore\" is there already and differs"},
		{"dsh, a lone carriage return", DSH, "# a\n# b\r# c\n", false, "line 2: a line ends"},
		{"dsh, twice", DSH, dshBare + dshBare, false, "line 2: the server \"yore\" stands twice"},
		{"dsh, row in brackets", DSH, "- insert: [{id: q, name: '@deepseek-ai/dsh-mcp-client', config: {serverName: yore, command: yore, args: [mcp]}}]\n", false, "differs"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			to := target(t, tc.agent)
			put(t, to.Path, tc.before)
			var err error
			if tc.undo {
				_, err = to.Undo("yore", runs("yore"), false)
			} else {
				_, err = to.Write(bare, false)
			}
			if !errors.Is(err, fault.InvalidConfig) || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), to.Path) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			if got := get(t, to.Path); got != tc.before {
				t.Errorf("the file is now %q", got)
			}
			if d := cmp.Diff([]string{filepath.Base(to.Path)}, names(t, filepath.Dir(to.Path))); d != "" {
				t.Errorf("files (-want +got):\n%s", d)
			}
		})
	}
}

func TestReplace(t *testing.T) {
	for agent, before := range map[Agent]string{
		Claude: `{"mcpServers":{"yore":{"command":"/old/yore","args":["mcp"],"timeout":3},"b":{}}}`,
		Codex:  "[mcp_servers.yore]\ncommand = \"/old/yore\"\nenabled = false\n\n[b]\n",
		DSH:    "- id: a\n" + strings.Replace(dshBare, "/opt", "/old", 1) + "- id: b\n",
	} {
		to := target(t, agent)
		put(t, to.Path, before)
		if pending, err := to.Pending(full); err != nil || pending != Replaced {
			t.Errorf("%s, pending: %s, %v", agent, pending, err)
		}
		r, err := to.Write(full, true)
		if err != nil || r.Change != Replaced || get(t, r.Backup) != before {
			t.Errorf("%s: %+v, %v", agent, r, err)
		}
		if r, err = to.Write(full, false); err != nil || r.Change != Unchanged {
			t.Errorf("%s, again: %+v, %v\n%s", agent, r, err, get(t, to.Path))
		}
	}
}

// runs is the command of this program.
func runs(own string) func(string) bool {
	return func(command string) bool { return command == own }
}

// An entry that somebody else wrote, or has changed since, is not taken out
// unless that is said.
func TestUndoOfAnothersEntry(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"another command", "[mcp_servers.yore]\ncommand = \"/opt/else/yore\"\nargs = [\"mcp\"]\n", "it starts /opt/else/yore, which is not this program"},
		{"settings of its own", "[mcp_servers.yore]\ncommand = \"/opt/yore\"\nargs = [\"mcp\"]\ntool_timeout_sec = 3\n", "settings that setup does not make"},
		{"switched off", "[mcp_servers.yore]\ncommand = \"/opt/yore\"\nargs = [\"mcp\"]\nenabled = false\n", "settings that setup does not make"},
		{"arguments of its own", "[mcp_servers.yore]\ncommand = \"/opt/yore\"\nargs = [\"mcp\", \"--max-inline-bytes\", \"0\"]\n", "its arguments are not those that setup gives"},
		{"no arguments", "[mcp_servers.yore]\ncommand = \"/opt/yore\"\n", "its arguments are not those that setup gives"},
		{"ours", "[mcp_servers.yore]\ncommand = \"/opt/yore\"\nargs = [\"mcp\"]\n", ""},
		{"ours, for one folder", "[mcp_servers.yore]\ncommand = \"/opt/yore\"\nargs = [\"mcp\", \"--workspace\", \"/w\"]\n[mcp_servers.yore.env]\nA = \"1\"\n", ""},
	} {
		to := target(t, Codex)
		put(t, to.Path, "a = 1\n"+tc.text)
		r, err := to.Undo("yore", runs("/opt/yore"), false)
		if tc.want != "" {
			if !errors.Is(err, fault.InvalidConfig) || !strings.Contains(err.Error(), "line 2: ") || !strings.Contains(err.Error(), tc.want) || get(t, to.Path) != "a = 1\n"+tc.text {
				t.Errorf("%s: got %v", tc.name, err)
			}
			r, err = to.Undo("yore", runs("/opt/yore"), true)
		}
		if err != nil || r.Change != Removed || get(t, to.Path) != "a = 1\n" {
			t.Errorf("%s: %+v, %v; the file is %q", tc.name, r, err, get(t, to.Path))
		}
	}
}

func TestNewFile(t *testing.T) {
	for _, agent := range Agents() {
		to := target(t, agent)
		r, err := to.Write(bare, false)
		if err != nil || r.Change != Added || r.Backup != "" {
			t.Fatalf("%s: %+v, %v", agent, r, err)
		}
		info, err := os.Stat(to.Path)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v, %v", agent, info.Mode(), err)
		}
		if snippet, err := to.Snippet(bare); err != nil || snippet != get(t, to.Path) {
			t.Errorf("%s: the snippet is %q, %v", agent, snippet, err)
		}
		if r, err = to.Undo("yore", runs("/elsewhere"), false); err != nil || r.Change != Deleted {
			t.Errorf("%s: %+v, %v", agent, r, err)
		}
		if _, err := os.Lstat(to.Path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the file is still there: %v", agent, err)
		}
	}
}

func TestLink(t *testing.T) {
	to := target(t, Codex)
	dir := t.TempDir()
	dots := filepath.Join(dir, "dots.toml")
	put(t, dots, "a = 1\n")
	if err := os.MkdirAll(filepath.Dir(to.Path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dots, to.Path); err != nil {
		t.Fatal(err)
	}
	r, err := to.Write(bare, false)
	if err != nil {
		t.Fatal(err)
	}
	if want := "a = 1\n\n" + codexBare; get(t, dots) != want || get(t, to.Path) != want {
		t.Errorf("behind the link: %q", get(t, dots))
	}
	if link, err := os.Readlink(to.Path); err != nil || link != dots {
		t.Errorf("the link is %q, %v", link, err)
	}
	if filepath.Dir(r.Backup) != filepath.Dir(r.Path) {
		t.Errorf("the backup %s is not beside %s", r.Backup, r.Path)
	}
	if err := os.Remove(dots); err != nil {
		t.Fatal(err)
	}
	if _, err := to.Write(bare, false); !errors.Is(err, fault.InvalidConfig) || !strings.Contains(err.Error(), "link") {
		t.Errorf("a dangling link: %v", err)
	}
}

func TestFilesThatAreNotWritten(t *testing.T) {
	to := target(t, Claude)
	put(t, to.Path, "{}")
	if err := os.Chmod(to.Path, 0o440); err != nil {
		t.Fatal(err)
	}
	if _, err := to.Write(bare, false); !errors.Is(err, fault.InvalidConfig) || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("a read-only file: %v", err)
	}
	if d := cmp.Diff([]string{".claude.json"}, names(t, filepath.Dir(to.Path))); d != "" || get(t, to.Path) != "{}" {
		t.Errorf("files (-want +got):\n%s", d)
	}
	to = target(t, Codex)
	if err := os.MkdirAll(to.Path, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := to.Write(bare, false); !errors.Is(err, fault.InvalidConfig) || !strings.Contains(err.Error(), "no file") {
		t.Errorf("a folder: %v", err)
	}
}

// A backup is never written over, and one that holds the same is not made twice.
func TestBackups(t *testing.T) {
	to := target(t, Codex)
	put(t, to.Path, "a = 1\n")
	taken := to.Path + ".yore-backup"
	put(t, taken, "precious")
	first, err := to.Write(bare, false)
	if err != nil {
		t.Fatal(err)
	}
	if first.Backup != taken+"-2" || get(t, taken) != "precious" {
		t.Errorf("the backup is %s", first.Backup)
	}
	for range 3 {
		if _, err := to.Undo("yore", runs("/elsewhere"), false); err != nil {
			t.Fatal(err)
		}
		if _, err := to.Write(bare, false); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff([]string{"config.toml", "config.toml.yore-backup", "config.toml.yore-backup-2", "config.toml.yore-backup-3"}, names(t, filepath.Dir(to.Path))); d != "" {
		t.Errorf("files (-want +got):\n%s", d)
	}
}

// A file that an agent wrote in between is not written over.
func TestWrittenMeanwhile(t *testing.T) {
	to := target(t, Claude)
	put(t, to.Path, "{}")
	c, err := to.read()
	if err != nil {
		t.Fatal(err)
	}
	put(t, to.Path, `{"a":1}`)
	if _, err := to.replace(c, []byte(`{"b":2}`)); !errors.Is(err, fault.InvalidConfig) || !strings.Contains(err.Error(), "try again") {
		t.Errorf("got %v", err)
	}
	if got := get(t, to.Path); got != `{"a":1}` {
		t.Errorf("the file is now %q", got)
	}
	if d := cmp.Diff([]string{".claude.json", ".claude.json.yore-backup"}, names(t, filepath.Dir(to.Path))); d != "" {
		t.Errorf("files (-want +got):\n%s", d)
	}
}
