package planner

import (
	"cmp"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/planner/composition"
	"github.com/krmflow/krmflow/planner/helm"
	"github.com/krmflow/krmflow/planner/report"
)

// charts are the settings that enclosing layers give the charts of a layer. As in kustomize, a
// chart takes the namespace of the nearest enclosing layer that sets one.
type charts struct {
	namespace string
	inherit   bool // a chart in the layer, or in a layer below it, uses namespace
}

// key distinguishes builds of a layer whose charts differ.
func (c charts) key() string {
	if !c.inherit {
		return ""
	}
	return "in " + c.namespace
}

// helmCharts appends a helm call for each entry of helmCharts.
func (s functionSteps) helmCharts() {
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

// chartDocument turns e into the helm call configured by a document. It returns nil after
// recording a mistake.
func (s functionSteps) chartDocument(d document, role function.Role, e *entry) *entry {
	if role != function.GeneratorRole && d.item == nil {
		s.Fail(e.errorf("%s is a generator: list it under generators", e.kind))
		return nil
	}
	g := s.c.o.Functions.Helm.Generator()
	before := s.Errs.Len()
	s.decodeBuiltin(d, &g)
	fail := func(m *helm.FieldError) {
		text, hints := diag.Parts(m.Err)
		e := d.mistake(&yaml.DecodeError{Path: m.Path, Msg: text, Hints: append(hints, report.Hints(m.Err)...), Code: diag.CodeOf(m.Err)})
		e.Err = m.Err
		s.Fail(e)
	}
	if d.src != nil && g.ValuesInline.Len() > 0 {
		d.src.HoldSecret()
	}
	if s.Errs.Len() > before || !s.chart(&g, e, fail) {
		return nil
	}
	return e
}

// chart turns e into the helm call for a chart and reports whether the chart can be planned.
func (s functionSteps) chart(g *helm.Generator, e *entry, fail func(*helm.FieldError)) bool {
	if g.ValuesInline.Len() > 0 {
		s.k.Source.HoldSecret()
	}
	f := s.c.o.Functions
	call, dec, err := g.Plan(helm.Request{Policy: f.Policy, Program: s.c.helm, Isolation: f.Isolation, Node: s.id(e.path), Pos: e.pos,
		Files: helm.Files{Local: s.c.files, Dir: s.dir, Read: s.read}})
	s.Warnings.Add(dec.Warnings...)
	for _, denial := range dec.Denials {
		if e.pos.File == s.k.Source.File {
			denial.Err.Field = s.k.Source.Field(e.path)
		}
		s.c.deny(Denial{s.id(e.path), denial.Err, denial.Reason})
	}
	if err != nil {
		fail(err)
		return false
	}
	call.Schema, call.Origin = s.schema, e.origin
	e.call, e.decision, e.summary = call, dec, call.Chart.String()+"  "+dec.Line()
	return true
}
