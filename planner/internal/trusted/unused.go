package trusted

import (
	"sync"

	"github.com/krmflow/krmflow/catalog"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/schema"
	"github.com/krmflow/krmflow/krm/yaml"
)

// Unused warns about resources of a plan that a trusted catalog defines as configurations of functions: in resources they are not run, as in
// kustomize.
func (c *Catalogs) Unused(g *graph.Graph) {
	if len(c.Sources) == 0 {
		return
	}
	catalogs := sync.OnceValue(c.Readable)
	for _, n := range g.Nodes {
		load, ok := n.Op.(graph.Load)
		if !ok {
			continue
		}
		kinds, err := krm.Kinds(load.Source)
		if err != nil {
			continue // its node says so
		}
		i := 0
		for kind := range kinds {
			if !schema.KnowsScope(schema.Kind(kind)) { // Kubernetes' own kinds are no functions
				c.unused(kind, load.Source.Locate(i), catalogs())
			}
			i++
		}
	}
}

func (c *Catalogs) unused(kind krm.GVK, pos diag.Pos, catalogs []*catalog.Catalog) {
	if m := catalog.Search(kind, catalogs); m.Entry != nil {
		w := diag.Errorf(pos, "", "%s is the configuration of a function (%s), which does not run for a resource", kind, m.Entry).With(diag.UnusedFunction)
		c.Warnings.Add(w.Hint("list it under generators, transformers or validators to run the function"))
	}
}

// NotRun returns a warning if document i of the resources in src says which function it configures: in resources that does not run. What is
// marked as local is for other commands.
func NotRun(src *yaml.Source, i int) []*diag.Error {
	docs, err := src.Documents()
	if err != nil || i >= len(docs) {
		return nil
	}
	v := docs[i].Value
	annotations := v.At("metadata", "annotations")
	if !annotations.Get("config.kubernetes.io/function").Exists() || annotations.Get("config.kubernetes.io/local-config").Exists() {
		return nil
	}
	w := diag.Errorf(src.Locate(i), "", "%s configures a function, which does not run for a resource", v.Get("kind").Text()).With(diag.UnusedFunction)
	return []*diag.Error{w.Hint("list it under generators, transformers or validators to run the function")}
}
