package planner

import (
	"context"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm/yaml"
)

// Consolidate returns the Composition in the directory name with everything that it imports, overrides and reorders worked
// in: saved as its composition.yaml it gives the same plan (CE-08). It runs nothing. Mistakes are in [Plan.Failed] and
// warnings in [Plan.Warnings] of the plan that it returns besides, which has no graph.
func Consolidate(ctx context.Context, name string, o Options) (yaml.Value, *Plan) {
	c := newCompiler(ctx, []string{name}, o)
	c.plan.Graph = &graph.Graph{}
	b := c.build()
	v := b.consolidated(name)
	c.failed(name, b)
	c.pointers()
	c.plan.warn(&c.warnings)
	return v, c.plan
}

func (b *build) consolidated(name string) yaml.Value {
	dir, err := b.c.rootDir(name)
	if err != nil {
		b.Fail(rootError(name, err))
		return yaml.Value{}
	}
	defer dir.Close()
	k := b.load(dir, nil)
	switch {
	case k == nil:
	case k.composed == nil:
		b.Fail(diag.Errorf(diag.Pos{File: k.Source.File}, "", "is a %s, not a Composition", k.Kind).With(diag.WrongKind))
	case !k.composed.Failed:
		return k.composed.Value(dir)
	}
	return yaml.Value{}
}
