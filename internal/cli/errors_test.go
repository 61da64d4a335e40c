package cli

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/yorehq/yore"
	"github.com/yorehq/yore/fault"
	"github.com/yorehq/yore/internal/render"
	"github.com/yorehq/yore/session"
)

// TestErrorsPage holds docs/errors.md to the codes, the exit codes, what doctor
// names and what an answer in part says.
func TestErrorsPage(t *testing.T) {
	when := comments(t, "../../fault/fault.go")
	var b strings.Builder
	b.WriteString("# Failures\n\nMade from the code by `go test ./internal/cli -run TestErrorsPage -update`; change that, not this page.\n\n" +
		"## Codes\n\nA failure has one of these codes, whoever asks. A model reads `CODE: sentence remedy`; over MCP that is a result with `isError`, not an error of the protocol. " +
		"Where an argument is wrong, the text says instead which one, what is wrong and what would be right. " +
		"A person at the command line reads the sentence, the cause, and what a person can do; `--json` changes nothing of that, and the exit code tells a script. To a model, causes are not told: they go to the log.\n\n" +
		"| code | cause | sentence | a model can | a person can | exit |\n|---|---|---|---|---|---:|\n")
	for _, code := range fault.Codes() {
		if when[string(code)] == "" {
			t.Errorf("%s: its declaration does not say when it is given", code)
		}
		exit := exitFailed
		if usage(code) {
			exit = exitUsage
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %d |\n", code, when[string(code)], fault.Sentence(code), fault.Remedy(code), remedy(code), exit)
	}

	b.WriteString("\n## Exit codes\n\n| code | means |\n|---:|---|\n")
	exits := numbered(t, "cli.go", "exit")
	for _, e := range exits {
		fmt.Fprintf(&b, "| %d | %s |\n", e.value, e.comment)
	}
	b.WriteString("\nA pipe that its reader closes (`yore list | head`) is no failure: 0. A wrong command line says what was likely meant and has the exit code 2: " +
		"an unknown command or flag, a value that a flag does not take, flags that exclude each other, an argument too many or too few. `yore COMMAND --help` shows what is right.\n")

	b.WriteString("\n## Answers in part\n\nAn answer that may have missed something says so, on standard error or at its end; the exit code is 3, and JSON has the numbers in `coverage`. N stands for a number.\n\n| what is said | cause | remedy |\n|---|---|---|\n")
	for _, p := range []struct {
		coverage      session.Coverage
		cause, remedy string
	}{
		{session.Coverage{Sessions: 7, Behind: 7}, "The first look at a large workspace takes longer than one answer, or another process is at it.", "Ask again, or `yore index` once."},
		{session.Coverage{Unreadable: 7}, "Logs break the rules of their format, cannot be opened, or give one session two headers.", "`yore doctor`: file, line, byte and reason. Other sessions are not affected."},
		{session.Coverage{Damaged: 7}, "A log has a damaged place; what lies before it is searched.", "`yore doctor` names it. The agent's own backup, if there is one, is the cure."},
		{session.Coverage{Clipped: 7}, "The text of one event is longer than 8 MiB.", "`yore read` shows all of it."},
		{session.Coverage{Stale: true}, "Another process was indexing the workspace meanwhile.", "Ask again."},
	} {
		said := strings.ReplaceAll(strings.TrimSpace(render.CoverageText(p.coverage)), "7", "N")
		if said == "" {
			t.Errorf("nothing is said of %+v", p.coverage)
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", strings.ReplaceAll(said, "\n", " "), p.cause, p.remedy)
	}

	b.WriteString("\n## What doctor names\n\n| kind | means | remedy |\n|---|---|---|\n")
	kinds := comments(t, "../../health.go")
	remedies := map[yore.ProblemKind]string{
		yore.Unreadable: "Nothing has to be done for other sessions. A log of a version that is not known yet is worth a report, without its text.",
		yore.Index:      "Room on the disk, permissions of the index folder; or another folder (`--index`). The index may be deleted: it is made again.",
		yore.Damaged:    "None, if the agent keeps no copy; what lies before the place is read.",
		yore.Conflict:   "Take one of the files away, or look into which is right: yore does not choose.",
		yore.Duplicate:  "None needed; nothing is lost.",
		yore.Skipped:    "None needed; what lies behind is read.",
		yore.Pending:    "None needed; it is read as soon as its first record is complete.",
	}
	for _, kind := range []yore.ProblemKind{yore.Unreadable, yore.Index, yore.Damaged, yore.Conflict, yore.Duplicate, yore.Skipped, yore.Pending} {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", kind, kinds[string(kind)], remedies[kind])
		delete(kinds, string(kind))
	}
	if len(kinds) > 0 {
		t.Errorf("doctor names what the page does not: %v", kinds)
	}
	b.WriteString("\n## When nothing seems to work\n\n" +
		"| what you see | why | what to do |\n|---|---|---|\n" +
		"| `No session matches.` in a folder where an agent worked | The agent recorded the folder in another spelling (a link, a worktree, another machine's path). | `yore list --all` shows the workspaces as they were recorded; `-w DIR` takes one. |\n" +
		"| the agent has no such tools | It reads its settings when it starts, or an entry is switched off. | Start it anew; `yore doctor` says what is set up. |\n" +
		"| everything is slow the first time | The first look reads all logs of the workspace. | Once; `yore index --all` does it beforehand. |\n" +
		"| the index is on a network file system, and is refused | SQLite's locks do not hold there. | `--index` a folder on this machine, or `YORE_NETWORK_INDEX=true` if no other machine uses it. |\n" +
		"| a newer version made the index | An older `yore` is first in `PATH`. | `yore version --check` says so; use the newer one, or another `--index`. |\n")
	same(t, "../../docs/errors.md", b.String())
}

// comments reads what stands behind the declarations of string constants, by value.
func comments(t *testing.T, path string) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	when := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		literal, ok := spec.Values[0].(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return true
		}
		text, err := strconv.Unquote(literal.Value)
		if err != nil {
			t.Fatal(err)
		}
		when[text] = strings.TrimSpace(spec.Comment.Text())
		return true
	})
	return when
}

// number is a constant and what stands behind it.
type number struct {
	value   int
	comment string
}

// numbered reads the integer constants whose names have a prefix, ascending.
func numbered(t *testing.T, path, prefix string) (all []number) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 || !strings.HasPrefix(spec.Names[0].Name, prefix) {
			return true
		}
		if literal, ok := spec.Values[0].(*ast.BasicLit); ok && literal.Kind == token.INT {
			value, err := strconv.Atoi(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, number{value, strings.TrimSpace(spec.Comment.Text())})
		}
		return true
	})
	slices.SortFunc(all, func(a, b number) int { return a.value - b.value })
	if len(all) != 5 {
		t.Errorf("%d exit codes", len(all))
	}
	return all
}
