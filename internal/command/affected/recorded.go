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
	same    func(*records.Record) bool // reports whether no part of a record has changed
}

func newRecorded(e *engine.Engine, changes Changes) recorded {
	cwd, _ := os.Getwd() // on failure, all roots are planned
	c := recorded{changes: changes, objects: e.GitOps, lacks: e.Lacks, cwd: cwd}
	c.same = records.Checker(c.holds)
	return c
}

// unaffected reports whether none of the inputs in the record of a root has changed.
func (c *recorded) unaffected(dir string, r *records.Record) bool {
	if r.Remote() || c.objects(nil).Has(dir) {
		return false
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(c.cwd, dir)
	}
	// A record from a run that used a different name for the root is not sufficient.
	return r.Names(dir) && c.same(r)
}

// holds reports whether a part of a record is not changed.
func (c *recorded) holds(p records.Part) bool {
	in := inputs.Input{Path: p.Path, Kind: inputs.File}
	switch p.Kind {
	case loaders.SawDir:
		return p.Path == p.Real
	case loaders.SawFile:
	case loaders.SawNothing, loaders.SawNoDir:
		in.Kind = inputs.Absent
	default:
		return false
	}
	if p.Path != p.Real {
		return false
	}
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
