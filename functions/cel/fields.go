package main

import (
	"sync"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// parser is the environment of an API server.
var parser = sync.OnceValue(func() *celgo.Env {
	return environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion(), true).StoredExpressionsEnv()
})

// fieldsOf returns the fields below the variable root that an expression reads, in the order of
// their last use. vars are the expressions of variables.NAME.
func fieldsOf(expression, root string, vars map[string]string) (fields [][]any) {
	return collect(expression, root, vars, 0)
}

// maxVariables is the maximum depth of variables that use variables.
const maxVariables = 16

func collect(expression, root string, vars map[string]string, depth int) (fields [][]any) {
	parsed, issues := parser().Parse(expression)
	if issues.Err() != nil || depth > maxVariables {
		return nil
	}
	inner := map[int64]bool{} // operands of longer paths
	expr := parsed.NativeRep().Expr()
	var paths [][]any
	ast.PreOrderVisit(expr, ast.NewExprVisitor(func(e ast.Expr) {
		if inner[e.ID()] {
			return
		}
		name, path, ok := chain(e, inner)
		switch {
		case !ok || len(path) == 0:
		case name == root:
			paths = append(paths, path)
		case name == "variables":
			if variable, is := path[0].(string); is {
				for _, f := range collect(vars[variable], root, vars, depth+1) {
					paths = append(paths, f)
				}
			}
		}
	}))
	last := map[string]int{}
	for i, p := range paths {
		last[pathText(p)] = i
	}
	for i, p := range paths {
		if last[pathText(p)] == i {
			fields = append(fields, p)
		}
	}
	return fields
}

// chain returns the variable and the path of an expression such as self.a.b, self.a['b'] or
// self.?a, and adds its operands to inner.
func chain(e ast.Expr, inner map[int64]bool) (name string, path []any, ok bool) {
	switch e.Kind() {
	case ast.IdentKind:
		return e.AsIdent(), nil, true
	case ast.SelectKind:
		s := e.AsSelect()
		if name, path, ok = chain(s.Operand(), inner); ok {
			inner[s.Operand().ID()] = true
			path = append(path, unescaped(s.FieldName()))
		}
		return name, path, ok
	case ast.CallKind:
		c := e.AsCall()
		args := c.Args()
		if len(args) != 2 || args[1].Kind() != ast.LiteralKind {
			return "", nil, false
		}
		var step any
		switch literal := args[1].AsLiteral().(type) {
		case types.String:
			step = string(literal)
		case types.Int:
			step = int(literal)
		default:
			return "", nil, false
		}
		switch c.FunctionName() {
		case operators.Index, operators.OptIndex:
		case operators.OptSelect:
			if text, is := step.(string); is {
				step = unescaped(text)
			}
		default:
			return "", nil, false
		}
		if name, path, ok = chain(args[0], inner); ok {
			inner[args[0].ID()] = true
			path = append(path, step)
		}
		return name, path, ok
	}
	return "", nil, false
}

// unescaped returns the field for a name in an expression: namespace for __namespace__.
func unescaped(name string) string {
	if plain, ok := apiservercel.Unescape(name); ok {
		return plain
	}
	return name
}
