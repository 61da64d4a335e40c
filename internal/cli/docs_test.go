package cli

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

var update = flag.Bool("update", false, "write docs/cli.md and the tour of README.md")

const page = "../../docs/cli.md"

// TestPage holds docs/cli.md to the commands.
func TestPage(t *testing.T) {
	var b bytes.Buffer
	a := &app{out: bufio.NewWriter(&b)}
	root := a.newRoot()
	fmt.Fprintf(&b, "# The command line\n\nMade from the commands by `go test ./internal/cli -run TestPage -update`; change them, not this page.\n\n%s\n\n", root.Long)
	b.WriteString("Every command takes these flags:\n\n```text\n" + root.PersistentFlags().FlagUsages() + "```\n\n")
	b.WriteString("Settings come from flags, then from the environment (`YORE_INDEX`, `YORE_ARCHIVE`, `YORE_ROOTS` as a list of `AGENT=DIR` separated as in `PATH`, `YORE_CONFIG`, " +
		"`YORE_NETWORK_INDEX`, `YORE_MATCH`, `YORE_ORDER`, `YORE_INHERITED`, `YORE_SNIPPET`, `YORE_SEARCH_MODE`, `YORE_WORKSPACE_POLICY`, `YORE_MAX_INLINE_BYTES`, `YORE_LOG_LEVEL`), " +
		"then from `yore/config.toml` in the user's configuration folder, then from defaults; never from a workspace. The file:\n\n" +
		"```toml\nindex = \"~/.cache/yore\"       # absolute, or in the home folder\narchive = \"~/sessions\"        # a folder of kept sessions (yore archive); left out: none\nnetwork-index = false         # the index may be on a network file system: this machine alone uses it\nmatch = \"auto\"                # auto, literal\n" +
		"order = \"relevance\"           # relevance, matches\ninherited = false             # show what a fork inherited as well\n" +
		"snippet = 240                 # code points\nsearch-mode = \"startup\"       # of the MCP server: startup, first-search, never\n" +
		"workspace-policy = \"exact\"    # of the MCP server: exact, repository\n" +
		"max-inline-bytes = 10000      # of the MCP server; left out: by the agent\nlog-level = \"warn\"            # debug, info, warn, error\n\n" +
		"[roots]                       # replaces the usual places\ndsh = [\"~/.dsh/sessions\"]\n```\n")
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() && c.Name() != "help" && c.Name() != "completion" {
			describe(&b, c)
		}
	}
	b.WriteString("\n## yore completion\n\n`yore completion bash|zsh|fish|powershell` prints a script that completes commands, flags, session ids and other values in that shell. `yore man` prints all of this as a manual page ([yore.1](man/yore.1)).\n")
	if *update {
		if err := os.WriteFile(page, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(b.String(), string(got)); d != "" {
		t.Errorf("docs/cli.md is not what the commands say (-want +got):\n%s", d)
	}
}

// TestManual holds docs/man/yore.1 to the commands.
func TestManual(t *testing.T) {
	const file = "../../docs/man/yore.1"
	want := manual((&app{}).newRoot())
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Errorf("docs/man/yore.1 is not what the commands say (-want +got):\n%s", d)
	}
}

func describe(b *bytes.Buffer, c *cobra.Command) {
	about := c.Long
	if about == "" {
		about = c.Short + "."
	}
	fmt.Fprintf(b, "\n## %s\n\n%s\n\n```text\n%s\n```\n", c.CommandPath(), strings.TrimSpace(about), c.UseLine())
	if c.Example != "" {
		fmt.Fprintf(b, "\n```sh\n%s\n```\n", strings.ReplaceAll(strings.TrimPrefix(c.Example, "  "), "\n  ", "\n"))
	}
	if usages := c.LocalNonPersistentFlags().FlagUsages(); usages != "" {
		fmt.Fprintf(b, "\n```text\n%s```\n", usages)
	}
}

// Every command says what it is for, and those that take something show how.
func TestHelpTeaches(t *testing.T) {
	root := (&app{}).newRoot()
	for _, c := range root.Commands() {
		if c.Short == "" || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s has the short help %q", c.Name(), c.Short)
		}
		if c.Name() != "version" && c.Name() != "demo" && !strings.Contains(c.Example, "yore "+c.Name()) && c.Name() != "mcp" {
			t.Errorf("%s shows no example", c.Name())
		}
	}
}

// TestReadme runs the tour of README.md and holds the page to what comes out.
func TestReadme(t *testing.T) {
	const readme = "../../README.md"
	text, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(text), "```console\n")
	tour, tail, closed := strings.Cut(rest, "\n```\n")
	if !ok || !closed {
		t.Fatal("the tour is not there")
	}
	samples, err := filepath.Abs("../demo/samples")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var b strings.Builder
	for line := range strings.Lines(tour) {
		line = strings.TrimSuffix(line, "\n")
		args, ok := strings.CutPrefix(line, "$ yore ")
		if !ok {
			continue
		}
		cmd := exec.Command("yore", strings.Fields(args)...)
		cmd.Env = append(os.Environ(), "HOME="+dir, "YORE_ROOTS=dsh="+samples, "YORE_INDEX="+filepath.Join(dir, "index"))
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		fmt.Fprintf(&b, "%s\n%s\n", line, out)
	}
	want := strings.TrimSuffix(b.String(), "\n\n")
	if *update {
		if err := os.WriteFile(readme, []byte(head+"```console\n"+want+"\n```\n"+tail), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(want, tour); d != "" {
		t.Errorf("README.md does not show what the commands print (-want +got):\n%s", d)
	}
}
