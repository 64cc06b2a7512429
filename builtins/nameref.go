// Follows api/internal/accumulator/namereferencetransformer.go, api/filters/nameref/nameref.go,
// api/filters/nameref/seqfilter.go.

package builtins

import (
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// FixNameReferences updates the fields listed in refs. If a field holds a previous name of a
// resource of the required kind, it is set to the current name. In a field that holds a mapping
// with a name and a namespace, such as the subjects of a RoleBinding, both are set.
//
// A reference reaches resources in the namespace of the referrer and resources without a
// namespace. A RoleBinding also reaches service accounts in the namespaces that it mentions. If
// several resources had the name, those whose name prefixes and suffixes fit the referrer are
// preferred. It is an error if the remaining resources have different names.
func FixNameReferences(list *krm.List, refs *NameReferences) error {
	if len(refs.All()) == 0 {
		return nil
	}
	return newNameIndex(list).fixNames(list, refs)
}

// fixNames is [FixNameReferences] with the index of list.
func (x *nameIndex) fixNames(list *krm.List, refs *NameReferences) error {
	if len(refs.All()) == 0 {
		return nil
	}
	return list.Parts(func(part *krm.List) error { return x.share().fixAll(part, refs) })
}

// named returns the positions of the resources with a previous name, none if there are more than
// most. The slice is valid until the next call.
func (x *nameIndex) named(name string, most int32) []int32 {
	c, ok := x.names[name]
	if !ok || c.n > most {
		return nil
	}
	return x.all(c)
}

func (x *nameIndex) fixAll(list *krm.List, refs *NameReferences) error {
	for i, r := range list.All() {
		trees := refs.pick(r.OrigID().GVK)
		if len(trees) == 0 {
			continue
		}
		fixed, err := x.fix(r, trees)
		if err != nil {
			return err
		}
		if !fixed.Same(r.Value()) {
			r = r.Copy()
			r.SetValue(fixed)
			list.Set(i, r)
		}
	}
	return nil
}

// A refSpec is a field that may hold the name of an object of kind target.
type refSpec struct {
	compiledSpec
	target krm.GVK
	role   bool // the name in a roleRef, where the kind in the roleRef must match as well
}

// pick returns the fields of kind g that may hold names.
func (n *NameReferences) pick(g krm.GVK) []*fieldTree[refSpec] {
	n.mu.RLock()
	trees, ok := n.picked[g]
	n.mu.RUnlock()
	if ok {
		return trees
	}
	var specs []refSpec
	for _, ref := range n.list {
		for _, fs := range ref.FieldSpecs {
			if fs.GVK().Selects(g) {
				specs = append(specs, refSpec{compileSpec(fs), ref.GVK(), strings.HasSuffix(fs.Path, "roleRef/name")})
			}
		}
	}
	trees = plantTrees(specs, func(s *refSpec) *compiledSpec { return &s.compiledSpec })
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.picked == nil {
		n.picked = map[krm.GVK][]*fieldTree[refSpec]{}
	}
	n.picked[g] = trees
	return trees
}

// A refFixer updates the references of one resource.
type refFixer struct {
	*nameIndex
	referrer *krm.Resource
	from     reach
	spec     *refSpec
	role     krm.GVK // the kind in the referrer's roleRef; zero matches all
}

// fix returns the value of r with the references at the fields of trees updated.
func (x *nameIndex) fix(r *krm.Resource, trees []*fieldTree[refSpec]) (yaml.Value, error) {
	v := r.Value()
	if version := v.Get("apiVersion"); version.Exists() && version.SourceText() != r.ID().APIVersion() {
		text := version.SourceText()
		return v, diag.Errorf(r.Pos, "apiVersion", "%s: %q is not a valid apiVersion", r.ID(), text).With(diag.UnfitField)
	}
	from, err := reachOf(r)
	if err != nil {
		return v, diag.Errorf(r.Pos, "subjects", "%s: %w", r.ID(), err).With(diag.UnfitField)
	}
	f := refFixer{nameIndex: x, referrer: r, from: from}
	for _, tree := range trees {
		if v, err = tree.walk(v, yaml.None, f.visit); err != nil {
			return v, diag.Errorf(r.Pos, "", "updating names in %s: %w", r.ID(), err).With(diag.UnfitField)
		}
	}
	return v, nil
}

// roleRef returns the kind that a role binding refers to, the zero GVK if it is incomplete.
func roleRef(v yaml.Value) krm.GVK {
	group, kind := v.At("roleRef", "apiGroup"), v.At("roleRef", "kind")
	if !group.Exists() || !kind.Exists() {
		return krm.GVK{}
	}
	return krm.GVK{Group: group.Text(), Kind: kind.Text()}
}

// visit applies specs to one field, in order. A later spec may find a name that an earlier one
// has written.
func (f *refFixer) visit(specs []refSpec, v yaml.Value) (yaml.Value, error) {
	for i := range specs {
		f.spec, f.role = &specs[i], krm.GVK{}
		if f.spec.role {
			f.role = roleRef(f.referrer.Value())
		}
		w, err := f.edit(v)
		if err != nil {
			return v, err
		}
		v = w
	}
	return v, nil
}

func (f *refFixer) edit(v yaml.Value) (yaml.Value, error) {
	if v.Type() != yaml.Seq {
		return f.editOne(v)
	}
	return v.EditItems(func(item yaml.Value) (yaml.Value, error) {
		if item.Type() == yaml.Seq {
			return item, diag.UnfitField.Errorf("expected a name or a mapping with a name, found a list")
		}
		return f.editOne(item)
	})
}

func (f *refFixer) editOne(v yaml.Value) (yaml.Value, error) {
	switch {
	case v.IsNull():
		return v, nil
	case v.Type() == yaml.Map:
		return f.editMap(v)
	}
	found, err := f.find(query{name: v.Text()}, sameName)
	if found == nil || found.ID().Name == v.Text() {
		return v, err
	}
	return sameStyle(v, found.ID().Name), nil
}

// editMap updates the name and the namespace. It does not write an empty namespace of the
// referenced object, because an empty namespace means any namespace rather than "default".
func (f *refFixer) editMap(v yaml.Value) (yaml.Value, error) {
	if !v.Get("name").Exists() {
		return v, diag.UnfitField.Errorf("the mapping has no field \"name\"; the path in the configuration of name references may be wrong")
	}
	q := query{name: v.Get("name").Text()}
	if ns := v.Get("namespace"); ns.Exists() {
		if f.hasOrigin(ns.Text(), f.from) {
			q.orig = ns.Text()
		} else if q.cur = ns.Text(); q.cur == "" || q.cur == krm.ClusterScope {
			return v, nil
		}
	}
	found, err := f.find(q, sameNameAndNamespace)
	if found == nil {
		return v, err
	}
	if name := found.ID().Name; name != q.name {
		v = v.With("name", sameStyle(v.Get("name"), name))
	}
	old := v.Get("namespace")
	switch ns := found.ID().Namespace; {
	case ns == "" || ns == old.Text():
		return v, nil
	case old.Exists():
		return v.With("namespace", sameStyle(old, ns)), nil
	default:
		return v.With("namespace", yaml.Str(ns)), nil
	}
}

// find returns the resource that q refers to, nil if there is none. If there are several, they
// must be equivalent according to same.
func (f *refFixer) find(q query, same func(a, b krm.ID) bool) (*krm.Resource, error) {
	q.target, q.role = f.spec.target, f.role
	found := f.candidates(q, f.from, f.referrer)
	if len(found) == 0 {
		return nil, nil
	}
	first := f.items[found[0]]
	for _, i := range found[1:] {
		if !same(first.ID(), f.items[i].ID()) {
			return nil, f.ambiguous(q.name, found)
		}
	}
	return first, nil
}

func (f *refFixer) ambiguous(name string, found []int32) error {
	var ids []string
	for _, i := range found {
		ids = append(ids, f.items[i].ID().String())
	}
	return diag.AmbiguousName.Errorf("%q may refer to several resources: %s", name, diag.Some(ids))
}

func sameName(a, b krm.ID) bool { return a.Name == b.Name }

func sameNameAndNamespace(a, b krm.ID) bool { return a.Name == b.Name && a.Namespace == b.Namespace }

// A reach describes the resources that a referrer can refer to: resources in namespace ns (all
// resources if ns is [krm.ClusterScope]), resources without a namespace, and service accounts in
// the namespaces listed in accounts.
type reach struct {
	ns       string
	accounts string // namespaces terminated by NUL; a string keeps reach comparable
}

func reachOf(r *krm.Resource) (reach, error) {
	from := reach{ns: r.ID().EffectiveNamespace()}
	if r.ID().Cluster || r.ID().Kind != "RoleBinding" {
		return from, nil
	}
	var accounts []string
	for _, subject := range r.Value().Get("subjects").Items() {
		if subject.Type() != yaml.Map {
			return from, errFound("a mapping in subjects", subject)
		}
		ns := subject.Get("namespace")
		if !ns.Exists() || subject.Get("kind").Text() != "ServiceAccount" {
			continue
		}
		if ns.Type() != yaml.String {
			return from, diag.NamespaceSubjects.Errorf("the namespace of a service account is not a string")
		}
		accounts = append(accounts, ns.Text())
	}
	slices.Sort(accounts)
	for _, ns := range slices.Compact(accounts) {
		from.accounts += ns + "\x00"
	}
	return from, nil
}

func (from reach) accountNamespaces() func(func(string) bool) {
	return func(yield func(string) bool) {
		for rest := from.accounts; rest != ""; {
			var ns string
			ns, rest, _ = strings.Cut(rest, "\x00")
			if !yield(ns) {
				return
			}
		}
	}
}

func (from reach) includes(r *krm.Resource) bool {
	id := r.ID()
	if from.ns == krm.ClusterScope || id.Cluster || id.EffectiveNamespace() == from.ns {
		return true
	}
	return id.Kind == "ServiceAccount" && from.accounts != "" && from.mentions(id.Namespace)
}

func (from reach) mentions(namespace string) bool {
	for ns := range from.accountNamespaces() {
		if ns == namespace {
			return true
		}
	}
	return false
}
