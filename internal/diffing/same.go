package diffing

import (
	"io/fs"
	"os"

	"github.com/krmflow/krmflow/internal/app"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/loaders/revision"
	"github.com/krmflow/krmflow/planner"
)

// seen tells which roots are the same in a revision, by what their layers have seen of the file system.
type seen struct {
	tree     *revision.Tree
	known    map[string]bool // by what was seen at a path
	sameLock bool
}

// same reports whether a root is made of the same files in the revision: then it renders to the same, and need not be rendered.
func (s *seen) same(plan *planner.Plan, dir string) bool {
	list, enough := plan.Observed(dir)
	for _, o := range list { // all of them: the other side need not read again what is the same
		enough = s.holds(&o) && enough
	}
	return enough && len(list) > 0
}

// holds reports whether the revision has what was seen.
func (s *seen) holds(o *loaders.Observation) bool {
	switch {
	case o.InFetched:
		return true
	case o.Kind == loaders.SawFetched:
		return s.sameLock // both sides ask the same servers
	}
	key := string(rune(o.Kind)) + o.Path
	holds, ok := s.known[key]
	if !ok {
		holds = s.look(o)
		s.known[key] = holds
	}
	return holds
}

func (s *seen) look(o *loaders.Observation) bool {
	name, err := s.tree.Name(o.Path)
	if err != nil {
		return false
	}
	switch o.Kind {
	case loaders.SawFile:
		return s.tree.Shares(name, o.Source)
	case loaders.SawNothing:
		_, err := fs.Stat(s.tree, name)
		return err != nil
	case loaders.SawNoDir:
		info, err := fs.Stat(s.tree, name)
		return err != nil || !info.IsDir()
	case loaders.SawDir:
		real, err := loaders.RealIn(s.tree, name)
		if err != nil {
			return false
		}
		info, err := fs.Stat(s.tree, real)
		want, errWant := s.tree.Name(o.Real)
		return err == nil && errWant == nil && info.IsDir() && real == want
	}
	return false // programs and charts, of which more than the text counts
}

// sameLock reports whether the lock file is the same on both sides.
func sameLock(a *app.App, tree *revision.Tree) bool {
	if a.LockFile == "" {
		return true
	}
	name, err := tree.Name(a.LockFile)
	if err != nil {
		return true // it is that of this machine
	}
	data, err := os.ReadFile(a.LockFile)
	if err != nil {
		_, err = fs.Stat(tree, name)
		return err != nil
	}
	return tree.Shares(name, &yaml.Source{File: a.LockFile, Data: data})
}
