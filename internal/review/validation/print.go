package validation

import (
	"errors"
	"fmt"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/engine"
	"github.com/krmflow/krmflow/planner"
)

// Checked returns the errors of [Findings]. In strict mode it also returns an error if there
// were warnings.
func Checked(a *cli.Invocation, check *Run, run *engine.Run) error {
	return errors.Join(Findings(a, check, run), a.StrictError())
}

// Findings returns the validation errors of a run. It logs the warnings and stores the summary
// in a.Result, which is printed last.
func Findings(a *cli.Invocation, check *Run, run *engine.Run) error {
	check.missing(a, run)
	if check.validator == nil {
		return nil
	}
	report := check.End(run.Plan())
	for _, w := range report.Warnings() {
		a.Log.Warn(w)
	}
	errs := a.Log.Errors()
	a.Result = report.Summary(len(run.Scope().Dirs), a.Log.Warnings()-errs, errs)
	return report.Err()
}

// missing logs the references to objects that no root has. A root that was not rendered may have
// them.
func (v *Run) missing(a *cli.Invocation, run *engine.Run) {
	if v.census == nil {
		return
	}
	if all := len(run.Scope().Dirs); v.roots < all {
		e := diag.Errorf(diag.Pos{}, "", "--strict-references: references were not checked, because %d of %s were not rendered", all-v.roots,
			diag.Count(all, "root"))
		a.Log.Warn(planner.WarningOf(e.With(diag.MissingObject)))
		return
	}
	v.census.Missing(func(code diag.Code, format string, args ...any) {
		e := *diag.AsError(fmt.Errorf(format, args...))
		a.Log.Warn(planner.WarningOf(e.With(code)))
	})
}
