package yore

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yorehq/yore/session"
)

var updateFormats = flag.Bool("update-formats", false, "write the table of README.md")

// The table of README.md is made from Formats, between two marks:
//
//	go test . -run TestFormatTable -update-formats
func TestFormatTable(t *testing.T) {
	const begin, end = "<!-- made from formats.go -->\n", "<!-- end -->\n"
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(page), begin)
	table, behind, also := strings.Cut(rest, end)
	if !ok || !also {
		t.Fatal("README.md does not have the marks of the table")
	}
	if *updateFormats {
		if err := os.WriteFile("README.md", []byte(before+begin+formatTable()+end+behind), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(formatTable(), table); diff != "" {
		t.Errorf("run it with -update-formats (-want +got):\n%s", diff)
	}
}

// Every agent that can be read has a row and a page, and no other has.
func TestEveryReaderHasAFormat(t *testing.T) {
	n := 0
	for _, r := range Readers() {
		if r.Agent() == "archive" {
			continue
		}
		n++
		f, ok := formatOf(r.Agent())
		if !ok {
			t.Errorf("%s has no format", r.Agent())
			continue
		}
		if _, err := os.Stat(filepath.Join("docs", "formats", f.Page)); err != nil {
			t.Errorf("%s: %v", r.Agent(), err)
		}
		for _, text := range []string{f.Product, f.Versions, f.Store, f.Reads, f.Lost} {
			if text == "" || strings.ContainsAny(text, "|\n") {
				t.Errorf("%s: %q is no cell", r.Agent(), text)
			}
		}
	}
	if len(Formats()) != n {
		t.Errorf("%d formats for %d readers", len(Formats()), n)
	}
	if _, ok := formatOf(session.Agent("nobody")); ok {
		t.Error("nobody has a format")
	}
}

// formatTable is the table of README.md.
func formatTable() string {
	var b strings.Builder
	b.WriteString("| agent | `--agent` | seen | store | read beside what was said | not there |\n|---|---|---|---|---|---|\n")
	for _, f := range Formats() {
		cells := []string{fmt.Sprintf("[%s](docs/formats/%s)", f.Product, f.Page), "`" + string(f.Agent) + "`", f.Versions, f.Store, f.Reads, f.Lost}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
	}
	return b.String()
}

// formatOf finds an agent's format.
func formatOf(a session.Agent) (Format, bool) {
	all := Formats()
	i := slices.IndexFunc(all, func(f Format) bool { return f.Agent == a })
	if i < 0 {
		return Format{}, false
	}
	return all[i], true
}
