package run

import (
	"cmp"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/internal/command/run/tree"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/planner"
)

// configs returns the calls of functions whose configurations are in files, in execution order
// (IM-03): deeper folders first, then by path, then by position in the file. An object that
// does not name its function is a call if a catalog has a function for its kind.
func configs(t *tree.Tree, skip map[*tree.Object]bool) []*call {
	var calls []*call
	for _, f := range t.Files {
		for _, o := range f.Objects {
			if mayConfigure(o) && !skip[o] {
				calls = append(calls, configured(t, o))
			}
		}
	}
	slices.SortStableFunc(calls, func(a, b *call) int {
		return cmp.Or(cmp.Compare(depth(b.scope), depth(a.scope)), cmp.Compare(a.object.File.Path, b.object.File.Path),
			cmp.Compare(a.object.Index, b.object.Index))
	})
	return calls
}

// depth returns the depth of a folder below the directory.
func depth(folder string) int {
	if folder == "." {
		return 0
	}
	return 1 + strings.Count(folder, "/")
}

// mayConfigure reports whether an object can be the configuration of a function. Layers of
// kustomize and packages of kpt cannot.
func mayConfigure(o *tree.Object) bool {
	gvk := krm.ParseGVK(o.Value.Get("apiVersion").Text(), o.Value.Get("kind").Text())
	return gvk.Group != "kustomize.config.k8s.io" && gvk.Group != "kpt.dev" && gvk.Version != "builtin"
}

// namesFunction reports whether an object names its function.
func namesFunction(v yaml.Value) bool {
	annotations := v.At("metadata", "annotations")
	for _, key := range []string{function.PlaceAnnotation, function.PlaceAnnotation2, function.PlaceContainer} {
		if annotations.Get(key).Exists() {
			return true
		}
	}
	if v.At("metadata", "configFn").Exists() {
		return true
	}
	for _, key := range []string{function.PlaceRuntime, function.PlaceProvider} { // fields of these names also exist in other kinds
		if x := v.Get(key); x.Get("container").Exists() || x.Get("exec").Exists() || x.Get("starlark").Exists() {
			return true
		}
	}
	return false
}

// follows reports whether the configuration of a call may have had the key before: it was
// renamed in the same file, or moved to a different file.
func (c *call) follows(key string) bool {
	file, id, _ := strings.Cut(key, "#")
	newFile, newID, _ := strings.Cut(c.key, "#")
	was, is := strings.Fields(id), strings.Fields(newID) // apiVersion, kind, name
	return id == newID || file == newFile && len(was) > 1 && len(is) > 1 && was[1] == is[1]
}

// configured returns the call that an object configures.
func configured(t *tree.Tree, o *tree.Object) *call {
	folder := path.Dir(o.File.Path)
	scope := folder
	if path.Base(scope) == "functions" {
		scope = path.Dir(scope)
	}
	r := krm.NewResource(o.Value, nil)
	id := r.ID()
	c := &call{tree: t, object: o, scope: scope, home: scope, key: o.File.Path + "#" + id.String()}
	c.plan = planner.FileCall{
		File: filepath.Join(t.Dir, filepath.FromSlash(o.File.Path)), Name: strings.TrimSuffix(id.Kind+"/"+id.Name, "/"),
		Dir: filepath.Join(t.Dir, filepath.FromSlash(folder)), Config: r, Files: c, IfKnown: !namesFunction(o.Value),
		Complete: func(p *planner.FileCall) {
			p.Source, p.Doc = o.Source()
			p.Origin = graph.Origin{Source: p.Source}
			r.Pos = o.Pos()
			c.config = r.Pos
		},
	}
	if o.Index > 0 {
		c.plan.Name += fmt.Sprintf("[%d]", o.Index)
	}
	return c
}
