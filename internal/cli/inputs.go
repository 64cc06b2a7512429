package cli

import (
	"os"
	"path/filepath"

	"github.com/krmflow/krmflow/output"
	"github.com/krmflow/krmflow/planner"
)

// RefuseInput returns an error if dest is a file that the plan was made from, a program that it
// runs, or one of others. Writing the output there would destroy an input.
func (a *Invocation) RefuseInput(dest string, plan *planner.Plan, others ...string) error {
	dir, base := filepath.Split(dest)
	folder, err := os.Stat(filepath.Clean(dir))
	if err != nil {
		return nil // the write reports the error
	}
	for _, src := range plan.Files() {
		others = append(others, src.File)
	}
	for call := range plan.Graph.Calls() {
		others = append(others, call.Function.Program, call.Function.Archive)
	}
	for _, p := range a.ThirdParty {
		others = append(others, p.Path)
	}
	for _, file := range others {
		if filepath.Base(file) != base {
			continue
		}
		if info, err := os.Stat(filepath.Dir(file)); err == nil && os.SameFile(info, folder) {
			return &output.RefusedError{Path: dest, Reason: "is an input of this run"}
		}
	}
	return nil
}
