package planner

import (
	"strings"

	"github.com/krmflow/krmflow/builtins"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm/schema"
	"github.com/krmflow/krmflow/planner/composition"
	"github.com/krmflow/krmflow/planner/internal/ownschema"
)

// Compositions whose lists begin with the same items share the nodes of these items: see
// [composition.Set.Places].

// A prefixKey identifies the result of a list's items up to one item, given the earlier state of
// the build.
type prefixKey struct {
	layer        string
	last         int
	schema       *schema.Schema
	schemaChosen bool
	usual        bool // layers may only read files in their directories
	// own is the previous state of kustomize's own schema, if an item has a custom one.
	own schema.Builtin
}

// A prefix is the result of a list's items up to one item.
type prefix struct {
	list   graph.NodeID
	config *builtins.Config
	vars   builtins.VarSet
	after  schemaState
	use    ownschema.Use // of the last item
	errs   diag.Mistakes // of the last item
}

// shareItems adds the nodes of c, except those already added for other lists.
func (s itemSteps) shareItems(c *composition.List) {
	start, variant := s.schemaState, strings.TrimPrefix(s.prefix, s.k.Source.File)
	reused := false
	for _, p := range s.c.compositions.Places(c, s.Warnings) {
		key := prefixKey{layer: p.Layer, last: p.At, schema: start.schema, schemaChosen: start.schemaChosen, usual: s.dir.Key().IsUsual()}
		if s.reusePrefix(key) {
			reused = true
			continue
		}
		before := s.Errs.Len()
		p.Layer += variant
		s.use = &ownschema.Use{Outer: s.use}
		s.composed(p)
		var use ownschema.Use
		use, s.use = *s.use, s.use.Outer
		if s.schemaChosen && !start.schemaChosen {
			s.c.draft.prefixSchemas[key] = true
			key.own = s.c.own.After(s.c.ctx, s.use.Outer)
		}
		s.use.Add(use)
		s.c.draft.prefixes[key] = &prefix{s.list, s.config, s.vars, s.schemaState, use, s.Errs.Since(before)}
	}
	if reused {
		s.c.plan.Shared++
	}
}

// reusePrefix continues after items compiled before, and reports false if there are none.
func (s itemSteps) reusePrefix(key prefixKey) bool {
	if s.c.draft.prefixSchemas[key] {
		key.own = s.c.own.After(s.c.ctx, s.use.Outer)
	}
	p := s.c.draft.prefixes[key]
	if p == nil {
		return false
	}
	s.Errs.AddOnce(p.errs)
	s.list, s.hasList, s.config, s.vars = p.list, true, p.config, p.vars
	s.schemaState = p.after
	s.use.Add(p.use)
	return true
}
