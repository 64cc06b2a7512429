package planner

import (
	"cmp"
	"errors"

	"github.com/krmflow/krmflow/builtins"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm/chart"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/planner/composition"
	"github.com/krmflow/krmflow/planner/helm"
	"github.com/krmflow/krmflow/planner/report"
	"github.com/krmflow/krmflow/trust"
)

// charts is what the layers around a layer decide about its charts, as in kustomize: they have the namespace of the next layer that sets one.
type charts struct {
	namespace string
	inherit   bool // a chart of the layer, or of one below it, has it
}

// key tells apart the builds of a layer that have different charts.
func (c charts) key() string {
	if !c.inherit {
		return ""
	}
	return "in " + c.namespace
}

// helmCharts appends a call of helm for each entry of helmCharts.
func (s *steps) helmCharts() {
	for i, c := range s.k.HelmCharts {
		path := s.k.HelmPaths[i]
		s.c.o.Functions.Helm.Apply(&c)
		if c.Namespace == "" && s.k.Namespace == "" {
			s.build.charts.inherit = true
		}
		c.Namespace = cmp.Or(c.Namespace, s.k.Namespace, s.build.charts.namespace)
		e := &entry{path: path, pos: s.k.Source.Locate(0, path...), origin: s.builtinOrigin(composition.HelmKind)}
		fail := func(m *helm.FieldError) { s.ErrorAt(s.k.Source, append(path[:2:2], m.Path...), m.Err) }
		if s.chart(&helm.Generator{Globals: *s.k.HelmGlobals, Chart: c}, e, fail) {
			s.call(e)
		}
	}
}

// chartDocument makes e the call of helm that a document stands for, nil if it is wrong.
func (s *steps) chartDocument(d document, role function.Role, e *entry) *entry {
	if role != function.GeneratorRole && d.item == nil {
		s.Fail(e.errorf("%s is a generator: list it under generators", e.kind))
		return nil
	}
	g := s.c.o.Functions.Helm.Generator()
	wrong := builtins.Decoding(d.r.ID().Kind).Decode(d.r.Value(), &g)
	for _, m := range wrong {
		s.Fail(d.mistake(m))
	}
	fail := func(m *helm.FieldError) {
		text, hints := diag.Parts(m.Err)
		e := d.mistake(&yaml.DecodeError{Path: m.Path, Msg: text, Hints: append(hints, report.Hints(m.Err)...)})
		e.Err = m.Err
		s.Fail(e)
	}
	if len(wrong) > 0 || !s.chart(&g, e, fail) {
		return nil
	}
	return e
}

// chart makes e the call of helm for a chart and reports whether that can be planned.
func (s *steps) chart(g *helm.Generator, e *entry, fail func(*helm.FieldError)) bool {
	r := trust.ChartRequest{Name: "chart " + g.Name, Pos: e.pos, Node: s.id(e.path), Command: s.c.o.Functions.Helm.Command, Helm: s.c.helm}
	if f := s.c.o.Functions.Isolation; f != nil && s.c.o.Functions.Policy.Helm {
		r.Facts.Isolation, r.Facts.NotIsolated = f()
	}
	dec := s.c.o.Functions.Policy.DecideChart(r)
	s.Warnings.Add(dec.Warnings...)
	for _, denial := range dec.Denials {
		if e.pos.File == s.k.Source.File {
			denial.Err.Field = s.k.Source.Field(e.path)
		}
		s.c.deny(Denial{r.Node, denial.Err, denial.Reason})
	}
	c := &chart.Chart{Name: g.Name, Version: g.Version, Source: diag.Redact(g.Repo)}
	if dec.Allowed {
		var err error
		var m *helm.FieldError
		if c, err = g.Compile(chartFiles{s}); errors.As(err, &m) {
			fail(m)
			return false
		} else if err != nil {
			fail(&helm.FieldError{Err: err})
			return false
		}
		dec.Args = g.Args(c)
		dec.Function.Args = dec.Args
	}
	e.summary, e.decision = c.String()+"  "+dec.Line(), &dec
	e.call = &graph.Call{Function: dec.Function, ConfigPos: e.pos, Role: function.GeneratorRole, Schema: s.schema, Origin: e.origin, Chart: c}
	return true
}

// findHelm finds the program of the user.
func (c *compiler) findHelm() trust.Program {
	p, err := c.files.Command(c.o.Functions.Helm.Command)
	return trust.Program{Real: p.Real, Digest: p.Digest, Mode: p.Mode, Err: err}
}

// chartFiles are the files that charts of a layer are made of.
type chartFiles struct{ s *steps }

func (f chartFiles) Read(path string) (*yaml.Source, error) { return f.s.read(path) }

func (f chartFiles) Folder(path string) ([]chart.File, string, error) {
	return f.s.c.files.ReadChart(f.s.dir, path)
}

func (f chartFiles) Fetch(text string) ([]chart.File, error) {
	return f.s.c.files.FetchChart(f.s.dir, text)
}
