package oldside

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"unicode/utf8"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/engine"
	"github.com/krmflow/krmflow/internal/engine/records"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/loaders/revision"
	"github.com/krmflow/krmflow/planner"
)

// Seen reports whether roots are the same in a revision. It compares the file system
// observations of their layers with the revision.
type Seen struct {
	tree     *revision.Tree
	known    map[place]bool
	recorded func(*records.Record) bool // reports whether the revision contains all parts of a record
	ids      *records.IDs
	wd       string
	real     func(path string) string
	sameLock bool
}

// A place identifies an observation of this run.
type place struct {
	kind loaders.Kind
	path string
}

// NewSeen compares roots with the revision tree. lockFile is the lock file of the new side.
func NewSeen(e *engine.Engine, lockFile string, tree *revision.Tree) *Seen {
	wd, _ := os.Getwd() // without it, roots with relative names are planned
	s := &Seen{tree: tree, known: map[place]bool{}, wd: wd, real: e.Real, sameLock: sameLock(lockFile, tree), ids: e.Objects(tree.Top())}
	s.recorded = records.Checker(s.hasRecorded)
	return s
}

// Same reports whether the observed files of a root are the same in the revision. If so, its
// output is the same and it need not be rendered.
func (s *Seen) Same(plan *planner.Plan, dir string) bool {
	list, enough := plan.Observed(dir)
	for _, o := range list { // check all of them, so that the old side can share every unchanged file
		enough = s.holds(o) && enough
	}
	return enough && len(list) > 0
}

// Save keeps the object IDs of the files that were compared for later runs.
func (s *Seen) Save() { s.ids.Save() }

// holds reports whether the revision matches an observation.
func (s *Seen) holds(o *loaders.Observation) bool {
	switch {
	case o.InFetched:
		return true
	case o.Kind == loaders.SawFetched:
		return s.sameLock // both sides resolve references against the same servers
	}
	p := records.Part{Path: o.Path, Real: o.Real, Kind: o.Kind}
	if o.Kind == loaders.SawFile {
		p.Real = o.Path
		if !o.Plain {
			if real, err := filepath.EvalSymlinks(o.Path); err == nil {
				p.Real = real
			}
		}
	}
	return s.has(p, func(name string) bool { return s.tree.Shares(name, o.Source) })
}

// SameRecord reports whether the root dir, described by record r, is the same in the revision,
// without planning it. The record may come from the same root under another name, so a link in
// the path of dir is checked separately.
func (s *Seen) SameRecord(dir string, r *records.Record) bool {
	abs := filepath.Clean(dir)
	if !filepath.IsAbs(dir) {
		abs = filepath.Join(s.wd, dir)
	}
	if !filepath.IsAbs(abs) || r.Remote() && !s.sameLock {
		return false
	}
	return s.has(records.Part{Path: abs, Real: s.real(abs), Kind: loaders.SawDir}, nil) && s.recorded(r)
}

// hasRecorded reports whether the revision contains a part of a record.
func (s *Seen) hasRecorded(p records.Part) bool {
	return s.look(p, func(name string) bool {
		id := s.ids.OfFile(p.Real, p.Sum, s.tree.IDOf)
		return id != "" && id == s.tree.ID(name)
	})
}

// has reports whether the revision contains a part of a root. content compares the content of a
// file with a file of the tree.
func (s *Seen) has(p records.Part, content func(name string) bool) bool {
	at := place{p.Kind, p.Path}
	has, ok := s.known[at]
	if !ok {
		has = s.look(p, content)
		s.known[at] = has
	}
	return has
}

func (s *Seen) look(p records.Part, content func(name string) bool) bool {
	name, err := s.tree.Name(p.Path)
	if err != nil {
		return false
	}
	real, dir, err := s.tree.Real(name)
	switch p.Kind {
	case loaders.SawNothing:
		return errors.Is(err, fs.ErrNotExist)
	case loaders.SawNoDir:
		return errors.Is(err, fs.ErrNotExist) || err == nil && !dir
	}
	want, errWant := s.tree.Name(p.Real)
	if err != nil || errWant != nil || real != want {
		return false
	}
	switch p.Kind {
	case loaders.SawFile:
		return !dir && content(name)
	case loaders.SawDir:
		return dir
	}
	return false // programs and charts: their content alone does not decide
}

// sameLock reports whether the lock file is the same on both sides.
func sameLock(lockFile string, tree *revision.Tree) bool {
	if lockFile == "" {
		return true
	}
	name, err := tree.Name(lockFile)
	if err != nil {
		return true // outside the repository, so both sides use it
	}
	data, err := os.ReadFile(lockFile)
	if err != nil {
		_, err = fs.Stat(tree, name)
		return err != nil
	}
	return tree.Shares(name, &yaml.Source{File: lockFile, Data: data})
}

// Askable returns an error if the revision cannot tell whether it contains a root, for example
// because a submodule is not part of the revision. Such a root must not be reported as new.
func Askable(tree *revision.Tree, dir, name string) error {
	if !utf8.ValidString(name) {
		return diag.Errorf(diag.Pos{}, "", "%s: a name that is not UTF-8 cannot be looked for in a revision",
			diag.OneLine(dir)).With(diag.BadValue)
	}
	_, err := tree.Stat(name)
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) && !errors.Is(err, fs.ErrNotExist) {
		return diag.NotReadable.Errorf("%s: cannot read %s%s: %w", diag.OneLine(dir), tree.Shown(), diag.OneLine(name), pe.Err)
	}
	return nil
}
