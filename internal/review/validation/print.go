package validation

import (
	"errors"

	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/engine"
)

// Checked returns the errors of [Findings]. In strict mode it also returns an error if there
// were warnings.
func Checked(a *cli.Invocation, check *Run, run *engine.Run) error {
	return errors.Join(Findings(a, check, run), a.StrictError())
}

// Findings returns the validation errors of a run. It logs the warnings and stores the summary
// in a.Result, which is printed last.
func Findings(a *cli.Invocation, check *Run, run *engine.Run) error {
	report := check.End(run.Plan())
	for _, w := range report.Warnings() {
		a.Log.Warn(w)
	}
	errs := a.Log.Errors()
	a.Result = report.Summary(len(run.Scope().Dirs), a.Log.Warnings()-errs, errs)
	return report.Err()
}
