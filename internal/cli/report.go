package cli

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/cli/console"
	"github.com/krmflow/krmflow/internal/cli/options"
	"github.com/krmflow/krmflow/internal/cli/program"
	"github.com/krmflow/krmflow/internal/cli/report"
	"github.com/krmflow/krmflow/internal/engine/sink"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/output"
	"github.com/krmflow/krmflow/scheduler"
	"github.com/spf13/cobra"
)

// RefuseReports returns an error if a report or profile would be written to the output folder,
// where the next run would find it as an unknown file. In that case no report or profile is
// written at all.
func (a *Invocation) RefuseReports(folder string) error {
	top, err := filepath.Abs(folder)
	if err != nil {
		return nil
	}
	files := []string{a.profile.trace, a.profile.pprof}
	for _, t := range a.targets {
		files = append(files, t.File)
	}
	for _, file := range files {
		if abs, err := filepath.Abs(file); file != "" && err == nil && diag.Within(abs, top) {
			a.report, a.Recorder = nil, nil
			return &output.RefusedError{Path: file, Reason: "is in the output folder, which is for what is rendered",
				Hint: "write the report beside it"}
		}
	}
	return nil
}

// RegisterReport adds the flag that requests reports to a command.
func (f *Flags) RegisterReport(cmd *cobra.Command) {
	cmd.Flags().Var((*options.Repeated)(&f.reports), "report", "write a `report`: sarif=FILE, junit=FILE, json=FILE or github; repeatable")
}

// openReport prepares the reports requested by the flags. It returns an error for a file that
// cannot be written, before anything runs.
func (a *Invocation) openReport(cmd *cobra.Command) error {
	targets, err := report.ParseTargets(a.reports)
	if err != nil {
		return options.UsageError(err)
	}
	for _, t := range targets {
		if t.File == "" {
			continue
		}
		if err := errors.Join(output.CheckFile(t.File), a.checkLoss(t.File)); err != nil {
			return err
		}
	}
	if a.targets = targets; len(targets) > 0 && a.report == nil {
		a.report = &report.Report{Command: cmd.Name(), Version: program.Version()}
	}
	return nil
}

// Found adds a finding to the report, if one was requested.
func (a *Invocation) Found(f report.Finding) {
	if a.report != nil {
		a.report.Add(f)
	}
}

// Reporter returns a printer for errors, as text or as JSON. Under kustomize's name and with
// --quiet, it prints neither source lines nor codes.
func (a *Invocation) Reporter(json bool) console.Reporter {
	r := console.Reporter{W: a.painter(), JSON: json, Found: a.Found}
	if !a.Name.Kustomize() && !a.Quiet {
		r.Source = a.Source
	}
	return r
}

// maxShown is the maximum size in bytes of a file whose lines are shown: checking a large file
// for secrets takes too long.
const maxShown = 1 << 20

// Source returns a file that was read for the last plan. It returns nil for other files, and
// for files whose lines must not be shown because they may hold secrets: see
// [yaml.Source.MayHoldSecrets].
func (a *Invocation) Source(file string) *yaml.Source {
	if a.planned == nil {
		return nil
	}
	all := a.planned.Files()
	if a.Watch != nil {
		all = slices.Concat(all, a.Watch.Sources())
	}
	i := slices.IndexFunc(all, func(src *yaml.Source) bool { return src.File == file })
	if i < 0 || len(all[i].Data) > maxShown || all[i].MayHoldSecrets() {
		return nil
	}
	return all[i]
}

// Logger returns a printer for warnings and the events of a run.
func (a *Invocation) Logger() *console.Logger {
	o := console.Options{JSON: a.LogFormat == "json", Quiet: a.Quiet && !a.Strict, Level: a.logLevel}
	o.Plain, o.Rules = a.Name.Kustomize(), a.rules
	if a.report != nil {
		o.Found = a.Found
	}
	return console.NewLogger(a.painter(), o)
}

// WriteReports writes the requested reports for a command that ended with err.
func (a *Invocation) WriteReports(err error) error {
	if a.writeBaseline && a.rules != nil {
		n, writeErr := a.rules.WriteBaseline(a.baseline)
		if writeErr != nil {
			return writeErr
		}
		a.Log.Say("%s: %s", a.baseline, diag.Plural(n, "finding"))
	}
	if a.report == nil {
		return nil
	}
	reasons := a.reasons(err)
	for _, dir := range a.dirs {
		dir = diag.Redact(dir)
		root := report.Root{Dir: dir, Reasons: reasons[dir]}
		switch {
		case a.Tally.Made:
			root.Failed = slices.Contains(a.Tally.Missing, dir)
		case a.report.Command == "plan" || a.report.Command == "validate":
			root.Failed = len(root.Reasons) > 0
		default:
			root.Failed = err != nil && !errors.Is(err, sink.ErrChanged)
		}
		a.report.Roots = append(a.report.Roots, root)
	}
	var errs []error
	for _, t := range a.targets {
		text, err := a.report.Text(t.Form)
		switch {
		case err != nil:
		case t.Form == report.GitHub:
			_, err = a.Stderr.Write(text)
		default:
			if err = a.checkLoss(t.File); err == nil {
				err = output.WriteFileAtomic(t.File, text, 0o666)
			}
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// checkLoss returns an error if writing a report to file would destroy an input of the run or
// any other file that is not a report. The content is checked because the inputs are unknown
// without a plan.
func (a *Invocation) checkLoss(file string) error {
	if a.isInput(file) {
		return &output.RefusedError{Path: file, Reason: "is an input of this run"}
	}
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	f, err := os.Open(file)
	if err != nil {
		return &output.RefusedError{Path: file, Reason: "cannot be read, so that nobody knows whether it is a report"}
	}
	defer f.Close()
	start := make([]byte, 64)
	n, _ := io.ReadFull(f, start)
	if !report.MayBe(start[:n]) {
		return &output.RefusedError{Path: file, Reason: "is no report, and would be replaced by one",
			Hint: "choose another file, or remove it"}
	}
	return nil
}

// isInput reports whether a file was read for the last plan.
func (a *Invocation) isInput(file string) bool {
	info, err := os.Stat(file)
	if err != nil || a.planned == nil {
		return false
	}
	return slices.ContainsFunc(a.planned.Files(), func(src *yaml.Source) bool {
		read, err := os.Stat(src.File)
		return err == nil && os.SameFile(info, read)
	})
}

// reasons returns the reasons why roots failed, by directory: the messages in err that concern
// each root.
func (a *Invocation) reasons(err error) map[string][]string {
	reasons := map[string][]string{}
	if a.planned == nil {
		return reasons
	}
	add := func(dir string, err error) {
		if text := err.Error(); !slices.Contains(reasons[dir], text) {
			reasons[dir] = append(reasons[dir], text)
		}
	}
	for _, f := range a.planned.Failed {
		for _, err := range f.Errs {
			add(f.Dir, err)
		}
	}
	needed := func(node string, err error) {
		for _, root := range a.planned.Graph.RootsThatNeed(map[string]bool{node: true}) {
			add(root.Dir, err)
		}
	}
	for _, d := range a.planned.Denied {
		needed(d.Node, d.Err)
	}
	for err := range diag.Each(err) {
		var node *scheduler.NodeError
		var root *scheduler.RootError
		var invalid interface{ InRoots() []string }
		switch {
		case errors.As(err, &invalid):
			for _, dir := range invalid.InRoots() {
				add(dir, err)
			}
		case errors.As(err, &node):
			needed(node.Node.ID, err)
		case errors.As(err, &root):
			add(root.Root.Dir, err)
		}
	}
	return reasons
}
