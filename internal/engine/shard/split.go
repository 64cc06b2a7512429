package shard

import (
	"path/filepath"
	"slices"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/gitops"
	"github.com/krmflow/krmflow/render"
)

// A Split is the distribution of the roots of a run.
type Split struct {
	Shard
	// All has the roots of all shards. Own has the roots of this shard in the same order, and is
	// not nil.
	All, Own render.Roots
}

// Split distributes roots. objects are the roots that are GitOps objects. jobs is the number of
// goroutines.
func (s *Shard) Split(all render.Roots, objects map[string]*gitops.Root, jobs int) Split {
	out := Split{Shard: *s, All: all, Own: make(render.Roots, 0, len(all))}
	if !s.On() {
		out.Own = append(out.Own, all...)
		return out
	}
	weighed := make([]Root, len(all))
	for i, r := range all {
		weighed[i] = rootOf(r, objects[r.Dir])
	}
	items := make([]Item, len(all))
	for i, weight := range new(Weigher).Weights(weighed, jobs) {
		items[i] = Item{all[i].Out, weight}
	}
	for i, at := range Assign(items, s.Count) {
		if at == s.Index {
			out.Own = append(out.Own, all[i])
		}
	}
	return out
}

// rootOf returns the directories of a root. o is nil unless it is a GitOps object.
func rootOf(r render.Root, o *gitops.Root) (root Root) {
	if o == nil {
		return Root{Dirs: []string{r.Dir}}
	}
	for _, p := range o.Parts {
		switch {
		case p.ChartDir != "":
			root.Dirs = append(root.Dirs, p.ChartDir)
		case filepath.IsAbs(p.Dir):
			root.Dirs = append(root.Dirs, p.Dir)
		}
		if p.Chart {
			root.More += chartWeight
		}
	}
	return root
}

// Empty returns a notice if the shard has no roots, otherwise nil.
func (s *Split) Empty() *diag.Error {
	if !s.On() || len(s.Own) > 0 {
		return nil
	}
	return diag.Errorf(diag.Pos{}, "", "shard %s has no roots: %s for %s", s.String(), diag.Count(len(s.All), "root"),
		diag.Count(s.Count, "shard"))
}

// Others returns the roots of other shards.
func (s *Split) Others() render.Roots {
	own := make(map[string]bool, len(s.Own))
	for _, r := range s.Own {
		own[r.Dir] = true
	}
	return slices.DeleteFunc(slices.Clone(s.All), func(r render.Root) bool { return own[r.Dir] })
}

// TakesRest reports whether the shard also has the roots that exist only on the old side of a
// comparison: the first shard has them.
func (s *Split) TakesRest() bool { return !s.On() || s.Index == 1 }

// OldSide returns the names that belong to the shard. names are roots on the old side of a
// comparison. nameOf returns the name of a root on that side, or an error if it has no name.
func (s *Split) OldSide(names []string, nameOf func(render.Root) (string, error)) []string {
	if !s.On() {
		return names
	}
	own, others := namesOf(s.Own, nameOf), namesOf(s.Others(), nameOf)
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return others[name] || !own[name] && !s.TakesRest() })
}

func namesOf(roots render.Roots, nameOf func(render.Root) (string, error)) map[string]bool {
	names := map[string]bool{}
	for _, r := range roots {
		if name, err := nameOf(r); err == nil {
			names[name] = true
		}
	}
	return names
}
