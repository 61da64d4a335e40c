package setup

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// loose is a configuration as people write JSON5.
const loose = `// my claw
{
  $schema: 'https://x/y', // a name without quotes
  gateway: { port: 0x4965, bind: "loop\
back", },
  mcp: {
    sessionIdleTtlMs: 1e3,
    servers: {
      'docs': { url: 'http://127.0.0.1/a//b', enabled: false }, // "docs"
      old: { command: 'true', args: ['it\'s "so"', +.5, Infinity,], },
    },
  },
}
`

// What is added stands behind the last entry, and everything else as it was.
func TestJSON5(t *testing.T) {
	to := target(t, OpenClaw)
	put(t, to.Path, loose)
	if _, err := to.Write(bare, false); err != nil {
		t.Fatal(err)
	}
	const entry = `,
      "yore": {
        "command": "/opt/yore",
        "args": [
          "mcp"
        ]
      }`
	const end = "Infinity,], }"
	want := strings.Replace(loose, end, end+entry, 1)
	if diff := cmp.Diff(want, get(t, to.Path)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	all, err := to.format.entries([]byte(want))
	if err != nil || len(all) != 3 || all[0].Name != "docs" || !all[0].disabled || all[0].line != 9 || all[1].Command != "true" || all[2].line != 11 {
		t.Errorf("%+v, %v", all, err)
	}
	if r, err := to.Undo("yore", stranger, false); err != nil || r.Change != Restored {
		t.Errorf("%+v, %v", r, err)
	}
	if diff := cmp.Diff(loose, get(t, to.Path)); diff != "" {
		t.Errorf("undone (-want +got):\n%s", diff)
	}
}

// Objects that are missing on the way are made, where their place is.
func TestJSON5Missing(t *testing.T) {
	for text, want := range map[string]string{
		"{agent: {},}":                    "{agent: {}, \"mcp\": {\"servers\":{\"yore\":{\"command\":\"/opt/yore\",\"args\":[\"mcp\"]}}},}",
		"{\n\tmcp: {\n\t\tx: 1,\n\t},\n}": "{\n\tmcp: {\n\t\tx: 1,\n\t\t\"servers\": {\n\t\t\t\"yore\": {\n\t\t\t\t\"command\": \"/opt/yore\",\n\t\t\t\t\"args\": [\n\t\t\t\t\t\"mcp\"\n\t\t\t\t]\n\t\t\t}\n\t\t},\n\t},\n}",
	} {
		got, err := openClawForm().add([]byte(text), bare)
		if err != nil || string(got) != want {
			t.Errorf("%q: %q, %v", text, got, err)
		}
		back, err := openClawForm().remove(got, "yore")
		if err != nil {
			t.Fatal(err)
		}
		if err := target(t, OpenClaw).verify([]byte(text), back, "yore", nil); err != nil {
			t.Errorf("%q: %v", back, err)
		}
	}
	for _, text := range []string{"{mcp: []}", "{mcp: {servers: 1}}", "{a b: 1}", "{a: 01}", "{a: 'x}", "{a: \"\n\"}", "{a: 1, a: 2}", "{a: undefined}", "[1]", "{a: /* }"} {
		if got, err := openClawForm().add([]byte(text), bare); err == nil {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// By the examples of the grammar's own text: each pair says the same.
func TestOfJSON5(t *testing.T) {
	for five, strict := range map[string]string{
		`{unquoted: 'and you can quote me on that'}`:          `{"unquoted":"and you can quote me on that"}`,
		`{singleQuotes: 'I can use "double quotes" here'}`:    `{"singleQuotes":"I can use \"double quotes\" here"}`,
		"{lineBreaks: \"Look, Mom! \\\nNo \\\\n's!\"}":        `{"lineBreaks":"Look, Mom! No \\n's!"}`,
		`{leading: .5, trailing: 5., hex: 0xdecaf, plus: +1}`: `{"leading":".5","trailing":"5.","hex":"0xdecaf","plus":"+1"}`,
		`{andIn: ['arrays',], "b": -1.5e3, ünï_1: null}`:      `{"andIn":["arrays"],"b":-1.5e3,"ünï_1":null}`,
		"'\\x41\\v\\0\\'\\q\\u00e9\t'":                        `"A\u000b\u0000'qé\t"`,
		"\u00a0{\ufeffInfinity: NaN}":                         `{"Infinity":"NaN"}`,
		"'a\\\r\nb\\\u2028c'":                                 `"abc"`,
	} {
		got := ofJSON5([]byte(five))
		var a, b any
		if err := json.Unmarshal(got.text, &a); err != nil {
			t.Errorf("%s becomes %s: %v", five, got.text, err)
			continue
		}
		if err := json.Unmarshal([]byte(strict), &b); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(b, a); diff != "" {
			t.Errorf("%s (-want +got):\n%s", five, diff)
		}
		if strings.Count(five, "\n") != strings.Count(string(got.text), "\n") {
			t.Errorf("%q has other lines than %q", got.text, five)
		}
	}
}

// A comment that stands before the entry is about the one above it.
func TestCommentsBefore(t *testing.T) {
	for text, want := range map[string]string{
		"{\"mcpServers\": {\n  \"a\": {}, // a\n  \"yore\": {}\n}}":                       "{\"mcpServers\": {\n  \"a\": {} // a\n}}",
		"{\"mcpServers\": {\n  \"a\": {} /* a */, // b\n  \"yore\": {},\n  \"c\": {}\n}}": "{\"mcpServers\": {\n  \"a\": {} /* a */, // b\n  \"c\": {}\n}}",
	} {
		got, err := geminiForm().remove([]byte(text), "yore")
		if err != nil || string(got) != want {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}

// Where the files of agents are that have several names for one.
func TestSeveralNames(t *testing.T) {
	home := t.TempDir()
	p := Places{Home: home}
	path := func(agent Agent) string {
		to, err := p.User(agent)
		if err != nil {
			t.Fatal(err)
		}
		rel, err := filepath.Rel(home, to.Path)
		if err != nil {
			t.Fatal(err)
		}
		return filepath.ToSlash(rel)
	}
	for _, step := range []struct {
		agent      Agent
		make, want string
	}{
		{Kilo, "", ".config/kilo/kilo.jsonc"}, {Kilo, ".config/kilo/config.json", ".config/kilo/config.json"}, {Kilo, ".config/kilo/kilo.json", ".config/kilo/kilo.json"},
		{OpenClaw, "", ".openclaw/openclaw.json"}, {OpenClaw, ".moltbot/moltbot.json", ".moltbot/moltbot.json"},
		{OpenClaw, ".clawdbot/clawdbot.json", ".clawdbot/clawdbot.json"}, {OpenClaw, ".openclaw/openclaw.json", ".openclaw/openclaw.json"},
	} {
		if step.make != "" {
			put(t, filepath.Join(home, filepath.FromSlash(step.make)), "{}")
		}
		if got := path(step.agent); got != step.want {
			t.Errorf("%s: %s, want %s", step.agent, got, step.want)
		}
	}
	p.Files = map[Agent]string{OpenClaw: filepath.Join(home, "x.json")}
	if got := path(OpenClaw); got != "x.json" {
		t.Error(got)
	}
}

func TestWorkspaceOfOpenClaw(t *testing.T) {
	home := t.TempDir()
	p := Places{Home: home}
	usual := filepath.Join(home, ".openclaw", "workspace")
	to, err := p.User(OpenClaw)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"": usual, "{": usual, "{agents: {defaults: {workspace: '~/notes'}}}": filepath.Join(home, "notes"),
		"{agents: {defaults: {workspace: '/srv/x/'}}}": "/srv/x", "{agents: {defaults: {workspace: 'x'}}}": usual, "{agents: {defaults: {workspace: 3}}}": usual,
	} {
		if text != "" {
			put(t, to.Path, text)
		} else if _, err := os.Stat(to.Path); err == nil {
			t.Fatal(to.Path)
		}
		if got := p.Workspace(OpenClaw); got != want && filepath.Separator == '/' {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
		if err := os.RemoveAll(filepath.Dir(to.Path)); err != nil {
			t.Fatal(err)
		}
	}
	if got := p.Workspace(Kilo); got != "" {
		t.Error(got)
	}
}

// A folder that stands for the user's home moves everything; a profile has a state
// folder and a workspace of its own, and none of the product's earlier names.
func TestOpenClawElsewhere(t *testing.T) {
	home := t.TempDir()
	at := func(names ...string) string { return filepath.Join(append([]string{home}, names...)...) }
	put(t, at("o", ".clawdbot", "clawdbot.json"), "{}")
	for name, c := range map[string]struct {
		users, homes, profiles string
		file, workspace        string
	}{
		"the user's home":       {"", "", "", at(".openclaw", "openclaw.json"), at(".openclaw", "workspace")},
		"another home":          {at("o"), "", "", at("o", ".clawdbot", "clawdbot.json"), at("o", ".openclaw", "workspace")},
		"a profile":             {"", "", "work", at(".openclaw-work", "openclaw.json"), at(".openclaw", "workspace-work")},
		"the usual profile":     {"", "", "Default", at(".openclaw", "openclaw.json"), at(".openclaw", "workspace")},
		"no profile's name":     {"", "", "../x", at(".openclaw", "openclaw.json"), at(".openclaw", "workspace")},
		"both":                  {at("o"), "", "work", at("o", ".openclaw-work", "openclaw.json"), at("o", ".openclaw", "workspace-work")},
		"a state folder wins":   {at("o"), at("s"), "work", at("s", "openclaw.json"), at("o", ".openclaw", "workspace-work")},
		"a state folder, alone": {"", at("s"), "", at("s", "openclaw.json"), at(".openclaw", "workspace")},
	} {
		p := Places{
			Home: home, Homes: map[Agent]string{OpenClaw: c.homes}, Users: map[Agent]string{OpenClaw: c.users}, Profiles: map[Agent]string{OpenClaw: c.profiles, Kilo: "work"},
		}
		to, err := p.User(OpenClaw)
		if err != nil || to.Path != c.file {
			t.Errorf("%s: %s, want %s: %v", name, to.Path, c.file, err)
		}
		if got := p.Workspace(OpenClaw); got != c.workspace {
			t.Errorf("%s: workspace %s, want %s", name, got, c.workspace)
		}
	}
	put(t, at("o", ".openclaw", "openclaw.json"), "{agents: {defaults: {workspace: '~/notes'}}}")
	p := Places{Home: home, Users: map[Agent]string{OpenClaw: at("o")}}
	if got := p.Workspace(OpenClaw); got != at("o", "notes") {
		t.Error(got)
	}
}
