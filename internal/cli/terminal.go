package cli

import (
	"fmt"
	"os"

	"github.com/krmflow/krmflow/internal/cli/terminal"
	"github.com/krmflow/krmflow/internal/engine"
	"github.com/krmflow/krmflow/planner"
	"github.com/spf13/pflag"
)

// TerminalFlags are the flags of all commands that select how output looks on a terminal.
type TerminalFlags struct {
	// Color controls colors in messages and in text for people.
	Color terminal.Colors
	// NoPager prints long output at once.
	NoPager bool
}

// Register adds the flags to a flag set.
func (f *TerminalFlags) Register(fs *pflag.FlagSet) {
	fs.Var(&f.Color, "color", "color messages and text: `when` is auto, always or never")
	fs.BoolVar(&f.NoPager, "no-pager", false, "do not use a pager for long output")
}

// Pager returns the command of the pager for long output on a terminal, or "" for none. Callers
// of kustomize expect none.
func (a *Invocation) Pager() string {
	if a.NoPager || a.Name.Kustomize() {
		return ""
	}
	return terminal.Pager()
}

// Unpaged prints output at once from now on: see [terminal.Screen.Unpaged].
func (a *Invocation) Unpaged() error {
	if a.Screen == nil {
		return nil
	}
	return a.Screen.Unpaged()
}

// painter returns the printer for messages on stderr. Messages in JSON and under kustomize's name
// are not colored by default.
func (a *Invocation) painter() terminal.Painter {
	p := terminal.Painter{Safe: a.Stderr}
	if a.Screen != nil && !(a.Name.Kustomize() && a.Color.String() == "auto") && bool(a.Color.On(os.Stderr)) {
		p.Colored = a.Screen.Stderr()
	}
	return p
}

// Nothing prints to stderr that a command has no result, for a person who would wonder about empty
// output. With --quiet, it prints nothing.
func (a *Invocation) Nothing(format string, args ...any) {
	if !a.Quiet {
		a.Reporter(a.LogFormat == "json").Result(fmt.Sprintf(format, args...))
	}
}

// showProgress starts to show the progress of a plan that runs, or of planning if plan is nil.
func (a *Invocation) showProgress(plan *planner.Plan) engine.Progress {
	switch {
	case a.Screen == nil || a.Quiet || a.LogFormat == "json" || a.Name.Kustomize():
		return nil
	case plan == nil:
		return terminal.StartProgress(a.Screen, a.Began, nil, 0, a.Steps.Running)
	}
	return terminal.StartProgress(a.Screen, a.Began, plan.Graph, len(plan.Failed), a.Steps.Running)
}
