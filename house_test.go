package yore_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// These tests are the rules of the house (docs/architecture.md). They read the
// source as text and syntax and need nothing but the standard library. A rule
// that must give way is changed here, on purpose, in the commit that needs it.

const module = "github.com/yorehq/yore"

// all in a row's list stands for every product package of an earlier row.
const all = "*"

// row is one line of the layer table: a package and what it may import within
// the module, in files that are no tests. The rows stand in order: a package
// never imports one of a later row. "not x" takes x out of "*".
type row struct {
	pkg      string
	may      []string
	testOnly bool // for tests and tools: no product package may import it
}

var layers = []row{
	{pkg: "fault"},
	{pkg: "session", may: []string{"fault"}},
	{pkg: "internal/document", may: []string{"session", "fault"}},
	{pkg: "internal/mask", may: []string{"internal/document"}},
	{pkg: "internal/mask/masktest", testOnly: true},
	{pkg: "internal/postings"},
	{pkg: "internal/btree"},
	{pkg: "reader", may: []string{"session", "fault"}},
	{pkg: "reader/jsonl"},
	{pkg: "reader/rows", may: []string{"reader", "fault"}},
	{pkg: "reader/readertest", may: []string{"reader", "session", "fault"}, testOnly: true},
	{pkg: "reader/archive", may: []string{"reader", "reader/jsonl", "session", "fault"}},
	{pkg: "reader/linelog", may: []string{"reader", "reader/jsonl", "session", "fault"}},
	{pkg: "reader/pitree", may: []string{"reader/linelog", "reader/jsonl", "session"}},
	{pkg: "reader/" + all, may: []string{"reader", "reader/jsonl", "reader/rows", "reader/linelog", "reader/pitree", "session", "fault"}},
	{pkg: "reader/gemini", may: []string{"reader", "reader/jsonl", "session", "fault"}},
	{pkg: "reader/qwen", may: []string{"reader", "reader/jsonl", "reader/linelog", "reader/gemini", "session", "fault"}}, // its first releases were a copy of the Gemini CLI
	{pkg: "internal/forget", may: []string{"session", "fault"}},
	{pkg: "internal/archive", may: []string{"reader", "reader/archive", "session", "fault"}},
	{pkg: "query", may: []string{"session", "internal/document", "internal/mask", "fault"}},
	{pkg: "internal/ingest", may: []string{"reader", "internal/forget", "session", "internal/document", "fault"}},
	{pkg: "internal/identity", may: []string{"reader", "session", "fault"}},
	{pkg: "internal/worktree", may: []string{"session", "fault"}},
	{pkg: "internal/spill", may: []string{"session", "fault"}},
	{pkg: "internal/storetest", may: []string{"query", "internal/ingest", "internal/document", "reader", "session", "fault"}, testOnly: true},
	{pkg: "internal/corpus", testOnly: true},
	{pkg: "internal/corpus/corpusgen", may: []string{"internal/corpus"}, testOnly: true},
	{pkg: "sqlite", may: []string{"session", "internal/document", "internal/postings", "internal/btree", "query", "internal/ingest", "reader", "fault"}},
	{pkg: "postgres", may: []string{"session", "internal/document", "query", "internal/ingest", "reader", "reader/archive", "fault"}},
	{pkg: "postgres/postgrestest", may: []string{"postgres"}, testOnly: true},
	{pkg: "authz", may: []string{"query", "internal/mask", "session", "fault"}},
	{pkg: "internal/render", may: []string{"authz", "query", "internal/document", "internal/mask", "session", "fault"}},
	{pkg: "toolset", may: []string{"authz", "internal/render", "query", "session", "fault"}},
	{pkg: "internal/team", may: []string{"toolset", "authz", "query", "session", "fault"}},
	{pkg: "internal/web", may: []string{"internal/team", "authz", "query", "internal/render", "session", "fault"}},
	{pkg: "internal/tui", may: []string{"internal/team", "authz", "query", "internal/render", "session", "fault"}},
	{pkg: ".", may: []string{all, "not postgres", "not internal/team", "not internal/web", "not internal/tui"}},
	{pkg: "internal/mcpserver", may: []string{"toolset", "authz", "internal/identity", "internal/spill", "session", "fault"}},
	{pkg: "internal/push", may: []string{"internal/team", "internal/archive", "internal/mask", "reader", "reader/archive", "session", "fault"}},
	{pkg: "internal/serve", may: []string{
		"toolset", "authz", "internal/render", "internal/mcpserver", "internal/identity", "internal/team", "postgres", "query", "internal/ingest", "internal/mask", "reader/archive", "session", "fault",
	}},
	{pkg: "internal/serve/servetest", may: []string{"internal/serve", "internal/team", "internal/ingest", "sqlite", "authz", "query", "session"}, testOnly: true},
	{pkg: "internal/setup", may: []string{all}},
	{pkg: "internal/demo", may: []string{all}},
	{pkg: "internal/cli", may: []string{all}},
	{pkg: "cmd/yore", may: []string{"internal/cli"}},
	{pkg: "agents", testOnly: true},
	{pkg: "packaging", testOnly: true},
	{pkg: "internal/mockmodel", testOnly: true},
	{pkg: "internal/e2e", testOnly: true},
	{pkg: "internal/footprint", testOnly: true},
	{pkg: "internal/load", may: []string{all, "postgres/postgrestest"}, testOnly: true},
	{pkg: "internal/attack", testOnly: true},
	{pkg: "internal/bench", may: []string{all, "internal/corpus"}, testOnly: true},
}

// dependency is a third-party module, why it is here, and its rooms: the
// packages whose product files may import it.
type dependency struct {
	module   string
	reason   string
	rooms    []string
	testOnly bool // for tests and test support; does not count as the product's
}

var dependencies = []dependency{
	{"github.com/ncruces/go-sqlite3", "the index: SQLite, as WebAssembly translated to Go, so without cgo; agents' own databases; FTS5, to compare with", []string{"sqlite", "reader/rows", "internal/bench"}, false},
	{"github.com/klauspost/compress", "zstd: DSH logs and rows of OpenClaw are written in it, the index and the archive keep texts in it", []string{"sqlite", "reader/dsh", "reader/codex", "reader/openclaw", "reader/archive", "internal/corpus", "internal/bench"}, false},
	{"github.com/go-json-experiment/json", "jsontext: a JSON tokenizer that keeps a record's bytes, number forms and duplicate keys", []string{"reader/jsonl", "reader/dsh", "reader/claude", "reader/codex", "reader/readertest", "internal/render", "internal/bench"}, false},
	{"github.com/modelcontextprotocol/go-sdk", "the official SDK of the protocol that agents call the tools over", []string{"internal/mcpserver"}, false},
	{"golang.org/x/text", "Unicode normalisation, which the standard library lacks", []string{"internal/document"}, false},
	{"github.com/rivo/uniseg", "grapheme clusters, so that a snippet never cuts a character in two", []string{"internal/document", "internal/render"}, false},
	{"github.com/spf13/cobra", "command line: subcommands, help, completion", []string{"internal/cli"}, false},
	{"github.com/spf13/pflag", "the flags of cobra's commands, walked over for the manual and for suggestions", []string{"internal/cli"}, false},
	{"github.com/BurntSushi/toml", "the configuration file; rewriting agents' TOML settings", []string{"internal/cli", "internal/setup"}, false},
	{"go.yaml.in/yaml/v3", "DSH's settings are YAML: places in a text, so that it can be edited and checked, and in which its sessions are elsewhere", []string{"internal/setup", "reader/dsh"}, false},
	{"golang.org/x/sys", "file locks and terminal queries that the standard library lacks", []string{"internal/cli", "internal/bench", "sqlite"}, false},
	{"golang.org/x/term", "whether a stream is a terminal, and how wide it is, on every system", []string{"internal/cli"}, false},
	{"charm.land/bubbletea/v2", "the terminal UI: raw mode, key decoding, redrawing what has changed, on every system", []string{"internal/tui"}, false},
	{"charm.land/bubbles/v2", "the terminal UI: an editable line, and keys with their help", []string{"internal/tui"}, false},
	{"github.com/charmbracelet/x/ansi", "the terminal UI: styles, and how many columns a character takes by the tables of the renderer", []string{"internal/tui"}, false},
	{"github.com/jackc/pgx/v5", "PostgreSQL's protocol and types, without cgo: the team server's store", []string{"postgres", "postgres/postgrestest"}, false},
	{"github.com/google/go-cmp", "differences that a person can read", []string{"reader/readertest", "internal/storetest"}, true},
	{"github.com/rogpeppe/go-internal", "testscript and txtar: the command line's behaviour as scripts", nil, true},
}

// teamModules are those that the team server alone needs.
var teamModules = []string{"github.com/jackc/pgx/v5"}

// The budgets of the local product and of what the team server adds to it.
const (
	maxProductModules = 15
	maxTeamModules    = 3
)

const (
	maxLines     = 800
	maxTestLines = 1200
	maxMethods   = 8
	maxMainLines = 20 // not reached
	maxMakeLines = 60
)

// wideInterfaces may have more than maxMethods methods; each names the decision
// record (a file below docs/decisions) that says why.
var wideInterfaces = map[string]string{
	"internal/ingest.Writer": "0012-a-fold-knows-what-it-needs.md", // two questions about the surface, by range and by seq
}

// source is one parsed Go file of the module.
type source struct {
	rel  string // slash-separated, relative to the module
	pkg  string // its folder; "." is the root
	test bool
	text []byte
	ast  *ast.File
}

var loadOnce = sync.OnceValues(load)

var fset = token.NewFileSet()

// walk visits the module's own files: no test data, no hidden folders, no other module.
func walk(visit func(rel string) error) error {
	return fs.WalkDir(os.DirFS("."), ".", func(rel string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			if err == nil {
				err = visit(rel)
			}
			return err
		}
		if rel == "." {
			return nil
		}
		if d.Name() == "testdata" || d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".") && d.Name() != ".ci" {
			return fs.SkipDir
		}
		if _, err := os.Stat(filepath.Join(rel, "go.mod")); err == nil {
			return fs.SkipDir
		}
		return nil
	})
}

func load() ([]source, error) {
	var files []source
	err := walk(func(rel string) error {
		if path.Ext(rel) != ".go" {
			return nil
		}
		text, err := os.ReadFile(filepath.FromSlash(rel))
		if err != nil {
			return err
		}
		tree, err := parser.ParseFile(fset, rel, text, parser.ParseComments)
		if err != nil {
			return err
		}
		files = append(files, source{rel, path.Dir(rel), strings.HasSuffix(rel, "_test.go"), text, tree})
		return nil
	})
	return files, err
}

func sources(t *testing.T) []source {
	t.Helper()
	files, err := loadOnce()
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 10 {
		t.Fatalf("only %d Go files found: the tests look in the wrong place", len(files))
	}
	return files
}

func (s source) imports() []string {
	var list []string
	for _, i := range s.ast.Imports {
		if p, err := strconv.Unquote(i.Path.Value); err == nil {
			list = append(list, p)
		}
	}
	return list
}

// within returns the package of an import path inside the module.
func within(imported string) (string, bool) {
	if imported == module {
		return ".", true
	}
	return strings.CutPrefix(imported, module+"/")
}

// layerOf finds a package's row: by its name, else by a "folder/*" row.
func layerOf(pkg string) int {
	if i := slices.IndexFunc(layers, func(r row) bool { return r.pkg == pkg }); i >= 0 {
		return i
	}
	return slices.IndexFunc(layers, func(r row) bool {
		folder, wild := strings.CutSuffix(r.pkg, "/"+all)
		return wild && path.Dir(pkg) == folder
	})
}

// mayImport reports whether the table lets a package import another one.
func mayImport(from, to string) bool {
	i, j := layerOf(from), layerOf(to)
	if i < 0 || j < 0 || j >= i || slices.Contains(layers[i].may, "not "+to) {
		return false
	}
	if slices.Contains(layers[i].may, to) {
		return true
	}
	return slices.Contains(layers[i].may, all) && !layers[j].testOnly
}

func TestLayers(t *testing.T) {
	for _, s := range sources(t) {
		if layerOf(s.pkg) < 0 {
			t.Errorf("%s: package %s is not in the layer table", s.rel, s.pkg)
			continue
		}
		if s.test {
			continue
		}
		for _, p := range s.imports() {
			if to, ok := within(p); ok && !mayImport(s.pkg, to) {
				t.Errorf("%s: %s may not import %s", s.rel, s.pkg, to)
			}
		}
	}
}

// TestLayerTable tests the table itself: what it must refuse and allow.
func TestLayerTable(t *testing.T) {
	for _, tc := range []struct {
		from, to string
		want     bool
	}{
		{"session", "fault", true},
		{"fault", "session", false},
		{"reader/dsh", "reader", true},
		{"reader/dsh", "reader/claude", false},
		{"reader/dsh", "reader/jsonl", true},
		{"reader/dsh", "query", false},
		{"query", "internal/ingest", false},
		{"query", "sqlite", false},
		{"internal/ingest", "query", false},
		{"reader/archive", "reader/dsh", false},
		{"internal/archive", "reader/archive", true},
		{"internal/archive", "reader/dsh", false},
		{"internal/archive", "internal/ingest", false},
		{"toolset", "query", true},
		{"toolset", "sqlite", false},
		{"authz", "internal/worktree", false},
		{"internal/worktree", "query", false},
		{".", "internal/worktree", true},
		{".", "sqlite", true},
		{".", "reader/dsh", true},
		{".", "postgres", false},
		{".", "internal/corpus", false},
		{".", "internal/cli", false},
		{"internal/cli", ".", true},
		{"internal/cli", "internal/corpus", false},
		{"internal/cli", "internal/storetest", false},
		{"cmd/yore", ".", false},
		{"internal/bench", "internal/corpus", true},
		{"nowhere", "fault", false},
	} {
		if got := mayImport(tc.from, tc.to); got != tc.want {
			t.Errorf("%s imports %s: allowed %v, want %v", tc.from, tc.to, got, tc.want)
		}
	}
	seen := map[string]bool{}
	for _, r := range layers {
		for _, to := range r.may {
			name, _ := strings.CutPrefix(to, "not ")
			if name != all && !seen[name] {
				t.Errorf("the row of %s names %s, which no earlier row describes", r.pkg, name)
			}
		}
		if seen[r.pkg] {
			t.Errorf("%s has two rows", r.pkg)
		}
		seen[r.pkg] = true
	}
}

// TestArchitecturePage holds the page to the table: each package is on it.
func TestArchitecturePage(t *testing.T) {
	page, err := os.ReadFile("docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sources(t) {
		name := s.pkg
		if name == "." {
			name = "yore"
		}
		if !bytes.Contains(page, []byte(name)) {
			t.Errorf("docs/architecture.md does not name %s", name)
		}
	}
}

func dependencyOf(imported string) int {
	return slices.IndexFunc(dependencies, func(d dependency) bool {
		return imported == d.module || strings.HasPrefix(imported, d.module+"/")
	})
}

func TestRooms(t *testing.T) {
	for _, s := range sources(t) {
		for _, p := range s.imports() {
			if first, _, _ := strings.Cut(p, "/"); !strings.Contains(first, ".") {
				continue // the standard library
			}
			if _, ok := within(p); ok {
				continue
			}
			i := dependencyOf(p)
			switch {
			case i < 0:
				t.Errorf("%s imports %s, which is not in the list of dependencies", s.rel, p)
			case !s.test && !slices.Contains(dependencies[i].rooms, s.pkg):
				t.Errorf("%s imports %s: its rooms are %v", s.rel, p, dependencies[i].rooms)
			}
		}
	}
}

func TestDependencies(t *testing.T) {
	text, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	required := map[string]bool{} // module → direct
	inBlock := false
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		switch {
		case len(fields) > 1 && fields[0] == "require" && fields[1] == "(":
			inBlock = true
			continue
		case len(fields) > 0 && fields[0] == ")":
			inBlock = false
		case len(fields) > 0 && (fields[0] == "replace" || fields[0] == "exclude"):
			t.Errorf("go.mod has a directive %s", fields[0])
		case len(fields) > 2 && fields[0] == "require":
			required[fields[1]] = !strings.Contains(line, "// indirect")
		}
		if inBlock && len(fields) > 1 {
			required[fields[0]] = !strings.Contains(line, "// indirect")
		}
	}
	if len(required) == 0 {
		t.Fatal("no requirement found in go.mod")
	}
	product := 0
	for _, d := range dependencies {
		if _, ok := required[d.module]; !ok {
			t.Errorf("%s is listed and no longer required", d.module)
		}
		if len(d.reason) < 10 {
			t.Errorf("%s is listed without a reason", d.module)
		}
		if !d.testOnly && !slices.Contains(teamModules, d.module) {
			product++
		}
	}
	if product > maxProductModules {
		t.Errorf("%d modules for the product, at most %d", product, maxProductModules)
	}
	if len(teamModules) > maxTeamModules {
		t.Errorf("%d modules for the team server, at most %d", len(teamModules), maxTeamModules)
	}
	for m, direct := range required {
		if direct && !slices.ContainsFunc(dependencies, func(d dependency) bool { return d.module == m }) {
			t.Errorf("%s is required and not in the list of dependencies", m)
		}
	}
}

func TestFileSize(t *testing.T) {
	for _, s := range sources(t) {
		limit := maxLines
		if s.test {
			limit = maxTestLines
		}
		if n := bytes.Count(s.text, []byte("\n")); n > limit {
			t.Errorf("%s has %d lines, at most %d", s.rel, n, limit)
		}
	}
}

func TestShortFiles(t *testing.T) {
	for name, limit := range map[string]int{"cmd/yore/main.go": maxMainLines - 1, "Makefile": maxMakeLines} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Error(err)
		}
		if n := bytes.Count(text, []byte("\n")); n > limit {
			t.Errorf("%s has %d lines, at most %d", name, n, limit)
		}
	}
}

func TestInterfaceSize(t *testing.T) {
	found := map[string]bool{}
	for _, s := range sources(t) {
		ast.Inspect(s.ast, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			i, ok := spec.Type.(*ast.InterfaceType)
			if !ok || i.Methods.NumFields() <= maxMethods {
				return true
			}
			name := s.pkg + "." + spec.Name.Name
			found[name] = true
			if wideInterfaces[name] == "" {
				t.Errorf("%s: %s has %d methods, at most %d without a decision record", s.rel, name, i.Methods.NumFields(), maxMethods)
			}
			return true
		})
	}
	for name, record := range wideInterfaces {
		if !found[name] {
			t.Errorf("%s is excused and not wide", name)
		}
		if _, err := os.Stat(filepath.Join("docs", "decisions", record)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

var drawer = regexp.MustCompile(`^(utils?|commons?|helpers?|types|misc)$`)

func TestNoDrawers(t *testing.T) {
	for _, s := range sources(t) {
		base := strings.TrimSuffix(strings.TrimSuffix(path.Base(s.rel), ".go"), "_test")
		for _, name := range append(strings.Split(s.pkg, "/"), s.ast.Name.Name, base) {
			if drawer.MatchString(name) {
				t.Errorf("%s: %q says nothing about what is in it", s.rel, name)
			}
		}
	}
}

// position gives file and line of a node, for messages.
func position(n ast.Node) string {
	p := fset.Position(n.Pos())
	return fmt.Sprintf("%s:%d", p.Filename, p.Line)
}
