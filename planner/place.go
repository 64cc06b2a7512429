package planner

import (
	"path/filepath"

	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/loaders"
)

// place is where a layer is, as origins tell: its path from the root of the build or, if it was fetched, from that of its repository.
type place struct{ path, repo, ref string }

// at returns the place of a layer that is named by text in a layer at p, and is in dir.
func (p place) at(dir *loaders.Dir, text string) place {
	if !loaders.IsRemote(text) {
		return place{filepath.Join(p.path, text), p.repo, p.ref}
	}
	repo, ref, path := dir.Repo()
	return place{path, repo, ref}
}

// origin returns the origin of a file that is named by path in a layer at p.
func (p place) origin(path string) *krm.Origin {
	return &krm.Origin{Path: filepath.Join(p.path, path), Repo: p.repo, Ref: p.ref}
}
