package setup

import (
	"encoding/json"
	"path/filepath"
	"strings"
)

// known is what there is to know of an agent's configuration.
type known struct {
	agent    Agent
	variable string                // of the environment, which moves the agent's home
	home     string                // in the user's home, where the variable is not set
	folder   string                // in the agent's home: it is there if the agent is; "": the home itself
	chosen   string                // of the environment, which names the file
	user     string                // of the environment, which stands for the user's home
	profile  string                // of the environment, which names one of several homes: the usual one, a dash and the name
	file     func(p Places) string // that holds for every project of the user; nil: name in the home
	name     string
	format   format
}

// all lists every agent, in the order in which they are shown.
func all() []known {
	return []known{
		{agent: Claude, variable: "CLAUDE_CONFIG_DIR", home: ".claude", file: Places.claudeFile, format: claudeForm()},
		{agent: Codex, variable: "CODEX_HOME", home: ".codex", name: "config.toml", format: tomlFile{}},
		{agent: DSH, variable: "DSH_HOME", home: ".dsh", name: patchFile, format: yamlFile{}},
		{agent: Pi, variable: "PI_CODING_AGENT_DIR", home: filepath.Join(".pi", "agent"), name: "mcp.json", format: piForm()},
		{agent: Copilot, variable: "COPILOT_HOME", home: ".copilot", name: "mcp-config.json", format: copilotForm()},
		{agent: OpenCode, variable: "XDG_CONFIG_HOME", home: ".config", folder: "opencode", file: Places.openCodeFile, format: openCodeForm()},
		{agent: Kilo, variable: "XDG_CONFIG_HOME", home: ".config", folder: "kilo", file: Places.kiloFile, format: openCodeForm()},
		{agent: Kimi, variable: "KIMI_CODE_HOME", home: ".kimi-code", name: "mcp.json", format: kimiForm()},
		{agent: Gemini, variable: "GEMINI_CLI_HOME", folder: ".gemini", file: Places.geminiFile, format: geminiForm()}, // the variable moves the user's home
		{agent: Qwen, variable: "QWEN_HOME", home: ".qwen", name: "settings.json", format: geminiForm()},
		{agent: Cursor, home: ".cursor", name: "mcp.json", format: cursorForm()},
		{agent: OpenClaw, variable: "OPENCLAW_STATE_DIR", home: ".openclaw", chosen: "OPENCLAW_CONFIG_PATH", user: "OPENCLAW_HOME", profile: "OPENCLAW_PROFILE", file: Places.openClawFile, format: openClawForm()},
	}
}

// What agents write into a server's entry in JSON, or need there.
//
// Claude Code: as `claude mcp add` writes it. Pi (1.6.0): by default the model
// reaches a server's tools through scripts only; five tools are few enough to be
// declared. Copilot CLI (1.0.102): as `copilot mcp add` writes it; which servers
// are switched off stands in another file. Kimi Code (2.1.0): by its schema.
// Gemini CLI (0.61.0) and Qwen Code (0.24.4): as their mcp add writes it, with
// comments in the file. Cursor: by its documentation.
func claudeForm() jsonFile { return jsonFile{kind: "stdio", env: true} }
func piForm() jsonFile     { return jsonFile{extra: []extra{{"exposure", `"direct"`}}} }
func copilotForm() jsonFile {
	return jsonFile{kind: "local", also: "stdio", extra: []extra{{"tools", `["*"]`}}}
}
func kimiForm() jsonFile   { return jsonFile{} }
func geminiForm() jsonFile { return jsonFile{comments: true, lists: true} }
func cursorForm() jsonFile { return jsonFile{comments: true} }

func (p Places) geminiFile() string {
	return filepath.Join(p.home(Gemini), ".gemini", "settings.json")
}

// OpenCode (1.18.33), by its schema: an entry says in one list what is started. It
// takes commas behind the last of a list.
func openCodeForm() jsonFile {
	return jsonFile{key: "mcp", joined: true, kind: "local", comments: true, trailing: true}
}

// openClawForm is by OpenClaw's documentation and schema (2026.9): servers stand
// two levels down in a file of JSON5.
func openClawForm() jsonFile { return jsonFile{in: "mcp", key: "servers", five: true} }

// openCodeFile is the one of the files that OpenCode reads, or the one it would make.
func (p Places) openCodeFile() string {
	return firstOf([]string{filepath.Join(p.home(OpenCode), "opencode")}, "opencode.json", "opencode.jsonc")
}

// kiloFile is the file that the Kilo CLI writes its own changes into: a fork of
// OpenCode, which reads that one's names, too.
func (p Places) kiloFile() string {
	return firstOf([]string{filepath.Join(p.home(Kilo), "kilo")}, "kilo.jsonc", "kilo.json", "opencode.jsonc", "opencode.json", "config.json")
}

// openClawFile is the first of the files that OpenClaw looks for: the product had
// other names before, under which it has no profiles.
func (p Places) openClawFile() string {
	dirs := []string{p.home(OpenClaw)}
	if p.Homes[OpenClaw] == "" && p.profile(OpenClaw) == "" {
		for _, name := range []string{".clawdbot", ".moldbot", ".moltbot"} {
			dirs = append(dirs, filepath.Join(p.user(OpenClaw), name))
		}
	}
	return firstOf(dirs, "openclaw.json", "clawdbot.json", "moldbot.json", "moltbot.json")
}

// firstOf returns the first file that is there, folder by folder; or else the
// first there could be.
func firstOf(dirs []string, names ...string) string {
	for _, dir := range dirs {
		for _, name := range names {
			if path := filepath.Join(dir, name); exists(path) {
				return path
			}
		}
	}
	return filepath.Join(dirs[0], names[0])
}

// Pinned reports whether an agent starts its servers in a folder of its own,
// whichever session calls, so that they have to be told the workspace.
func Pinned(agent Agent) bool { return agent == DSH || agent == OpenClaw }

// Workspace returns the folder that an agent works in when nothing else is said,
// "" if it has none: OpenClaw's, by its configuration or its custom.
func (p Places) Workspace(agent Agent) string {
	target, err := p.User(agent)
	if err != nil || agent != OpenClaw {
		return ""
	}
	usual := filepath.Join(p.user(OpenClaw), ".openclaw", "workspace"+p.profile(OpenClaw))
	c, err := target.read()
	if err != nil {
		return usual
	}
	_, text := unmark(c.text)
	var config struct {
		Agents struct {
			Defaults struct{ Workspace string }
		}
	}
	if json.Unmarshal(ofJSON5(text).text, &config) != nil {
		return usual
	}
	dir := strings.TrimSpace(config.Agents.Defaults.Workspace)
	if rest, ok := strings.CutPrefix(dir, "~"); ok && (rest == "" || rest[0] == '/') {
		dir = filepath.Join(p.user(OpenClaw), rest)
	}
	if !filepath.IsAbs(dir) {
		return usual
	}
	return filepath.Clean(dir)
}

// of finds an agent.
func of(agent Agent) (known, bool) {
	for _, k := range all() {
		if k.agent == agent {
			return k, true
		}
	}
	return known{}, false
}

// Agents lists every agent, in the order in which they are shown.
func Agents() []Agent {
	var list []Agent
	for _, k := range all() {
		list = append(list, k.agent)
	}
	return list
}

// Names names every agent, as a sentence does.
func Names() string {
	list := Agents()
	var b strings.Builder
	for i, a := range list {
		switch i {
		case 0:
		case len(list) - 1:
			b.WriteString(" or ")
		default:
			b.WriteString(", ")
		}
		b.WriteString(string(a))
	}
	return b.String()
}

// File returns the environment variable that names an agent's configuration; "" if
// there is none.
func File(agent Agent) (variable string) {
	k, _ := of(agent)
	return k.chosen
}

// Elsewhere returns the environment variables that stand for the user's home with an
// agent, and that name one of several homes; "" if there are none.
func Elsewhere(agent Agent) (user, profile string) {
	k, _ := of(agent)
	return k.user, k.profile
}

// Home returns the environment variable that moves an agent's home, and where
// that is without it, relative to the user's home.
func Home(agent Agent) (variable, usual string) {
	k, _ := of(agent)
	return k.variable, k.home
}
