package krmflow_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// open are the packages that still have cases for kinds of built-ins, or open switches over
// operations.
var open = []string{"internal/planview/drawing", "scheduler"}

// TestNoCasesForBuiltins checks that only package builtins tests the kind of a built-in. Other
// packages use its interfaces (builtins/about.go), so that a new kind needs no changes in them.
func TestNoCasesForBuiltins(t *testing.T) {
	eachSource(t, func(pkg string, fset *token.FileSet, file *ast.File) {
		if pkg == "builtins" {
			return
		}
		report := func(x ast.Expr) {
			if star, ok := x.(*ast.StarExpr); ok && selected(star.X, "builtins") != "" {
				t.Errorf("%s: asks for *builtins.%s: use an interface of builtins/about.go", fset.Position(x.Pos()),
					selected(star.X, "builtins"))
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeAssertExpr:
				report(n.Type)
			case *ast.TypeSwitchStmt:
				for _, x := range casesOf(n) {
					report(x)
				}
			}
			return true
		})
	})
}

// TestSwitchesOverOperations checks that a package has at most one switch over the operations of a
// graph, and that it has a case for each of them: a new operation fails here until every consumer
// handles it.
func TestSwitchesOverOperations(t *testing.T) {
	ops := operations(t)
	if len(ops) < 9 {
		t.Fatalf("found the operations %q in graph/op.go", ops)
	}
	switches := map[string]int{}
	eachSource(t, func(pkg string, fset *token.FileSet, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			sw, ok := n.(*ast.TypeSwitchStmt)
			if !ok {
				return true
			}
			var named []string
			for _, x := range casesOf(sw) {
				name := selected(x, "graph")
				if id, ok := x.(*ast.Ident); ok && pkg == "graph" {
					name = id.Name
				}
				if slices.Contains(ops, name) {
					named = append(named, name)
				}
			}
			if len(named) == 0 {
				return true
			}
			for _, op := range ops {
				if !slices.Contains(named, op) {
					t.Errorf("%s: the switch has no case for graph.%s", fset.Position(n.Pos()), op)
				}
			}
			if switches[pkg]++; switches[pkg] > 1 && pkg != "graph" {
				t.Errorf("%s: %s has a second switch over operations", fset.Position(n.Pos()), pkg)
			}
			return true
		})
	})
	if len(switches) < 5 {
		t.Errorf("found switches over operations in %v alone", switches)
	}
}

// operations returns the types in graph/op.go that are operations.
func operations(t *testing.T) (ops []string) {
	file, err := parser.ParseFile(token.NewFileSet(), "graph/op.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil && f.Name.Name == "Verb" {
			ops = append(ops, f.Recv.List[0].Type.(*ast.Ident).Name)
		}
	}
	return ops
}

// eachSource calls visit with each Go file that is not a test, except in the packages of open.
func eachSource(t *testing.T, visit func(pkg string, fset *token.FileSet, file *ast.File)) {
	fset := token.NewFileSet()
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata"):
			return fs.SkipDir
		case !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		pkg := filepath.ToSlash(filepath.Dir(name))
		if slices.Contains(open, pkg) {
			return nil
		}
		file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err == nil {
			visit(pkg, fset, file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// casesOf returns the types of the cases of a switch.
func casesOf(sw *ast.TypeSwitchStmt) (types []ast.Expr) {
	for _, c := range sw.Body.List {
		types = append(types, c.(*ast.CaseClause).List...)
	}
	return types
}

// selected returns the name in pkg.NAME, "" for any other expression.
func selected(x ast.Expr, pkg string) string {
	sel, ok := x.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	if id, ok := sel.X.(*ast.Ident); !ok || id.Name != pkg {
		return ""
	}
	return sel.Sel.Name
}
