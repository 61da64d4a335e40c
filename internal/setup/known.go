package setup

import (
	"os"
	"path/filepath"
	"strings"
)

// known is what there is to know of an agent's configuration.
type known struct {
	agent    Agent
	variable string                // of the environment, which moves the agent's home
	home     string                // in the user's home, where the variable is not set
	folder   string                // in the agent's home: it is there if the agent is; "": the home itself
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
		{agent: OpenCode, variable: "XDG_CONFIG_HOME", home: ".config", file: Places.openCodeFile, format: openCodeForm()},
		{agent: Kimi, variable: "KIMI_CODE_HOME", home: ".kimi-code", name: "mcp.json", format: kimiForm()},
		{agent: Gemini, variable: "GEMINI_CLI_HOME", folder: ".gemini", file: Places.geminiFile, format: geminiForm()}, // the variable moves the user's home
		{agent: Qwen, variable: "QWEN_HOME", home: ".qwen", name: "settings.json", format: geminiForm()},
		{agent: Cursor, home: ".cursor", name: "mcp.json", format: cursorForm()},
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

// openCodeFile is the one of the files that OpenCode reads, or the one it would make.
func (p Places) openCodeFile() string {
	dir := filepath.Join(p.home(OpenCode), "opencode")
	for _, name := range []string{"opencode.json", "opencode.jsonc"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return filepath.Join(dir, name)
		}
	}
	return filepath.Join(dir, "opencode.json")
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

// Home returns the environment variable that moves an agent's home, and where
// that is without it, relative to the user's home.
func Home(agent Agent) (variable, usual string) {
	k, _ := of(agent)
	return k.variable, k.home
}
