package affected

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"sync"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/internal/engine"
	"github.com/krmflow/krmflow/internal/review/inputs"
	"github.com/krmflow/krmflow/krm"
	"github.com/spf13/cobra"
)

// compare plans the affected roots as they were in the revision and adds the reasons found
// there, such as a file that the root no longer references. With --really it renders both sides
// and removes the roots whose output is the same.
func (c *command) compare(cmd *cobra.Command, run *engine.Run, all []Root, changes Changes) ([]Root, error) {
	var names []string
	dirs := map[string]string{} // current directories of the roots, by their names in the tree
	for _, r := range all {
		if r.State != Changed {
			continue
		}
		name, err := c.objects.NameIn(c.tree, r.Dir)
		if err != nil {
			return nil, err
		}
		names, dirs[name] = append(names, name), r.Dir
	}
	if len(names) == 0 {
		return all, nil
	}
	old, err := run.Beside(cmd.Context(), engine.Side{Tree: c.tree, Dirs: names})
	if err != nil {
		return nil, err
	}
	setting := inputs.SettingOf(c.Invocation, run)
	setting.Place = inputs.In(c.tree, c.tree.Top())
	was := map[string]inputs.Root{}
	for _, r := range inputs.Of(old.Plan(), names, setting) {
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
	before, _ := c.render(cmd.Context(), old, engine.Hooks{Silent: true}) // a root that failed to render in the revision stays affected
	wanted := map[string]bool{}
	for _, dir := range dirs {
		wanted[diag.Redact(dir)] = true
	}
	after, err := c.render(cmd.Context(), run, engine.Hooks{Only: func(dir string) bool { return wanted[dir] }})
	for _, f := range run.Plan().Failed {
		if wanted[f.Dir] {
			c.failed = errors.Join(c.failed, errors.Join(f.Errs...))
		}
	}
	c.failed = errors.Join(c.failed, err)
	return slices.DeleteFunc(all, func(r Root) bool {
		if r.State != Changed {
			return false
		}
		name, err := c.objects.NameIn(c.tree, r.Dir)
		then, ok := before[name]
		now, made := after[r.Dir]
		return err == nil && ok && made && then == now
	}), cmd.Context().Err()
}

// render renders the selected roots of one side and returns a digest of each output. For the
// old side h silences warnings, because nobody can fix an old revision.
func (c *command) render(ctx context.Context, run *engine.Run, h engine.Hooks) (made map[string]krm.Digest, err error) {
	made = map[string]krm.Digest{}
	var mu sync.Mutex
	h.Root = func(root graph.Root, list *krm.List) {
		sum := sha256.New()
		if list.WriteYAML(sum) != nil {
			return // the root counts as affected
		}
		mu.Lock()
		defer mu.Unlock()
		made[root.Dir] = krm.Digest(sum.Sum(nil))
	}
	for _, failed := range run.Results(ctx, h) {
		err = errors.Join(err, failed)
	}
	return made, err
}
