package appset

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/gitops"
	"github.com/krmflow/krmflow/gitops/argocd/internal/appset/internal/gotemplate"
	"github.com/krmflow/krmflow/gitops/argocd/internal/discovery"
	"github.com/krmflow/krmflow/krm/yaml"
)

// A generation is the run of the generators of one ApplicationSet.
type generation struct {
	*discovery.Discovery
	renderer *gotemplate.Renderer
	set      *gitops.Object
	// uses and files determine the result.
	uses  []*gitops.Object
	files []*yaml.Source
}

// A node is a part of an ApplicationSet, with its place.
type node struct {
	value yaml.Value
	at    yaml.Place
}

// below returns the part of the node at path.
func (n node) below(path ...any) node {
	v := n.value
	for _, step := range path {
		switch step := step.(type) {
		case string:
			v = v.Get(step)
		case int:
			if items := v.Items(); step < len(items) {
				v = items[step]
			} else {
				v = yaml.Value{}
			}
		}
	}
	return node{v, n.at.Below(path...)}
}

// A result has the parameters and the template of one generator.
type result struct {
	params   []*params
	template node // missing if the generator has no template
}

// generatorNames are the names of generators. Argo CD runs the generators of an entry in this
// order.
var generatorNames = []string{"list", "clusters", "git", "scmProvider", "clusterDecisionResource", "pullRequest", "matrix", "merge",
	"plugin"}

// run runs an entry of generators. depth is the number of enclosing generators. from has parameters
// of the first generator of a matrix, and is nil elsewhere.
func (g *generation) run(n node, depth int, from *params) ([]result, error) {
	// A selector is not rendered as a template.
	var sel *selector
	if v := n.value.Get("selector"); !v.IsNull() {
		if errs := g.Decode(v, n.at.Below("selector"), &sel); len(errs) > 0 {
			return nil, errs[0]
		}
		if err := sel.check(n.at.Below("selector")); err != nil {
			return nil, err
		}
	}
	if from != nil && len(from.values) > 0 {
		v, places, err := g.value(n.value, n.at, from)
		if err != nil {
			return nil, err
		}
		if !v.Same(n.value) {
			src := yaml.Assemble(g.set.Source.File, v, append([]yaml.Place{discovery.RootPlace(n.at)}, places...)...)
			n = node{v, yaml.Place{Source: src}}
		}
	}
	var gen generator
	if errs := g.Decode(n.value, n.at, &gen); len(errs) > 0 {
		return nil, errs[0]
	}
	var results []result
	for _, name := range generatorNames {
		if n.value.Get(name).IsNull() {
			continue
		}
		x := n.below(name)
		list, err := g.one(name, &gen, x, depth)
		if err != nil {
			return nil, err
		}
		if sel != nil {
			list = slices.DeleteFunc(list, func(p *params) bool { return !sel.matches(p.flat()) })
		}
		results = append(results, result{list, x.below("template")})
	}
	if len(results) == 0 {
		return nil, discovery.ErrorAt(n.at, "the entry has no generator").With(diag.MissingField)
	}
	return results, nil
}

// one runs the generator with the given name.
func (g *generation) one(name string, gen *generator, n node, depth int) ([]*params, error) {
	switch name {
	case "list":
		return g.list(gen.List, n)
	case "clusters":
		return g.clusterList(gen.Clusters, n)
	case "git":
		return g.git(gen.Git, n)
	case "matrix":
		return g.matrix(gen.Matrix, n, depth)
	case "merge":
		return g.merge(gen.Merge, n, depth)
	}
	return nil, discovery.Refused(n.at, "the generator %s is not run: %s", name, map[string]string{
		"scmProvider": "it asks a hosting service for repositories", "pullRequest": "it asks a hosting service for pull requests",
		"plugin": "it asks a server", "clusterDecisionResource": "it reads the status of objects in a cluster",
	}[name])
}

// list runs a list generator.
func (g *generation) list(gen *listGenerator, n node) ([]*params, error) {
	var list []*params
	for i, v := range gen.Elements {
		at := n.at.Below("elements", i)
		if v.Type() != yaml.Map {
			return nil, discovery.ErrorAt(at, "must be a mapping, not %s", v.Type().Article()).With(diag.WrongType)
		}
		p := newParams()
		for _, f := range v.Fields() {
			if err := g.element(p, f.Key, f.Value, at.Below(f.Key)); err != nil {
				return nil, err
			}
		}
		list = append(list, p)
	}
	if gen.ElementsYAML == "" {
		return list, nil
	}
	at := n.at.Below("elementsYaml")
	v, err := (&yaml.Source{File: g.set.Source.File, Data: []byte(gen.ElementsYAML)}).Value()
	if err != nil {
		return nil, discovery.InText(at, err)
	}
	if !v.IsNull() && v.Type() != yaml.Seq {
		return nil, discovery.ErrorAt(at, "must be the text of a list, not of %s", v.Type().Article()).With(diag.WrongType)
	}
	for _, x := range v.Items() {
		if x.Type() != yaml.Map {
			return nil, discovery.ErrorAt(at, "must be the text of a list of mappings").With(diag.WrongType)
		}
		p := newParams()
		for _, f := range x.Fields() {
			p.set(f.Key, plain(f.Value), yaml.Place{})
			p.places[f.Key] = at // a value in a text has the place of the text
		}
		list = append(list, p)
	}
	return list, nil
}

// element sets a parameter of a list element.
func (g *generation) element(p *params, key string, v yaml.Value, at yaml.Place) error {
	switch {
	case g.renderer.Golang:
		p.set(key, plain(v), at)
		return nil
	case key == "values":
		if v.Type() != yaml.Map {
			return discovery.ErrorAt(at, "must be a mapping of strings").With(diag.WrongType)
		}
		for _, f := range v.Fields() {
			if err := g.textParam(p, "values."+f.Key, f.Value, at.Below(f.Key)); err != nil {
				return err
			}
		}
		return nil
	}
	return g.textParam(p, key, v, at)
}

// textParam sets a parameter that must be a string.
func (g *generation) textParam(p *params, key string, v yaml.Value, at yaml.Place) error {
	if v.Type() != yaml.String && v.Type() != yaml.Time {
		return discovery.ErrorAt(at, "must be a string, not %s", v.Type().Article()).With(diag.WrongType).
			Hint("put it in quotes, or set goTemplate: true")
	}
	p.set(key, plain(v), at)
	return nil
}

// addValues adds the field values of a generator, which may refer to other parameters.
func (g *generation) addValues(p *params, values map[string]string, n node) error {
	set := map[string]string{}
	placed := map[string]yaml.Place{}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		at := n.at.Below("values", key)
		text, param, err := g.renderer.Text(values[key], p.values)
		if err != nil {
			return discovery.ErrorAt(at, "%w", err).With(diag.BadValue)
		}
		if from, ok := p.place(param); ok {
			at = from
		}
		set[key], placed[key] = text, at
	}
	switch {
	case len(set) == 0:
	case g.renderer.Golang:
		p.set("values", set, yaml.Place{})
		for key, at := range placed {
			p.places[pathKey("values", key)] = at
		}
	default:
		for key, v := range set {
			p.set("values."+key, v, placed[key])
		}
	}
	return nil
}

// clusterList runs a cluster generator.
func (g *generation) clusterList(gen *clusterGenerator, n node) ([]*params, error) {
	if err := gen.Selector.check(n.at.Below("selector")); err != nil {
		return nil, err
	}
	all, err := listClusters(g.Discovery)
	if err != nil {
		return nil, err
	}
	if g.Env.Clusters != nil {
		g.files = append(g.files, g.Env.Clusters)
	}
	var local, list []*params
	for _, c := range all {
		if c.secret != nil {
			g.uses = append(g.uses, c.secret)
		}
		if c.local && !gen.Selector.isEmpty() || !c.local && !gen.Selector.matches(c.labels) {
			continue
		}
		p := c.params(g.renderer.Golang)
		if err := g.addValues(p, gen.Values, n); err != nil {
			return nil, err
		}
		if c.local {
			local = append(local, p)
		} else {
			list = append(list, p)
		}
	}
	list = append(local, list...)
	if !gen.FlatList {
		return list, nil
	}
	flat := []map[string]any{}
	for _, p := range list {
		flat = append(flat, p.values)
	}
	p := newParams()
	p.set("clusters", flat, yaml.Place{})
	return []*params{p}, nil
}

// matrix runs a matrix generator. For each set of parameters of the first generator, it runs the
// second generator and combines the parameters of both.
func (g *generation) matrix(gen *matrixGenerator, n node, depth int) ([]*params, error) {
	if len(gen.Generators) != 2 {
		return nil, discovery.ErrorAt(n.at, "needs exactly two generators, not %d", len(gen.Generators)).With(diag.BadValue)
	}
	first, err := g.child(n.below("generators", 0), depth, nil)
	if err != nil {
		return nil, err
	}
	var list []*params
	for _, a := range first {
		second, err := g.child(n.below("generators", 1), depth, a)
		if err != nil {
			return nil, err
		}
		for _, b := range second {
			p := newParams()
			if g.renderer.Golang {
				p.override(b, true)
				p.override(a, true)
			} else if err := p.combine(a, b); err != nil {
				return nil, discovery.ErrorAt(n.at, "%w", err).With(diag.BadValue)
			}
			if list = append(list, p); len(list) > maxParams {
				return nil, discovery.ErrorAt(n.at, "%w", diag.Limitf("the generator makes more than %d sets of parameters", maxParams)).
					With(diag.Limit)
			}
		}
	}
	return list, nil
}

// maxParams limits the number of sets of parameters of a matrix generator, which is a product.
const maxParams = 10_000

// combine sets p to the parameters of a and b, as strings. Different values for one parameter are
// an error.
func (p *params) combine(a, b *params) error {
	for _, from := range []*params{a, b} {
		for _, key := range slices.Sorted(maps.Keys(from.values)) {
			text := fmt.Sprintf("%v", from.values[key])
			if old, ok := p.values[key]; ok && old != text {
				return fmt.Errorf("the generators have different values of %s: %q and %q", key, old, text)
			}
			p.values[key] = text
		}
		maps.Copy(p.places, from.places)
	}
	return nil
}

// child runs an entry of a matrix or merge generator. The entry must have exactly one generator.
func (g *generation) child(n node, depth int, from *params) ([]*params, error) {
	nested := !n.value.Get("matrix").IsNull() || !n.value.Get("merge").IsNull()
	if nested && depth >= 1 {
		return nil, discovery.ErrorAt(n.at,
			"generators are nested too deeply: at most two levels of matrix and merge are allowed").With(diag.BadValue)
	}
	results, err := g.run(n, depth+1, from)
	switch {
	case err != nil:
		return nil, err
	case len(results) > 1:
		return nil, discovery.ErrorAt(n.at, "an entry must have one generator").With(diag.BadValue)
	}
	return results[0].params, nil
}

// merge runs a merge generator. It changes the parameters of the first generator by parameters of
// the other generators with the same values of the merge keys. The result has the order of the
// first generator; Argo CD's order is random.
func (g *generation) merge(gen *mergeGenerator, n node, depth int) ([]*params, error) {
	switch {
	case len(gen.Generators) < 2:
		return nil, discovery.ErrorAt(n.at, "needs at least two generators").With(diag.BadValue)
	case len(gen.MergeKeys) == 0:
		return nil, discovery.ErrorAt(n.at, "no merge keys are set").With(diag.MissingField).Hint("set mergeKeys")
	}
	var base []*params
	byKey := map[string]*params{}
	for i := range gen.Generators {
		at := n.below("generators", i)
		list, err := g.child(at, depth, nil)
		if err != nil {
			return nil, err
		}
		seen := map[string]bool{}
		for _, p := range list {
			key := p.key(gen.MergeKeys)
			if seen[key] {
				return nil, discovery.ErrorAt(at.at, "several sets of parameters have the merge keys %s", key).With(diag.DuplicateKey)
			}
			seen[key] = true
			switch old := byKey[key]; {
			case i == 0:
				byKey[key] = p
				base = append(base, p)
			case old != nil:
				old.override(p, g.renderer.Golang)
			}
		}
	}
	return base, nil
}

// key returns the values of the merge keys as JSON.
func (p *params) key(keys []string) string {
	m := map[string]any{}
	for _, key := range keys {
		m[key] = p.values[key]
	}
	data, err := json.Marshal(m)
	if err != nil {
		return fmt.Sprint(m)
	}
	return string(data)
}

// git runs a git generator.
func (g *generation) git(gen *gitGenerator, n node) ([]*params, error) {
	at := n.at.Below("repoURL")
	if gen.RepoURL == "" {
		return nil, discovery.ErrorAt(n.at, "repoURL is missing").With(diag.MissingField)
	}
	r, err := g.Repo(at, gen.RepoURL, gen.Revision)
	if err != nil {
		return nil, err
	}
	if r.Tree == nil {
		return nil, discovery.Refused(at, "the generator needs the files of %s, which is not on this machine", diag.Redact(gen.RepoURL)).
			Hint("map the repository to a directory")
	}
	if err := r.Tree.Walk(); err != nil {
		return nil, discovery.ErrorAt(at, "%w", err)
	}
	switch {
	case len(gen.Directories) > 0:
		return g.gitDirectories(gen, n, r.Tree)
	case len(gen.Files) > 0:
		return g.gitFiles(gen, n, r.Tree)
	}
	return nil, discovery.ErrorAt(n.at, "needs directories or files").With(diag.MissingField)
}

// gitDirectories returns the parameters for the directories that match a pattern. A path with a
// hidden element never matches.
func (g *generation) gitDirectories(gen *gitGenerator, n node, t *discovery.Tree) ([]*params, error) {
	var list []*params
	for _, dir := range t.Dirs {
		if strings.HasPrefix(dir, ".") || strings.Contains(dir, "/.") {
			continue
		}
		include, exclude, from := false, false, 0
		for i, item := range gen.Directories {
			ok, err := path.Match(item.Path, dir)
			if err != nil {
				at := n.at.Below("directories", i, "path")
				g.Warn(discovery.ErrorAt(at, "%q is not a valid pattern, and matches nothing", item.Path).With(diag.BadValue))
			}
			if ok && item.Exclude {
				exclude = true
			} else if ok && !include {
				include, from = true, i
			}
		}
		if !include || exclude {
			continue
		}
		p := newParams()
		g.setPath(p, gen.PathParamPrefix, dir, "", n.at.Below("directories", from))
		if err := g.addValues(p, gen.Values, n); err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, nil
}

// setPath sets the parameters for a directory and, if file is not empty, a file in it.
func (g *generation) setPath(p *params, prefix, dir, file string, at yaml.Place) {
	base := path.Base(dir)
	segments := strings.Split(dir, "/")
	if !g.renderer.Golang {
		name := "path"
		if prefix != "" {
			name = prefix + ".path"
		}
		p.set(name, dir, at)
		p.set(name+".basename", base, at)
		p.set(name+".basenameNormalized", gotemplate.Normalize(base), at)
		if file != "" {
			p.set(name+".filename", file, at)
			p.set(name+".filenameNormalized", gotemplate.Normalize(file), at)
		}
		for i, s := range segments {
			if s != "" {
				p.set(name+"["+strconv.Itoa(i)+"]", s, at)
			}
		}
		return
	}
	m := map[string]any{"path": dir, "basename": base, "basenameNormalized": gotemplate.Normalize(base), "segments": segments}
	if file != "" {
		m["filename"], m["filenameNormalized"] = file, gotemplate.Normalize(file)
	}
	where := []string{"path"}
	if prefix != "" {
		p.set(prefix, map[string]any{"path": m}, yaml.Place{})
		where = []string{prefix, "path"}
	} else {
		p.set("path", m, yaml.Place{})
	}
	for key := range m {
		p.places[pathKey(append(where, key)...)] = at
	}
}

// gitFiles returns the parameters from the files that match a pattern.
func (g *generation) gitFiles(gen *gitGenerator, n node, t *discovery.Tree) ([]*params, error) {
	chosen := map[string]bool{}
	for _, exclude := range []bool{false, true} {
		for i, item := range gen.Files {
			if item.Exclude != exclude {
				continue
			}
			match, err := pathspec(item.Path)
			if err != nil {
				return nil, discovery.ErrorAt(n.at.Below("files", i, "path"), "%q is not a valid pattern", item.Path).With(diag.BadValue)
			}
			for _, name := range t.Files {
				if chosen[name] == exclude && match(name) {
					chosen[name] = !exclude
				}
			}
		}
	}
	var list []*params
	for _, name := range slices.Sorted(maps.Keys(chosen)) {
		if !chosen[name] {
			continue
		}
		src, err := g.Read(t, name)
		if err != nil {
			return nil, discovery.ErrorAt(n.at.Below("files"), "%w", err)
		}
		g.files = append(g.files, src)
		v, err := src.Value()
		if err != nil {
			return nil, err
		}
		objects, paths := []yaml.Value{v}, [][]any{nil}
		if v.Type() == yaml.Seq {
			objects, paths = v.Items(), nil
			for i := range objects {
				paths = append(paths, []any{i})
			}
		}
		for i, v := range objects {
			at := yaml.Place{Source: src, At: paths[i]}
			if !v.IsNull() && v.Type() != yaml.Map {
				return nil, discovery.ErrorAt(at, "must be a mapping of parameters or a list of mappings").With(diag.WrongType)
			}
			p := newParams()
			for _, f := range v.Fields() {
				g.fileParam(p, f.Key, f.Value, at.Below(f.Key))
			}
			g.setPath(p, gen.PathParamPrefix, path.Dir(name), path.Base(name), yaml.Place{Source: src})
			if err := g.addValues(p, gen.Values, n); err != nil {
				return nil, err
			}
			list = append(list, p)
		}
	}
	return list, nil
}

// fileParam sets a parameter of a file.
func (g *generation) fileParam(p *params, key string, v yaml.Value, at yaml.Place) {
	switch {
	case g.renderer.Golang:
		p.set(key, plain(v), at)
	case v.Type() == yaml.Map:
		for _, f := range v.Fields() {
			g.fileParam(p, key+"."+f.Key, f.Value, at.Below(f.Key))
		}
	case v.Type() == yaml.Seq:
		for i, x := range v.Items() {
			g.fileParam(p, key+"."+strconv.Itoa(i), x, at.Below(i))
		}
	default:
		p.set(key, fmt.Sprintf("%v", plain(v)), at)
	}
}

// pathspec compiles a pattern of git ls-files: * and ? also match slashes, and a folder selects all
// files below it.
func pathspec(pattern string) (func(name string) bool, error) {
	pattern = strings.TrimPrefix(path.Clean(pattern), "/")
	if strings.HasPrefix(pattern, ":") {
		return nil, discovery.ErrBadPattern
	}
	if pattern == "." {
		return func(string) bool { return true }, nil
	}
	exp, err := discovery.GlobExpression(pattern, false)
	if err != nil {
		return nil, err
	}
	return func(name string) bool {
		return exp.MatchString(name) || strings.HasPrefix(name, pattern+"/")
	}, nil
}
