package cli

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

var update = flag.Bool("update", false, "write the pages of docs that are made, and what the tours of pages show")

const page = "../../docs/cli.md"

// TestPage holds docs/cli.md to the commands.
func TestPage(t *testing.T) {
	var b bytes.Buffer
	a := &app{out: bufio.NewWriter(&b)}
	root := a.newRoot()
	fmt.Fprintf(&b, "# The command line\n\nMade from the commands by `go test ./internal/cli -run TestPage -update`; change them, not this page.\n\n%s\n\n", root.Long)
	b.WriteString("Every command takes these flags:\n\n```text\n" + root.PersistentFlags().FlagUsages() + "```\n\n")
	b.WriteString("Settings come from flags, then from the environment, then from a file, then from defaults: [configuration.md](configuration.md) has them all.\n")
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
		fmt.Fprintf(b, "\n```shell\n%s\n```\n", strings.ReplaceAll(strings.TrimPrefix(c.Example, "  "), "\n  ", "\n"))
	}
	if usages := c.LocalNonPersistentFlags().FlagUsages(); usages != "" {
		fmt.Fprintf(b, "\n```text\n%s```\n", usages)
	}
	for _, below := range c.Commands() {
		if below.IsAvailableCommand() {
			describe(b, below)
		}
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
		for line := range strings.Lines(c.Example) {
			tryExample(t, strings.TrimSpace(line))
		}
	}
}

// tryExample reads an example of the help as the command line would, up to what
// stands behind the command: words after three spaces, a pipe, a redirection.
func tryExample(t *testing.T, line string) {
	line, _, _ = strings.Cut(line, "   ")
	line, _, _ = strings.Cut(line, " | ")
	line, _, _ = strings.Cut(line, " > ")
	words := strings.Fields(strings.NewReplacer("'exit status 1'", "x", `"ENOENT: no such file"`, "x").Replace(line))
	if len(words) == 0 || words[0] != "yore" {
		return // what other programs do
	}
	root := (&app{}).newRoot()
	cmd, rest, err := root.Find(words[1:])
	if err == nil {
		err = cmd.ParseFlags(rest)
	}
	if err == nil {
		err = cmd.ValidateArgs(cmd.Flags().Args())
	}
	if err == nil {
		err = cmd.ValidateFlagGroups()
	}
	if err != nil {
		t.Errorf("%q: %v", line, err)
	}
}
