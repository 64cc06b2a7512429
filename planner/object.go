package planner

import (
	"fmt"
	"path/filepath"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/gitops"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/planner/internal/objects"
	"github.com/krmflow/krmflow/planner/internal/place"
	"github.com/krmflow/krmflow/planner/layerfile"
)

// object plans a root that is a GitOps object.
func (c *compiler) object(name string, o *gitops.Root) {
	b := c.build()
	defer func() { c.failed(name, b) }()
	for _, err := range o.Errs {
		b.Fail(err)
	}
	if b.Errs.Len() > 0 {
		return
	}
	var outs []graph.NodeID
	for i := range o.Parts {
		p := &objects.Part{Part: &o.Parts[i], Root: o, Name: name}
		if len(o.Parts) > 1 {
			p.Name = fmt.Sprintf("%s@%d", name, i) // not the name of an object
		}
		if id, ok := c.part(b, name, p); ok {
			outs = append(outs, id)
		}
	}
	if b.Errs.Len() > 0 {
		return
	}
	layer := filepath.Join(name, layerfile.Names[0])
	if len(outs) != 1 {
		outs = []graph.NodeID{b.add(&graph.Node{ID: name + "#sources", Op: graph.Merge{LastOnly: true}, Inputs: outs, Layer: layer,
			Summary: fmt.Sprintf("%d lists", len(outs)), Origin: objects.Origin(o, o.Object.Place())})}
	}
	for _, step := range o.Steps {
		outs = []graph.NodeID{b.add(&graph.Node{ID: name + "#" + diag.FieldPath(step.At.At),
			Op:     graph.Transform{Transformer: step.Transformer},
			Inputs: outs, Layer: layer, Summary: step.Summary, Origin: objects.Origin(o, step.At)})}
	}
	if b.Errs.Len() == 0 {
		c.draft.g.Roots = append(c.draft.g.Roots, graph.Root{Dir: name, Node: outs[0]})
		if after := o.After(); len(after) > 0 {
			if c.plan.After == nil {
				c.plan.After = map[string][]string{}
			}
			c.plan.After[name] = after
		}
	}
}

// part plans one part of a root and records its errors in all, the build of the whole root.
func (c *compiler) part(all *build, name string, p *objects.Part) (graph.NodeID, bool) {
	b := c.build()
	b.part = p
	dir, err := p.Open(c.files, name)
	if err != nil {
		all.Fail(p.Placed(err))
		return 0, false
	}
	defer dir.Close()
	l := b.layer(dir, place.Place{}, nil, nil)
	all.Errs.AddOnce(b.Errs)
	if l == nil || b.Errs.Len() > 0 || l.failed {
		return 0, false
	}
	id, ok := b.finish(l)
	if ok {
		c.plan.reading.AddRoot(name, l.k.Source.File)
	}
	all.Errs.AddOnce(b.Errs)
	return id, ok
}

// loadPart returns the edited kustomization file of the part that b builds.
func (b *build) loadPart(dir *loaders.Dir) *kustomizationFile {
	p := b.part
	src, read, err := p.Load(b.c.files, dir)
	if err != nil {
		b.Fail(err)
		return nil
	}
	b.c.plan.reading.Layer(src.File, p.Root.Object.Kind).Files = read
	b.c.plan.objects = append(b.c.plan.objects, p.Root.Sources()...)
	before := b.Errs.Len()
	f := layerfile.Decode(src, nil, b.Reporter)
	if f == nil {
		return nil
	}
	if p.Chart {
		for i := range f.HelmCharts {
			f.HelmCharts[i].Exact, f.HelmCharts[i].Secret = true, p.Secret
		}
	}
	k := &kustomizationFile{File: f}
	if b.Errs.Len() == before && f.Empty() {
		b.Fail(p.Errorf("nothing to render in %s", dir.Name).With(diag.EmptyFile))
	}
	k.errs = b.Errs.Since(before)
	return k
}
