package diff

import (
	"errors"
	"sync"

	"github.com/krmflow/krmflow/builtins"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/internal/command/diff/cause"
	"github.com/krmflow/krmflow/internal/command/diff/findings"
	"github.com/krmflow/krmflow/internal/engine"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/planner"
)

// explain finds the file and line that cause each edit of a root, and the dangers of the edits: see
// packages cause and findings.
func (c *comparison) explain(u *unit) {
	u.root.Causes = make([][]diag.Pos, len(u.root.Changes.Resources))
	x := c.explainer(u)
	u.root.MoveCauses = x.Moves(u.root.Changes)
	u.root.Findings = make([][]findings.Finding, len(u.root.Changes.Resources))
	for i := range u.root.Changes.Resources {
		r := &u.root.Changes.Resources[i]
		u.root.Causes[i] = make([]diag.Pos, len(r.Edits))
		for k := range r.Edits {
			if r.Edits[k].Follows == "" && !r.Edits[k].Moves {
				u.root.Causes[i][k] = x.Of(r, &r.Edits[k])
			}
		}
		u.root.Findings[i] = findings.Of(r, u.root.Causes[i], x, c.Levels())
	}
}

// evaluate adds the findings for CEL rules that changes violate. The definitions can be in roots
// that are the same on both sides and were not rendered.
func (c *comparison) evaluate() error {
	if c.rules.Undefined() {
		var same []string
		for _, u := range c.units {
			if u.now != "" && u.got && u.root.Changes == nil {
				same = append(same, u.now)
			}
		}
		run, err := c.run.Beside(c.cmd.Context(), engine.Side{Dirs: same})
		if err != nil {
			return err
		}
		for _, failed := range run.Results(c.cmd.Context(), engine.Hooks{Root: c.rules.Define, Silent: true}) {
			err = errors.Join(err, failed)
		}
		if err != nil {
			return err
		}
	}
	found, err := c.rules.Evaluate(c.cmd.Context(), c.Invocation, c.run.Plan())
	for _, u := range c.units {
		for i := range u.root.Findings {
			r := &u.root.Changes.Resources[i]
			u.root.Findings[i] = append(findings.OfRules(r, found[r], c.Levels()), u.root.Findings[i]...)
		}
	}
	return err
}

// explainer returns the finder for the edits of a root.
func (c *comparison) explainer(u *unit) *cause.Finder {
	x := &cause.Finder{New: c.nowFiles(), Old: map[string]*yaml.Source{}, Changed: func(string) bool { return true },
		Counterpart: func(string) string { return "" }}
	x.Steps = func() []*graph.Node { return nil }
	if u.now == "" || u.was == "" {
		return x
	}
	x.Compared = c.before != nil && c.counterpart != nil
	x.Steps = sync.OnceValue(func() []*graph.Node {
		g := c.run.Plan().Graph.Only(func(r graph.Root) bool { return r.Dir == diag.Redact(u.now) })
		if !x.Compared {
			return g.Nodes
		}
		return c.otherSteps(g, c.before.Plan().Graph.Only(func(r graph.Root) bool { return r.Dir == diag.Redact(u.was) }))
	})
	if x.Compared {
		x.Old, x.Counterpart = c.wasFiles(), c.counterpart
		x.Changed = func(file string) bool {
			src, old := x.New[file], x.Old[c.counterpart(file)]
			if old == nil {
				old = x.Old[file] // fetched files have the same name on both sides
			}
			return src != nil && (old == nil || old.Digest() != src.Digest())
		}
	}
	return x
}

// otherSteps returns the steps of a root that its old side does not have.
func (c *comparison) otherSteps(g, old *graph.Graph) (others []*graph.Node) {
	// configs yields the configurations of steps. Steps that change no resource or have no
	// configuration are skipped: file content has its own positions.
	configs := func(g *graph.Graph, side string, files map[string]*yaml.Source, yield func(*graph.Node, krm.Digest)) {
		for _, n := range g.Nodes {
			switch n.Op.(type) {
			case graph.Load, graph.Finish, graph.Merge, graph.Absorb, graph.Validate, graph.Pass, graph.Fetch:
				continue
			case graph.Generate, graph.Transform, graph.Call:
			}
			config, ok := c.configs.Load(side + n.ID)
			if !ok {
				var shared []string
				switch graph.Maker(n.Op).(type) {
				case graph.Generator:
					shared = []string{"generatorOptions"}
				case builtins.FieldLister:
					shared = []string{"configurations"}
				}
				config = n.ConfigDigest(files, shared...)
				c.configs.Store(side+n.ID, config) // roots share many steps
			}
			yield(n, config.(krm.Digest))
		}
	}
	known := map[krm.Digest]int{}
	configs(old, "old ", c.wasFiles(), func(_ *graph.Node, config krm.Digest) { known[config]++ })
	configs(g, "new ", c.nowFiles(), func(n *graph.Node, config krm.Digest) {
		if known[config] > 0 {
			known[config]--
		} else {
			others = append(others, n)
		}
	})
	return others
}

// sources returns the files of a plan by name.
func sources(plan *planner.Plan) map[string]*yaml.Source {
	files := map[string]*yaml.Source{}
	if plan != nil {
		for _, src := range plan.Files() {
			files[src.File] = src
		}
	}
	return files
}
