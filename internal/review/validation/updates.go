package validation

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/cli/options"
	"github.com/krmflow/krmflow/internal/review/history"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/diff"
	"github.com/krmflow/krmflow/krm/secret"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/lint/danger"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/validate"
	"github.com/spf13/cobra"
)

// Updates evaluates the CEL rules of CustomResourceDefinitions for a comparison: each custom
// resource that differs is an update of its old state, so transition rules (oldSelf) apply. Create
// it with [Flags.Updates], pass the lists to [Updates.Add] and call [Updates.Evaluate] at the end.
//
// ValidatingAdmissionPolicies are not evaluated. Most of them concern built-in kinds, of which both
// states lack the defaults of the API server.
type Updates struct {
	run     *Run
	changes map[*krm.Resource]*diff.Resource // by the new resource
}

// A Violation is a rule that an update violates.
type Violation struct {
	validate.Finding
	// Pos is the place that sets the field, or the start of the resource.
	Pos diag.Pos
}

// RegisterUpdates adds the flags for CEL rules to a command that calls [Flags.Updates].
func (f *Flags) RegisterUpdates(cmd *cobra.Command) {
	f.RegisterRules(cmd)
	f.registerCRDs(cmd)
}

// Updates returns an evaluator, or nil without --cel. Its methods do nothing on nil.
func (f *Flags) Updates(cmd *cobra.Command) (*Updates, error) {
	if !f.cel {
		if cmd.Flags().Changed("crds") {
			return nil, options.UsageError(errors.New("--crds needs --cel"))
		}
		return nil, nil
	}
	minor, _ := validate.ParseVersion("") // the newest; only the names of its kinds are used
	u := &Updates{run: &Run{validator: validate.New(minor), definitions: map[kind][]defined{},
		old: map[*krm.Resource]*krm.Resource{}}, changes: map[*krm.Resource]*diff.Resource{}}
	return u, f.define(u.run)
}

// Define adds the CustomResourceDefinitions in the new list of a root. It is safe for concurrent
// use.
func (u *Updates) Define(root graph.Root, list *krm.List) {
	if u == nil || list == nil {
		return
	}
	u.run.mu.Lock()
	defer u.run.mu.Unlock()
	for _, r := range list.All() {
		if validate.IsDefinition(r.Value()) {
			u.run.define(root.Dir, r.Value(), r)
		}
	}
}

// Add adds the definitions and the changed custom resources of a root. old and now are its lists,
// and hide has the Secret values of both. The changes must not move in memory. Add is safe for
// concurrent use.
func (u *Updates) Add(dir string, old, now *krm.List, changes *diff.Changes, hide *secret.Set) {
	root := graph.Root{Dir: dir}
	u.Define(root, now)
	if u == nil || old == nil || now == nil {
		return
	}
	v, n := u.run, 0
	v.mu.Lock()
	defer v.mu.Unlock()
	for i := range changes.Resources {
		c := &changes.Resources[i]
		if c.What != diff.Changed {
			continue
		}
		before, r := old.At(c.Old.At), now.At(c.New.At)
		// A tool deletes and creates some objects, for which every change is allowed.
		if !isUpdate(before.ID(), r.ID()) || r.IsLocal() || v.validator.Knows(r.ID().GVK) || danger.IsRecreated(r.Value()) {
			continue
		}
		v.customs = append(v.customs, custom{root, r, hide})
		v.old[r], u.changes[r] = before, c
		n++
	}
	if n > 0 {
		hide.Fill() // releases the lists
		v.lists = append(v.lists, rendered{root, krm.NewList(), hide})
	}
}

// isUpdate reports whether the objects are the same for an API server, in the same version. An old
// object of a different version would have to be converted.
func isUpdate(old, now krm.ID) bool {
	return old.GVK == now.GVK && old.Name == now.Name && old.EffectiveNamespace() == now.EffectiveNamespace()
}

// Undefined reports whether there is a changed custom resource whose definition is not in its own
// root. Then the definitions of all other roots are needed.
func (u *Updates) Undefined() bool {
	return u != nil && slices.ContainsFunc(u.run.customs, func(c custom) bool {
		g := c.r.ID().GVK
		return !slices.ContainsFunc(u.run.definitions[kind{g.Group, g.Kind}], func(d defined) bool { return d.root == c.root.Dir })
	})
}

// Evaluate returns the violated rules by the change. plan must be the plan of the new side. Rules
// that are not evaluated are reported as [diag.RulesSkipped].
func (u *Updates) Evaluate(ctx context.Context, a *cli.Invocation, plan *planner.Plan) (map[*diff.Resource][]Violation, error) {
	if u == nil || len(u.run.customs) == 0 {
		return nil, nil
	}
	if err := u.run.evaluate(ctx, a); err != nil || len(u.run.found) == 0 {
		return nil, err
	}
	roots := map[string]graph.Root{}
	for _, r := range plan.Graph.Roots {
		roots[r.Dir] = r
	}
	found, l := map[*diff.Resource][]Violation{}, newLocator(plan)
	slices.SortStableFunc(u.run.found, func(a, b finding) int { return cmp.Compare(a.root.Dir, b.root.Dir) })
	for i := range u.run.found {
		f := &u.run.found[i]
		f.root = roots[f.root.Dir]
		c := u.changes[f.r]
		found[c] = append(found[c], Violation{f.Finding, l.locate(f).pos})
	}
	return found, nil
}

// changed returns the paths whose values differ from an earlier state of an object, or all paths if
// there are none. The change of one of them violates a rule that reads all of them.
func changed(now, earlier yaml.Value, paths [][]any) [][]any {
	same := func(path []any) bool {
		_, there, whole := history.Follow(now, earlier, path)
		value := history.At(now, path)
		return !value.Exists() || whole && there.Equal(value)
	}
	if !slices.ContainsFunc(paths, func(path []any) bool { return !same(path) }) {
		return paths
	}
	return slices.DeleteFunc(paths, same)
}
