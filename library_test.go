package yore

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/sqlite"
)

// TestVersioningPage holds the table of docs/versioning.md to the schemas:
//
//	go test . -run TestVersioningPage -update-formats
func TestVersioningPage(t *testing.T) {
	const name, begin, end = "docs/versioning.md", "<!-- made from sqlite/schema.go -->\n", "<!-- end -->\n"
	page, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(page), begin)
	_, behind, also := strings.Cut(rest, end)
	if !ok || !also {
		t.Fatalf("%s does not have the marks of the table", name)
	}
	rows := "| schema | what it brought |\n|---:|---|\n"
	for i, line := range sqlite.SchemaHistory() {
		rows += fmt.Sprintf("| %d | %s |\n", i+1, line)
	}
	want := before + begin + rows + end + behind
	if *updateFormats {
		if err := os.WriteFile(name, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, string(page)); diff != "" {
		t.Errorf("run it with -update-formats (-want +got):\n%s", diff)
	}
}

// An example of docs/library.md stands between two marks, of which the first
// names its function.
var exampleMark = regexp.MustCompile(`(?s)(<!-- from example_test.go: (\w+) -->\n)(.*?)(<!-- end -->\n)`)

// TestLibraryPage holds the code of docs/library.md to example_test.go:
//
//	go test . -run TestLibraryPage -update-formats
func TestLibraryPage(t *testing.T) {
	const name = "docs/library.md"
	page, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	examples := exampleBodies(t)
	got := exampleMark.ReplaceAllFunc(page, func(piece []byte) []byte {
		m := exampleMark.FindSubmatch(piece)
		text, ok := examples[string(m[2])]
		if !ok {
			t.Errorf("there is no example %s", m[2])
		}
		delete(examples, string(m[2]))
		return []byte(string(m[1]) + text + string(m[4]))
	})
	for left := range examples {
		t.Errorf("%s does not show %s", name, left)
	}
	if *updateFormats {
		if err := os.WriteFile(name, got, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(got), string(page)); diff != "" {
		t.Errorf("run it with -update-formats (-want +got):\n%s", diff)
	}
}

// exampleBodies returns what stands in the examples, as Markdown, by name: the
// comment, the code without what makes a scratch folder, and the output.
func exampleBodies(t *testing.T) map[string]string {
	t.Helper()
	files := token.NewFileSet()
	tree, err := parser.ParseFile(files, "example_test.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, d := range tree.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || !strings.HasPrefix(f.Name.Name, "Example") {
			continue
		}
		var code bytes.Buffer
		err := (&printer.Config{Mode: printer.TabIndent | printer.UseSpaces, Tabwidth: 8}).Fprint(&code, files, &printer.CommentedNode{Node: f.Body, Comments: tree.Comments})
		if err != nil {
			t.Fatal(err)
		}
		body, output, ok := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(code.String(), "{\n"), "}"), "\t// Output:\n")
		if !ok {
			t.Errorf("%s has no output, so nothing runs it", f.Name.Name)
		}
		body = strings.TrimSuffix(strings.ReplaceAll("\n"+body, "\n\t", "\n"), "\n")
		body = strings.Replace(body, "\nindex, remove := scratch()\ndefer remove()", "", 1)
		output = strings.TrimPrefix(strings.ReplaceAll("\n"+strings.TrimSuffix(output, "\n"), "\n\t// ", "\n"), "\n")
		about := strings.Join(strings.Fields(f.Doc.Text()), " ")
		all[f.Name.Name] = fmt.Sprintf("%s\n\n```go%s\n```\n\nIt prints:\n\n```text\n%s\n```\n", about, body, output)
	}
	return all
}
