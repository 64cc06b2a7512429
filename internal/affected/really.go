package affected

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"sync"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/internal/inputs"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/render"
	"github.com/spf13/cobra"
)

// compare plans the affected roots as they were in the revision. They get the reasons that only that tells, a file that they do not name any more
// for instance. With --really both sides are rendered, and roots with the same output are left out.
func (c *command) compare(cmd *cobra.Command, plan *planner.Plan, all []Root, changes Changes) ([]Root, error) {
	var names []string
	dirs := map[string]string{} // what the roots are called now, by their names in the tree
	for _, r := range all {
		if r.State != Changed {
			continue
		}
		name, err := c.tree.Name(r.Dir)
		if err != nil {
			return nil, err
		}
		names, dirs[name] = append(names, name), r.Dir
	}
	if len(names) == 0 {
		return all, nil
	}
	old, o, err := c.PlanRevision(cmd, c.tree, names)
	if err != nil {
		return nil, err
	}
	setting := inputs.SettingOf(c.App)
	setting.Place = inputs.In(c.tree, c.tree.Top())
	was := map[string]inputs.Root{}
	for _, r := range inputs.Of(old, names, setting) {
		was[dirs[r.Dir]] = r
	}
	for i := range all {
		if r, ok := was[all[i].Dir]; ok {
			all[i].Reasons = sorted(append(all[i].Reasons, Why(r, changes, c.naming)...))
		}
	}
	if !c.really {
		return all, nil
	}
	before, _ := c.render(cmd.Context(), old, o, false) // a root that cannot be rendered as it was stays among those that are affected
	after, err := c.render(cmd.Context(), only(plan, dirs), c.Opts, true)
	c.failed = err
	return slices.DeleteFunc(all, func(r Root) bool {
		if r.State != Changed {
			return false
		}
		name, err := c.tree.Name(r.Dir)
		then, ok := before[name]
		now, made := after[r.Dir]
		return err == nil && ok && made && then == now
	}), cmd.Context().Err()
}

// render renders the roots of a plan and returns a digest of what comes of each. What the old side warns about is not told: nobody can change that any more.
func (c *command) render(ctx context.Context, plan *planner.Plan, o render.Options, warn bool) (made map[string]krm.Digest, err error) {
	made = map[string]krm.Digest{}
	var mu sync.Mutex
	o, end := c.RunOptionsOf(ctx, o, nil, func(r graph.Root, list *krm.List) error {
		h := sha256.New()
		if err := list.WriteYAML(h); err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		made[r.Dir] = krm.Digest(h.Sum(nil))
		return nil
	})
	defer end()
	if !warn {
		o.Run.Warn = nil
	}
	return made, errors.Join(plan.Err(), render.Run(ctx, plan, o))
}

// only returns the part of a plan that some of its roots need.
func only(plan *planner.Plan, dirs map[string]string) *planner.Plan {
	wanted := map[string]bool{}
	for _, dir := range dirs {
		wanted[diag.Redact(dir)] = true
	}
	part := *plan
	part.Graph = plan.Graph.Only(func(r graph.Root) bool { return wanted[r.Dir] })
	nodes := map[string]bool{"": true}
	for _, n := range part.Graph.Nodes {
		nodes[n.ID] = true
	}
	part.Denied = slices.DeleteFunc(slices.Clone(plan.Denied), func(d planner.Denial) bool { return !nodes[d.Node] })
	part.Failed = slices.DeleteFunc(slices.Clone(plan.Failed), func(f planner.RootError) bool { return !wanted[f.Dir] })
	return &part
}
