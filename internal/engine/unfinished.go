package engine

import (
	"path/filepath"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/output/rewrite"
	"github.com/krmflow/krmflow/planner"
)

// warnUnfinished warns about directories that a killed krmflow run left with a mix of old and
// new files. It looks at each root and the directories above it in the same repository.
func warnUnfinished(log Log, roots []string) {
	seen := map[string]bool{}
	for _, root := range roots {
		dir, err := filepath.Abs(root)
		if err != nil || loaders.IsRemote(root) {
			continue
		}
		for !seen[dir] {
			seen[dir] = true
			if rewrite.Pending(dir) {
				log.Warn(unfinished(dir))
			}
			above := filepath.Dir(dir)
			if seen[above] || loaders.IsRepository(dir) {
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
