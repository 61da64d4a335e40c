// Package agents holds the tests of the packages for agents in the folders
// beside it: whatever they name is there, in the program or in the folder, and
// their pages say what they cost. It holds no code. Start at README.md.
package agents

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/yorehq/yore/internal/cli"
	"github.com/yorehq/yore/internal/setup"
	"github.com/yorehq/yore/toolset"
)

const skill = "skills/session-history/SKILL.md"

// withSkill are the folders of agents that know skills.
var withSkill = []string{"claude-code", "codex", "gemini-cli", "opencode", "pi"}

func file(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash(name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// into decodes a JSON file; nothing in it may be written twice or in vain.
func into(t *testing.T, name string, to any) {
	t.Helper()
	if err := json.Unmarshal([]byte(file(t, name)), to); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// TestSkills: the skill is one text in every package, for an agent copies a
// package and follows no link, and its head is as the specification of Agent
// Skills wants it (agentskills.io/specification).
func TestSkills(t *testing.T) {
	text := file(t, withSkill[0]+"/"+skill)
	for _, agent := range withSkill[1:] {
		if file(t, agent+"/"+skill) != text {
			t.Errorf("the skill of %s is not the one of %s", agent, withSkill[0])
		}
	}
	head, body := split(t, text)
	if head.Name != "session-history" || !regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`).MatchString(head.Name) {
		t.Errorf("the skill's name is %q, its folder session-history", head.Name)
	}
	if n := len([]rune(head.Description)); n < 50 || n > 1024 || !strings.Contains(head.Description, "Use when") {
		t.Errorf("the description has %d characters or does not say when: %s", n, head.Description)
	}
	if n := strings.Count(body, "\n"); n > 60 {
		t.Errorf("the skill has %d lines", n)
	}
}

type front struct{ Name, Description string }

func split(t *testing.T, text string) (head front, body string) {
	t.Helper()
	parts := strings.SplitN(text, "---\n", 3)
	if len(parts) != 3 || parts[0] != "" {
		t.Fatal("the skill has no head between two lines of ---")
	}
	if err := yaml.Unmarshal([]byte(parts[1]), &head); err != nil {
		t.Fatal(err)
	}
	return head, parts[2]
}

// TestToolNames: whatever looks like a tool's name is one, with the prefix of
// the agent or without; arguments that the skill names are the tools' own.
func TestToolNames(t *testing.T) {
	tools := map[string]bool{}
	schemas := ""
	for _, tool := range toolset.Catalogue() {
		tools[tool.Name] = true
		schemas += string(tool.Schema)
	}
	seen := map[string]bool{}
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(name, ".go") {
			return err
		}
		for _, word := range regexp.MustCompile(`[a-z_]*session_[a-z_]+`).FindAllString(file(t, name), -1) {
			tool := word[strings.Index(word, "session_"):]
			switch {
			case tools[tool]:
				seen[tool] = true
			case word == "session_id" && strings.Contains(schemas, `"session_id"`):
			default:
				t.Errorf("%s names %s, which is no tool", name, word)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for tool := range tools {
		if !seen[tool] {
			t.Errorf("no package names %s", tool)
		}
	}
	_, body := split(t, file(t, withSkill[0]+"/"+skill))
	for _, m := range regexp.MustCompile("`([a-z_]+)(: \"[a-z]+\")?`").FindAllStringSubmatch(body, -1) {
		if !tools[m[1]] && !strings.Contains(schemas, fmt.Sprintf("%q:", m[1])) {
			t.Errorf("the skill names %s, which is neither a tool nor an argument", m[1])
		}
	}
}

// server is an entry as most agents write it.
type server struct {
	Command string
	Args    []string
}

// TestCommands: each entry starts the program with arguments that it takes.
func TestCommands(t *testing.T) {
	var plain, codex struct{ McpServers map[string]server }
	into(t, "claude-code/.mcp.json", &plain)
	into(t, "codex/.mcp.json", &codex)
	var gemini struct {
		McpServers            map[string]server
		Name, ContextFileName string
	}
	into(t, "gemini-cli/gemini-extension.json", &gemini)
	var opencode struct {
		Mcp map[string]struct{ Command []string }
	}
	into(t, "opencode/opencode.json", &opencode)
	all := map[string]server{"claude-code": plain.McpServers["yore"], "codex": codex.McpServers["yore"], "gemini-cli": gemini.McpServers["yore"]}
	if c := opencode.Mcp["yore"].Command; len(c) > 0 {
		all["opencode"] = server{c[0], c[1:]}
	}
	m := regexp.MustCompile(`registerMcpServer\("yore", \{\s+command: "(\w+)",\s+args: \[([^\]]*)\],\s+exposure: "direct"`).FindStringSubmatch(file(t, "pi/extensions/yore.js"))
	if m == nil {
		t.Fatal("Pi's extension registers no server")
	}
	all["pi"] = server{m[1], strings.Split(strings.ReplaceAll(m[2], `"`, ""), ", ")}
	if len(all) != len(withSkill) {
		t.Errorf("entries of %d agents, want %d", len(all), len(withSkill))
	}
	for agent, s := range all {
		if s.Command != "yore" || len(s.Args) == 0 {
			t.Errorf("%s starts %q %q", agent, s.Command, s.Args)
			continue
		}
		run(t, agent, append(s.Args, "--help")...)
	}
	if file(t, "gemini-cli/"+gemini.ContextFileName) == "" {
		t.Error("the extension has no context")
	}
}

// run runs a command of the program and returns its output; it must succeed.
func run(t *testing.T, what string, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if code := cli.Main(args, strings.NewReader(""), &out, &errs); code != 0 {
		t.Errorf("%s: yore %s ended with %d\n%s%s", what, strings.Join(args, " "), code, out.String(), errs.String())
	}
	return out.String()
}

// TestSnippets: where a package is a snippet for a file that `yore setup` edits
// too, setup finds nothing to do in it.
func TestSnippets(t *testing.T) {
	for _, tc := range []struct {
		agent          setup.Agent
		snippet, place string
	}{
		{setup.Codex, "codex/config.toml", ".codex/config.toml"},
		{setup.OpenCode, "opencode/opencode.json", ".config/opencode/opencode.json"},
		{setup.DSH, "dsh/cordis.patch.yml", ".dsh/profiles/headless/cordis.patch.yml"},
	} {
		t.Run(string(tc.agent), func(t *testing.T) {
			home := t.TempDir()
			t.Setenv("HOME", home)
			t.Setenv("USERPROFILE", home)
			for _, v := range []string{"XDG_CONFIG_HOME", "CODEX_HOME", "DSH_HOME", "YORE_CONFIG", "YORE_INDEX", "YORE_ROOTS"} {
				t.Setenv(v, "")
			}
			path := filepath.Join(home, filepath.FromSlash(tc.place))
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(file(t, tc.snippet)), 0o600); err != nil {
				t.Fatal(err)
			}
			out := run(t, tc.snippet, "setup", string(tc.agent), "--command", "yore", "--write")
			if !strings.HasPrefix(out, "unchanged: ") || !strings.Contains(out, filepath.Base(path)) {
				t.Errorf("setup is not content with %s:\n%s", tc.snippet, out)
			}
		})
	}
}

// TestManifests: what the packages' own files say agrees among them.
func TestManifests(t *testing.T) {
	type manifest struct{ Name, Version, Description, Skills, McpServers string }
	var claude, codex manifest
	into(t, "claude-code/.claude-plugin/plugin.json", &claude)
	into(t, "codex/.codex-plugin/plugin.json", &codex)
	var gemini, pi struct {
		Version, Description string
		Pi                   struct{ Extensions, Skills []string }
	}
	into(t, "gemini-cli/gemini-extension.json", &gemini)
	into(t, "pi/package.json", &pi)
	for agent, m := range map[string]struct{ version, description string }{
		"codex": {codex.Version, codex.Description}, "gemini-cli": {gemini.Version, gemini.Description}, "pi": {pi.Version, pi.Description},
	} {
		if m.version != claude.Version || m.description != claude.Description || m.version == "" {
			t.Errorf("%s is version %s: %s; claude-code %s: %s", agent, m.version, m.description, claude.Version, claude.Description)
		}
	}
	for _, path := range []string{filepath.Join("codex", codex.Skills), filepath.Join("codex", codex.McpServers), filepath.Join("pi", pi.Pi.Extensions[0]), filepath.Join("pi", pi.Pi.Skills[0])} {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
	var market struct {
		Name    string
		Plugins []struct{ Name, Source string }
	}
	into(t, "../.claude-plugin/marketplace.json", &market)
	if len(market.Plugins) != 1 || market.Plugins[0].Name != claude.Name || market.Plugins[0].Source != "./agents/claude-code" || market.Name != "yore" {
		t.Errorf("Claude's marketplace lists %+v", market)
	}
	var catalogue struct {
		Name    string
		Plugins []struct {
			Name   string
			Source struct{ Source, Path string }
		}
	}
	into(t, "../.agents/plugins/marketplace.json", &catalogue)
	if len(catalogue.Plugins) != 1 || catalogue.Plugins[0].Name != codex.Name || catalogue.Plugins[0].Source.Path != "./agents/codex" || catalogue.Name != "yore" {
		t.Errorf("Codex's marketplace lists %+v", catalogue)
	}
}

// TestCost: the pages state what a package adds to a request, at four bytes a
// token as docs/tools.md counts.
func TestCost(t *testing.T) {
	tokens := func(bytes int) int { return (bytes + 3) / 4 }
	text := file(t, withSkill[0]+"/"+skill)
	head, body := split(t, text)
	tools := tokens(len(toolset.Guidance()))
	for _, tool := range toolset.Catalogue() {
		tools += tokens(len(tool.Name) + len(tool.Description) + len(tool.Schema))
	}
	line, loaded := tokens(len(head.Name)+len(head.Description)), tokens(len(body))
	page := file(t, "README.md")
	for what, n := range map[string]int{"every request; Claude Code adds the tools when they are looked for": tools, "every request": line, "once, when it is loaded": loaded} {
		if want := fmt.Sprintf("| %s | %d |", what, n); !strings.Contains(page, want) {
			t.Errorf("README.md does not say %q", want)
		}
	}
	want := fmt.Sprintf("Cost, at four bytes a token: %d for the tools with their guidance, %d for the name and description of the skill in each request, and %d once when the skill is loaded.", tools, line, loaded)
	for _, agent := range withSkill {
		if !strings.Contains(strings.Join(strings.Fields(file(t, agent+"/README.md")), " "), want) {
			t.Errorf("%s/README.md does not say %q", agent, want)
		}
	}
	if want := fmt.Sprintf("%d for the tools with their guidance in each request", tools); !strings.Contains(file(t, "dsh/README.md"), want) {
		t.Errorf("dsh/README.md does not say %q", want)
	}
	if want := fmt.Sprintf("The context file adds %d to each request.", tokens(len(file(t, "gemini-cli/GEMINI.md")))); !strings.Contains(file(t, "gemini-cli/README.md"), want) {
		t.Errorf("gemini-cli/README.md does not say %q", want)
	}
}

// TestPages: every command of yore that a page shows is one, for an agent that
// setup knows.
func TestPages(t *testing.T) {
	folders, err := filepath.Glob("*/README.md")
	if err != nil || len(folders) < len(withSkill)+1 {
		t.Fatalf("%v, %v", folders, err)
	}
	for _, page := range append(folders, "README.md") {
		for _, m := range regexp.MustCompile("yore setup ([a-z]+)").FindAllStringSubmatch(file(t, page), -1) {
			if !slices.Contains(setup.Agents(), setup.Agent(m[1])) {
				t.Errorf("%s: setup knows no %s", page, m[1])
			}
		}
	}
}
