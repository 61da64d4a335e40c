package authz

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// silent are the methods of a view and of a grant that return nothing of which a
// session has chosen the wording, or what is for comparing and addressing alone.
var silent = map[string]bool{
	"AsIndexed": true, "Caller": true, "MaySearch": true, "Parents": true, "Target": true, "Targets": true, "Session": true, "Revealed": true,
	"Header": true, "Own": true, "CurrentStep": true, "OrdinalOf": true,
}

// No new way out of a view forgets to mask: every exported method passes shown.go.
func TestEveryAnswerIsMasked(t *testing.T) {
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv == nil || !fn.Name.IsExported() {
				continue
			}
			star, ok := fn.Recv.List[0].Type.(*ast.StarExpr)
			if !ok {
				continue
			}
			if on := star.X.(*ast.Ident).Name; on != "View" && on != "Grant" {
				continue
			}
			seen++
			masks := false
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok && (s.Sel.Name == "shown" || s.Sel.Name == "completion") {
					masks = true
				}
				return true
			})
			if masks == silent[fn.Name.Name] {
				t.Errorf("%s: masks is %t, and it is silent: %t", fn.Name.Name, masks, silent[fn.Name.Name])
			}
		}
	}
	if seen < 20 {
		t.Errorf("only %d methods were looked at", seen)
	}
}
