package trusted

import (
	"strings"
	"sync"

	"github.com/krmflow/krmflow/catalog"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/schema"
	"github.com/krmflow/krmflow/krm/yaml"
)

// Unused warns about resources that configure a function of a trusted catalog. As in kustomize,
// functions listed under resources do not run.
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
			continue // its node reports the error
		}
		i := 0
		for kind := range kinds {
			// Kubernetes' own kinds do not configure functions.
			if !schema.KnowsScope(schema.Kind(kind)) {
				c.unused(kind, load.Source.Locate(i), catalogs())
			}
			i++
		}
	}
}

func (c *Catalogs) unused(kind krm.GVK, pos diag.Pos, catalogs []*catalog.Catalog) {
	if m := catalog.Search(kind, catalogs); m.Entry != nil {
		w := diag.Errorf(pos, "", "%s configures a function (%s), but functions listed under resources do not run", kind,
			m.Entry).With(diag.UnusedFunction)
		c.Warnings.Add(w.Hint("list it under generators, transformers or validators to run the function"))
	}
}

// NotRun returns a warning if document i of the resources in src names the function it
// configures: functions listed under resources do not run. Documents marked as local
// configuration are for other commands.
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
	w := diag.Errorf(src.Locate(i), "", "%s configures a function, but functions listed under resources do not run",
		v.Get("kind").Text()).With(diag.UnusedFunction)
	return []*diag.Error{w.Hint("list it under generators, transformers or validators to run the function")}
}

// Encrypted returns a warning if src has resources that are encrypted by sops. They stay encrypted:
// only functions decrypt. The search in the text keeps the cost low for all other files.
func Encrypted(src *yaml.Source) []*diag.Error {
	if !strings.Contains(src.Text(), "lastmodified") {
		return nil
	}
	docs, err := src.Documents()
	if err != nil {
		return nil
	}
	for i, d := range docs {
		if sops := d.Value.Get("sops"); sops.Get("mac").Exists() && sops.Get("lastmodified").Exists() {
			w := diag.Errorf(src.Locate(i, "sops"), "", "%s is encrypted by sops, and resources are not decrypted",
				d.Value.Get("kind").Text()).With(diag.Encrypted)
			return []*diag.Error{w.Hint("to decrypt it, list the file in a generator of kind ksops or SopsSecretGenerator")}
		}
	}
	return nil
}
