// Package validation validates the output of a run. It collects the findings of package validate
// for the lists of all roots and traces each finding to the file and line that cause it.
package validation

import (
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/secret"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/lint"
	"github.com/krmflow/krmflow/validate"
)

// A Run validates the lists of one run. Create it with [Flags.New], pass each list to [Run.Root]
// and call [Run.End] at the end.
type Run struct {
	validator *validate.Validator // nil if only references are checked
	unknown   bool                // resources of unknown kinds are errors
	rules     bool                // evaluate CEL rules
	census    *lint.Census        // nil without --strict-references

	mu          sync.Mutex
	roots       int
	resources   int
	definitions map[kind][]defined
	customs     []custom // resources of kinds that need definitions
	found       []finding
	admission   []*krm.Resource // ValidatingAdmissionPolicies and their bindings
	lists       []rendered      // only for CEL rules
	// old are the old states of customs by resource, if these are updates: see [Updates].
	old map[*krm.Resource]*krm.Resource
}

// A kind is the group and kind that a CustomResourceDefinition defines.
type kind struct{ group, kind string }

// defined is a CustomResourceDefinition in the list of a root. The resource is nil if a flag names
// the definition.
type defined struct {
	root string
	crd  yaml.Value
	r    *krm.Resource
}

// custom is a custom resource. It is validated at the end, when all definitions are known.
type custom struct {
	root graph.Root
	r    *krm.Resource
	hide *secret.Set // of the root
}

// finding is a problem with a resource in the list of a root.
type finding struct {
	validate.Finding
	root graph.Root
	r    *krm.Resource
	name string // of the resource, safe to show
	// fields are the paths of the fields that a violated rule reads, in the order of the rule.
	fields [][]any
}

// newFinding returns f without Secret values. It does not retain hide, which is as large as the
// list.
func newFinding(f validate.Finding, root graph.Root, r *krm.Resource, hide *secret.Set) finding {
	f.Hide(hide)
	return finding{Finding: f, root: root, r: r, name: hide.Name(r.ID().Name)}
}

// minPart is the minimum number of resources that justifies another goroutine.
const minPart = 64

// Root validates the list of a root, and collects its references. Custom resources are validated
// in [Run.End], because their definitions may be in the list of a later root. Root is safe for
// concurrent use. The list must not change afterwards.
func (v *Run) Root(root graph.Root, list *krm.List) {
	hide := secret.NewSet(list.AddSecrets)
	if v.census != nil {
		v.census.Add(list, hide.Name)
	}
	if v.validator == nil {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.roots++
		return
	}
	n := max(1, min(runtime.GOMAXPROCS(0), list.Len()/minPart))
	var wg sync.WaitGroup
	for part := range n {
		check := func() { v.part(root, list, hide, part*list.Len()/n, (part+1)*list.Len()/n) }
		if part == n-1 {
			check()
		} else {
			wg.Go(check)
		}
	}
	wg.Wait()
	v.mu.Lock()
	defer v.mu.Unlock()
	v.roots++
	v.resources += list.Len()
	if v.rules {
		v.lists = append(v.lists, rendered{root, list, hide})
	}
}

// part validates the resources from index from up to, but excluding, to.
func (v *Run) part(root graph.Root, list *krm.List, hide *secret.Set, from, to int) {
	var found []finding
	var customs []custom
	var crds, admission []*krm.Resource
	for i := from; i < to; i++ {
		r := list.At(i)
		if validate.IsDefinition(r.Value()) {
			crds = append(crds, r)
		}
		if r.IsLocal() {
			continue
		}
		if isAdmission(r) {
			admission = append(admission, r)
		}
		if !v.validator.Knows(r.ID().GVK) {
			customs = append(customs, custom{root, r, hide})
			continue
		}
		for _, f := range folded(v.validator.Check(r)) {
			found = append(found, newFinding(f, root, r, hide))
		}
	}
	if len(customs) > 0 {
		hide.Fill() // releases the list; otherwise hide would retain it until the end of the run
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.found = append(v.found, found...)
	v.customs = append(v.customs, customs...)
	v.admission = append(v.admission, admission...)
	for _, crd := range crds {
		v.define(root.Dir, crd.Value(), crd)
	}
}

// define adds a CustomResourceDefinition of a root. An empty root and no resource are used for
// definitions from flags.
func (v *Run) define(root string, crd yaml.Value, r *krm.Resource) {
	group, name := validate.DefinesKind(crd)
	at := kind{group, name}
	v.definitions[at] = append(v.definitions[at], defined{root, crd, r})
}

// checkCustoms validates the custom resources and returns the number of resources of each
// unknown kind.
func (v *Run) checkCustoms() (unknown map[krm.GVK]int) {
	unknown = map[krm.GVK]int{}
	n := max(1, min(runtime.GOMAXPROCS(0), len(v.customs)/minPart))
	var wg sync.WaitGroup
	for part := range n {
		customs := v.customs[part*len(v.customs)/n : (part+1)*len(v.customs)/n]
		wg.Go(func() {
			for _, c := range customs {
				findings, known := v.validator.CheckWith(c.r, v.definitionsOf(c))
				v.mu.Lock()
				if !known {
					unknown[c.r.ID().GVK]++
					if v.unknown {
						findings = []validate.Finding{v.validator.Unknown(c.r)}
					}
				}
				for _, f := range folded(findings) {
					v.found = append(v.found, newFinding(f, c.root, c.r, c.hide))
				}
				v.mu.Unlock()
			}
		})
	}
	wg.Wait()
	return unknown
}

// definitionsOf returns the CustomResourceDefinitions for a resource.
func (v *Run) definitionsOf(c custom) (crds []yaml.Value) {
	for _, d := range v.defined(c) {
		crds = append(crds, d.crd)
	}
	return crds
}

// defined returns the definitions for a resource. Definitions of its own root take precedence over
// all others.
func (v *Run) defined(c custom) []defined {
	g := c.r.ID().GVK
	var own, others []defined
	for _, d := range v.definitions[kind{g.Group, g.Kind}] {
		if d.root == c.root.Dir {
			own = append(own, d)
		} else if !slices.ContainsFunc(others, func(o defined) bool { return d.crd.Same(o.crd) }) {
			others = append(others, d)
		}
	}
	if own != nil {
		return own
	}
	return others
}

// maxAlike is the maximum number of unknown fields with the same name that are reported
// separately for an object.
const maxAlike = 3

// folded combines findings about more than [maxAlike] unknown fields with the same name into
// one. A CustomResourceDefinition that uses a field newer than the Kubernetes version, for
// example, can have it in a hundred places.
func folded(findings []validate.Finding) []validate.Finding {
	if len(findings) <= maxAlike {
		return findings
	}
	count := map[any]int{}
	last := func(f *validate.Finding) any {
		if f.Code != validate.UnknownField || len(f.Path) == 0 {
			return nil
		}
		return f.Path[len(f.Path)-1]
	}
	for i := range findings {
		count[last(&findings[i])]++
	}
	var kept []validate.Finding
	told := map[any]bool{}
	for _, f := range findings {
		name := last(&f)
		if name == nil || count[name] <= maxAlike {
			kept = append(kept, f)
		} else if !told[name] {
			told[name] = true
			f.Hints = append(f.Hints, fmt.Sprintf("the same applies to %s of it", diag.Count(count[name]-1, "other place")))
			kept = append(kept, f)
		}
	}
	return kept
}
