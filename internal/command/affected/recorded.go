package affected

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/krmflow/krmflow/internal/engine"
	"github.com/krmflow/krmflow/internal/engine/records"
	"github.com/krmflow/krmflow/internal/review/inputs"
	"github.com/krmflow/krmflow/internal/sys/filestat"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/loaders/revision"
)

// recorded finds the roots that the changes do not affect according to the records of earlier
// runs. These roots are not planned.
//
// A record has the same inputs as [inputs.Of] only if no symbolic link leads to any of them, and
// if the root neither lists directories nor has remote references. All other roots are planned.
type recorded struct {
	changes Changes
	objects func(*revision.Tree) engine.Objects // see [engine.Engine.GitOps]
	lacks   func(path string) bool              // see [engine.Engine.Lacks]
	cwd     string
	held    map[inputs.Input]bool // results of holds
}

// unaffected reports whether none of the inputs in the record of a root has changed.
func (c *recorded) unaffected(dir string, r *records.Record) bool {
	if r.Remote() || c.objects(nil).Has(dir) {
		return false
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(c.cwd, dir)
	}
	named := false // the record is from a run that used the same name for the root
	for p := range r.Parts {
		if p.Path != p.Real {
			return false
		}
		in := inputs.Input{Path: p.Path, Kind: inputs.File}
		switch p.Kind {
		case loaders.SawDir:
			named = named || p.Path == dir
			continue
		case loaders.SawFile:
		case loaders.SawNothing, loaders.SawNoDir:
			in.Kind = inputs.Absent
		default:
			return false
		}
		held, ok := c.held[in]
		if !ok {
			held = c.holds(in, p)
			c.held[in] = held
		}
		if !held {
			return false
		}
	}
	return named
}

// holds reports whether an input of a record is not changed.
func (c *recorded) holds(in inputs.Input, p records.Part) bool {
	mode := p.Stat.Mode
	if in.Kind == inputs.Absent && !c.lacks(in.Path) || in.Kind == inputs.File && p.Stat == (filestat.Stat{}) {
		now, err := os.Lstat(in.Path)
		switch {
		case in.Kind == inputs.Absent && !errors.Is(err, fs.ErrNotExist): // for example a broken link
			return false
		case in.Kind == inputs.File && err != nil:
			return false
		case err == nil:
			mode = now.Mode()
		}
	}
	return c.changes.holds(in, p.Sum, executable(mode))
}
