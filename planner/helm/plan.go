package helm

import (
	"cmp"
	"errors"
	"sync"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm/chart"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/trust"
)

// A Request is the input of planning a chart.
type Request struct {
	Policy trust.Policy
	// Program is the helm program. Isolation returns this machine's sandbox for it. It is called
	// only if charts are allowed, and may be nil.
	Program   Program
	Isolation func() (isolation, missing string)
	Files     Files
	// Node is the id of the node. Pos is the position of the chart's configuration.
	Node string
	Pos  diag.Pos
}

// A Program is the helm program as named by the user. It is located when the first chart needs
// it.
type Program struct {
	Command string
	find    func() trust.Program
}

// Find returns the program of the helm command.
func (o Options) Find(files *loaders.Local) Program {
	command := cmp.Or(o.Command, "helm")
	return Program{command, sync.OnceValue(func() trust.Program {
		p, err := files.Command(command, o.Hash)
		return trust.Program{Real: p.Real, Digest: p.Digest, Mode: p.Mode, Err: err}
	})}
}

// Plan returns the helm call that renders the chart, and the decision about it. Nothing is read
// for a denied chart.
func (g *Generator) Plan(r Request) (*graph.Call, *trust.Decision, *FieldError) {
	t := trust.ChartRequest{Name: diag.OneLine("chart " + g.Name), Pos: r.Pos, Node: r.Node, Command: r.Program.Command,
		Helm: r.Program.find}
	if r.Policy.Helm && r.Isolation != nil {
		t.Facts.Isolation, t.Facts.NotIsolated = r.Isolation()
	}
	dec := r.Policy.DecideChart(t)
	c := &chart.Chart{Name: g.Name, Version: g.Version, Source: diag.Redact(g.Repo)}
	if dec.Allowed {
		var err error
		if c, err = g.Compile(r.Files); err != nil {
			return nil, &dec, fieldError(err)
		}
		if g.ReleaseName == "" && g.NameTemplate == "" {
			w := diag.Errorf(r.Pos, "", "chart %s has no releaseName: helm generates one from the time, so every render differs",
				diag.OneLine(g.Name)).With(diag.NoReleaseName)
			dec.Warnings = append(dec.Warnings, w)
		}
		dec.Args = g.Args(c)
		dec.Function.Args = dec.Args
		dec.NotReused = cmp.Or(dec.NotReused, g.notReused(c))
	}
	return &graph.Call{Function: dec.Function, ConfigPos: r.Pos, Role: function.GeneratorRole, Chart: c, Reusable: dec.NotReused == "",
			Granted: g.Secret},
		&dec, nil
}

// fieldError returns err as an error about a field, or about the whole chart.
func fieldError(err error) *FieldError {
	var e *FieldError
	if !errors.As(err, &e) {
		e = &FieldError{Err: err}
	}
	return e
}
