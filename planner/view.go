package planner

import (
	"context"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm/yaml"
)

// Consolidate returns the Composition in the directory name with all imports, overrides and
// reordering applied. Saved as the directory's composition.yaml, it gives the same plan (CE-08).
//
// Consolidate runs nothing. The returned plan has no graph. Its [Plan.Failed] has the mistakes
// and [Plan.Warnings] the warnings.
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
