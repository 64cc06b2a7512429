package engine

import (
	"os"
	"path/filepath"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/output/rewrite"
	"github.com/krmflow/krmflow/planner"
)

// warnUnfinished warns about directories that a killed krmflow run left with a mix of old and
// new files. It looks at each root and the directories above it in the same repository.
func (e *Engine) warnUnfinished(log Log, roots []string) {
	seen := map[string]bool{}
	wd, _ := os.Getwd()
	for _, root := range roots {
		dir := absolute(root, wd)
		if dir == "" || loaders.IsRemote(root) {
			continue
		}
		for !seen[dir] {
			seen[dir] = true
			if !e.places.Lacks(dir, rewrite.Journal) && rewrite.Pending(dir) {
				log.Warn(unfinished(dir))
			}
			above := filepath.Dir(dir)
			if seen[above] || !e.places.Lacks(dir, ".git") && loaders.IsRepository(dir) {
				break
			}
			dir = above
		}
	}
}

func unfinished(dir string) planner.Warning {
	if here, err := filepath.Abs("."); err == nil {
		if rel, err := filepath.Rel(here, dir); err == nil {
			dir = rel
		}
	}
	e := diag.Interrupted.Errorf("%s: krmflow run was interrupted while writing: some files may be old and some new", dir)
	return planner.WarningOf(diag.AsError(e).Hint("to complete it: krmflow run %s", diag.ShellWord(dir)))
}
