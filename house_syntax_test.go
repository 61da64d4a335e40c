package yore_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The rules of the house that concern single files: what they may hold, how
// they may be named, and what they may not say.

// systems and machines are the words that make a file's name a build constraint.
var (
	systems = strings.Fields(`aix android darwin dragonfly freebsd hurd illumos ios js linux nacl netbsd openbsd
		plan9 solaris wasip1 windows zos unix`)
	machines = strings.Fields(`386 amd64 arm arm64 loong64 mips mips64 mips64le mipsle ppc64 ppc64le riscv64
		s390x sparc64 wasm`)
)

// constrainedName reports whether the go command would read a build constraint
// out of a file's name: a last or last but one part that names a system or a machine.
func constrainedName(base string) bool {
	parts := strings.Split(strings.TrimSuffix(strings.TrimSuffix(base, ".go"), "_test"), "_")[1:]
	if len(parts) == 0 {
		return false
	}
	last := parts[len(parts)-1]
	return slices.Contains(systems, last) || slices.Contains(machines, last)
}

func TestConstrainedName(t *testing.T) {
	for base, want := range map[string]bool{
		"lock_linux.go": true, "lock_windows_test.go": true, "sum_arm64.go": true, "x_linux_amd64.go": true,
		"linux.go": false, "fold.go": false, "fold_test.go": false, "house_syntax_test.go": false, "linux_test.go": false,
	} {
		if got := constrainedName(base); got != want {
			t.Errorf("%s: constrained %v, want %v", base, got, want)
		}
	}
}

func TestOneSourceForEverySystem(t *testing.T) {
	tag := regexp.MustCompile(`(?m)^//(go:build| ?\+build)`)
	for _, s := range sources(t) {
		if constrainedName(path.Base(s.rel)) {
			t.Errorf("%s: its name is a build constraint", s.rel)
		}
		if at := tag.FindIndex(s.text); at != nil {
			t.Errorf("%s: a build tag", s.rel)
		}
		if slices.Contains(s.imports(), "C") {
			t.Errorf("%s: cgo", s.rel)
		}
	}
}

func TestNoInit(t *testing.T) {
	for _, s := range sources(t) {
		for _, d := range s.ast.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				t.Errorf("%s: an init function", position(f))
			}
		}
	}
}

// root finds the identifier an expression starts from: x in x.y[0].z.
func root(e ast.Expr) *ast.Ident {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		case *ast.SliceExpr:
			e = x.X
		default:
			return nil
		}
	}
}

// written returns the expressions that a statement or call changes in place.
func written(n ast.Node) []ast.Expr {
	switch x := n.(type) {
	case *ast.AssignStmt:
		if x.Tok != token.DEFINE {
			return x.Lhs
		}
	case *ast.IncDecStmt:
		return []ast.Expr{x.X}
	case *ast.RangeStmt:
		if x.Tok == token.ASSIGN {
			return []ast.Expr{x.Key, x.Value}
		}
	case *ast.CallExpr:
		if f, ok := x.Fun.(*ast.Ident); ok && len(x.Args) > 0 && slices.Contains([]string{"delete", "clear", "copy"}, f.Name) {
			return x.Args[:1]
		}
	}
	return nil
}

// writtenGlobals returns the places where a function changes a package
// variable. Imports stay unresolved, which is no matter for a package's own names.
func writtenGlobals(files []*ast.File) []string {
	info := types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Error: func(error) {}}
	pkg, _ := config.Check("checked", fset, files, &info)
	var found []string
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			for _, e := range written(n) {
				id := root(e)
				if id == nil {
					continue
				}
				if v, ok := info.Uses[id].(*types.Var); ok && v.Parent() == pkg.Scope() {
					found = append(found, position(n)+": "+id.Name)
				}
			}
			return true
		})
	}
	return found
}

func TestNoWrittenGlobals(t *testing.T) {
	packages := map[string][]*ast.File{}
	for _, s := range sources(t) {
		if !s.test {
			packages[s.pkg] = append(packages[s.pkg], s.ast)
		}
	}
	for _, files := range packages {
		for _, place := range writtenGlobals(files) {
			t.Errorf("%s: a package variable is written", place)
		}
	}
}

func TestWrittenGlobalsAreSeen(t *testing.T) {
	text := `package p
import "nowhere.example/x"
var table = map[string]int{}
var list = []int{1}
var count int
func bad(n int) {
	table["a"] = n
	list[0]++
	count = x.Count()
	delete(table, "a")
}
func good(list []int) int {
	table := map[string]int{}
	table["a"] = 1
	list[0] = 2
	return count + len(table)
}`
	f, err := parser.ParseFile(fset, "p.go", text, 0)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(writtenGlobals([]*ast.File{f}), ", ")
	if want := "p.go:7: table, p.go:8: list, p.go:9: count, p.go:10: table"; got != want {
		t.Errorf("found %s, want %s", got, want)
	}
}

// called returns x and f of a call x.f(…).
func called(n ast.Node) (x, f string) {
	c, ok := n.(*ast.CallExpr)
	if !ok {
		return "", ""
	}
	sel, ok := c.Fun.(*ast.SelectorExpr)
	if !ok {
		return "", ""
	}
	if id, ok := sel.X.(*ast.Ident); ok {
		x = id.Name
	}
	return x, sel.Sel.Name
}

// TestEnvironment: only the command line reads the environment; everything
// below it is told.
func TestEnvironment(t *testing.T) {
	for _, s := range sources(t) {
		if s.test || s.pkg == "internal/cli" || s.pkg == "postgres/postgrestest" || strings.HasPrefix(s.pkg, "cmd/") {
			continue
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			id, ok := sel.X.(*ast.Ident)
			if ok && id.Name == "os" && slices.Contains([]string{"Getenv", "LookupEnv", "Environ", "ExpandEnv"}, sel.Sel.Name) {
				t.Errorf("%s: os.%s", position(n), sel.Sel.Name)
			}
			return true
		})
	}
}

// skips are the places where a test may end because the machine lacks what it
// is about, and who sees to it that it is not skipped where that is there.
var skips = map[string]string{
	"internal/e2e/home_test.go":             "a client that npm cannot install; tools/e2e/run.sh names it",
	"internal/ingest/away_test.go":          "a machine with one device to write to; Linux has /dev/shm",
	"links_test.go":                         "a system that lets few people make links",
	"postgres/postgrestest/postgrestest.go": "no PostgreSQL; YORE_POSTGRES=1 makes it a failure",
}

// TestNoSkippedTests: a test that is skipped looks like one that passed.
func TestNoSkippedTests(t *testing.T) {
	for _, s := range sources(t) {
		if skips[s.rel] != "" {
			continue
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			if x, f := called(n); slices.Contains([]string{"t", "b", "tb", "f"}, x) && slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, f) {
				t.Errorf("%s: %s.%s", position(n), x, f)
			}
			return true
		})
	}
}

func TestNoPostponedWork(t *testing.T) {
	marker := regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|X` + `XX)\b`)
	for _, s := range sources(t) {
		for _, g := range s.ast.Comments {
			if m := marker.FindString(g.Text()); m != "" {
				t.Errorf("%s: %s", position(g), m)
			}
		}
	}
}

// TestNoMachinePaths: the product speaks of itself alone. What belongs to the
// machine of whoever works on it is in none of its files.
func TestNoMachinePaths(t *testing.T) {
	foreign := regexp.MustCompile(`/go-build\d+/|/pkg/mod/[a-z]|/root/\w`)
	kinds := []string{".go", ".md", ".sh", ".toml", ".mod", ".yml", ".yaml", ".ts", ".mjs", ""}
	err := walk(func(rel string) error {
		if !slices.Contains(kinds, path.Ext(rel)) {
			return nil
		}
		text, err := os.ReadFile(filepath.FromSlash(rel))
		if err != nil {
			return err
		}
		for _, m := range foreign.FindAllString(string(text), -1) {
			t.Errorf("%s says %q", rel, m)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Only the command line asks for what is not masked: no tool, page or protocol
// has a way to.
func TestRevealedByTheCommandLineAlone(t *testing.T) {
	found := 0
	for _, s := range sources(t) {
		if s.test || s.pkg == "authz" || s.pkg == "query" {
			continue
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			if call, ok := n.(*ast.SelectorExpr); ok && call.Sel.Name == "Revealed" {
				if found++; s.pkg != "internal/cli" {
					t.Errorf("%s: %s reveals what is masked", position(n), s.pkg)
				}
			}
			return true
		})
	}
	if found != 1 {
		t.Errorf("%d places reveal, want the one of --reveal", found)
	}
}

func TestPackageComments(t *testing.T) {
	documented := map[string]bool{}
	for _, s := range sources(t) {
		if !s.test {
			documented[s.pkg] = documented[s.pkg] || len(s.ast.Doc.Text()) > 20
		}
	}
	for _, pkg := range slices.Sorted(maps.Keys(documented)) {
		if !documented[pkg] {
			t.Errorf("package %s has no package comment", pkg)
		}
	}
}
