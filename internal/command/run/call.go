package run

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/edit/inplace"
	"github.com/krmflow/krmflow/internal/command/run/merge"
	"github.com/krmflow/krmflow/internal/command/run/tree"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/planner"
)

// A call is the call of a function on files. It selects the input of the function and applies
// its output.
type call struct {
	plan   planner.FileCall
	tree   *tree.Tree
	object *tree.Object // the configuration; nil if it is in a Kptfile
	config diag.Pos
	// configObject is the object that the configPath of a step names, nil if there is none.
	configObject *tree.Object

	scope           string // the function receives the resources in and below this folder
	home            string // folder for files of new resources
	pattern         string // pattern for their names
	selects, leaves []selector

	from   string        // the --fn-path that configures it
	key    string        // key of its generated resources in the memory
	before *merge.Memory // generated resources of earlier runs, and of this one
	now    *merge.Memory
	ran    bool

	comments *comments
	sent     map[*krm.Origin]inplace.Comments   // comments in the input
	got      map[*krm.Resource]inplace.Comments // comments in the output
}

// within reports whether path p is folder or below it.
func within(p, folder string) bool { return folder == "." || strings.HasPrefix(p, folder+"/") }

// Config returns the object of a configPath as earlier functions have left it, as in kpt. Packages
// rely on that: for example, apply-replacements copies the name of the package into the
// configuration of set-labels. The program is not part of it: the Kptfile names that.
func (c *call) Config(list *krm.List) yaml.Value {
	if c.configObject != nil {
		for _, r := range list.All() {
			if c.tree.Of(r) == c.configObject {
				return withoutFunction(tree.Bare(r.Value(), yaml.Value{}))
			}
		}
	}
	return yaml.Value{}
}

// Of returns the resources in the scope of the call (IM-04).
func (c *call) Of(list *krm.List) *krm.List {
	var rs []*krm.Resource
	for _, r := range list.All() {
		if c.gets(r) {
			rs = append(rs, r)
		}
	}
	return krm.NewList(rs...)
}

func (c *call) gets(r *krm.Resource) bool {
	p, _ := function.Place(r.Value())
	return within(p, c.scope) && (len(c.selects) == 0 || matchesAny(c.selects, r)) && !matchesAny(c.leaves, r)
}

// After returns the list after the call. Existing resources keep their position; new ones are
// assigned to a file.
func (c *call) After(all, sent, answer *krm.List) (*krm.List, error) {
	c.ran = true
	was, is := make(map[*krm.Origin]*krm.Resource, sent.Len()), make(map[*krm.Origin]*krm.Resource, answer.Len())
	for _, r := range sent.All() {
		was[r.Origin] = r
	}
	var errs []error
	var stay, added []*krm.Resource
	for _, r := range answer.All() {
		old := was[r.Origin]
		if old == nil {
			added = append(added, r)
			continue
		}
		is[r.Origin], stay = r, append(stay, r)
		c.comments.answered(r, old.Value(), c.sent[r.Origin], c.got[r])
		errs = append(errs, c.regenerated(r, old), c.place(r, old))
	}
	added, err := c.twins(stay, added)
	errs = append(errs, err)
	var rs []*krm.Resource
	files := map[string]int{} // number of resources per file
	for _, r := range all.All() {
		if was[r.Origin] != nil {
			if r = is[r.Origin]; r == nil {
				continue
			}
		}
		p, _ := function.Place(r.Value())
		files[p]++
		rs = append(rs, r)
	}
	for _, r := range added {
		errs = append(errs, c.add(r, files))
		rs = append(rs, r)
	}
	return krm.NewList(rs...), errors.Join(errs...)
}

// add assigns a new resource to a file.
func (c *call) add(r *krm.Resource, files map[string]int) error {
	r.Origin = &krm.Origin{} // identifies it in later calls
	c.comments.answered(r, r.Value(), nil, c.got[r])
	p := c.pathOf(r)
	if err := tree.CheckPath(p); err != nil {
		return fmt.Errorf("%s: %w", r.ID(), err)
	}
	p = path.Clean(p)
	r.SetValue(tree.Placed(r.Value(), p, files[p]))
	files[p]++
	return nil
}

// pathOf returns the path of a new resource: the path chosen by the function or the default.
func (c *call) pathOf(r *krm.Resource) string {
	return cmp.Or(function.MovedPlace(r.Value(), ""), c.fileOf(r.ID()))
}

// twins handles resources that a function returned twice: passed on and generated again. If an
// earlier run generated the resource, the new version is merged into the existing one;
// otherwise returning both is an error (RL-20). twins returns the resources that are really new
// and records them.
func (c *call) twins(stay, added []*krm.Resource) ([]*krm.Resource, error) {
	byID := map[krm.ID][]*krm.Resource{}
	for _, r := range stay {
		byID[r.ID().Key()] = append(byID[r.ID().Key()], r)
	}
	var kept []*krm.Resource
	var errs []error
	for _, r := range added {
		p := path.Clean(c.pathOf(r))
		at := slices.IndexFunc(byID[r.ID().Key()], func(o *krm.Resource) bool {
			in, _ := function.Place(o.Value())
			return in == p
		})
		_, known := c.before.Get(c.key, r.ID().String())
		if same := byID[r.ID().Key()]; at < 0 && known && len(same) == 1 {
			at = 0
		}
		switch {
		case at < 0:
			errs = append(errs, c.regenerated(r, nil))
			kept = append(kept, r)
			byID[r.ID().Key()] = append(byID[r.ID().Key()], r)
			r.SetValue(tree.Placed(r.Value(), p, 0))
		case !known:
			errs = append(errs, diag.SameID.Errorf("%s: the function returned it twice, and both would be written to %s", r.ID(), p))
		default:
			old := byID[r.ID().Key()][at]
			r.Origin = old.Origin
			if err := c.regenerated(r, old); err != nil {
				errs = append(errs, err)
			}
			old.SetValue(r.Value())
		}
	}
	return kept, errors.Join(errs...)
}

// place updates the annotations for the location of a resource: the location from the function,
// or else the previous one.
func (c *call) place(r, old *krm.Resource) error {
	before, index := function.Place(old.Value())
	p := cmp.Or(function.MovedPlace(r.Value(), before), before)
	if p != before {
		if err := tree.CheckPath(p); err != nil {
			return fmt.Errorf("%s: %w", r.ID(), err)
		}
	}
	n, _ := strconv.Atoi(index) // we wrote the index, so it is valid
	r.SetValue(tree.Placed(r.Value(), path.Clean(p), n))
	return nil
}

// fileOf returns the path for a new resource (IM-07, IM-09).
func (c *call) fileOf(id krm.ID) string {
	name := strings.NewReplacer("{name}", safe(id.Name), "{kind}", strings.ToLower(safe(id.Kind)), "{namespace}",
		safe(id.Namespace)).Replace(c.pattern)
	return path.Join(c.home, strings.TrimLeft(path.Clean("/"+name), "/"))
}

// safe replaces the characters of a name that are not allowed in a path element.
func safe(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '/' || r == '\\' || r < ' ' {
			return '_'
		}
		return r
	}, name)
}

// regenerated merges a newly generated version of a resource with the edits made to the
// previous version, and records the new version (RL-13). old is the current resource, or nil.
func (c *call) regenerated(r, old *krm.Resource) error {
	id := r.ID().String()
	base, known := c.before.Get(c.key, id)
	fresh := function.MovedPlace(r.Value(), "") == ""
	if old != nil && !known && !fresh {
		return nil
	}
	made := tree.Bare(r.Value(), yaml.Value{})
	c.now.Put(c.key, id, made)
	if old == nil {
		return nil
	}
	user := tree.Bare(old.Value(), yaml.Value{})
	merged, conflicts := merge.Three(base, user, made, known)
	if len(conflicts) > 0 {
		return c.conflictError(r, conflicts)
	}
	place, index := function.Place(old.Value())
	p := cmp.Or(function.MovedPlace(r.Value(), place), place)
	n, _ := strconv.Atoi(index)
	r.SetValue(tree.Placed(merged, p, n))
	return nil
}

// conflictError returns the errors for fields in which an edit and the function disagree.
func (c *call) conflictError(r *krm.Resource, conflicts []merge.Conflict) error {
	o := c.tree.Of(r)
	var errs []error
	for _, x := range conflicts {
		e := diag.Errorf(diag.Pos{}, "", "%s: the file has %s, but the function now returns %s", diag.FieldPath(x.Path),
			x.Mine, x.Theirs).With(diag.EditConflict)
		e.Field = r.ID().String()
		if o != nil {
			e.Pos = o.Locate(x.Path...)
		}
		errs = append(errs, e.Hint("the function is configured at %s: set the same value in both places", c.config))
	}
	return errors.Join(errs...)
}
