package validation

import (
	"errors"

	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/engine"
)

// Checked returns what is wrong with the lists of a run, as [Findings] does, and that warnings are errors if they are.
func Checked(a *cli.Invocation, check *Run, run *engine.Run) error {
	return errors.Join(Findings(a, check, run), a.StrictError())
}

// Findings returns what is wrong with the lists of a run. It prints warnings, and leaves the result to be the last line.
func Findings(a *cli.Invocation, check *Run, run *engine.Run) error {
	report := check.End(run.Plan())
	for _, w := range report.Warnings() {
		a.Log.Warn(w)
	}
	a.Result = report.Summary(len(run.Options().Dirs))
	return report.Err()
}
