package planner

import (
	"path/filepath"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/loaders"
)

// A place is the location of a layer in origin annotations: its path relative to the root of the
// build or, if it was fetched, to its repository.
type place struct{ path, repo, ref string }

// at returns the place of the layer in dir, which a layer at p refers to by text.
func (p place) at(dir *loaders.Dir, text string) place {
	if !loaders.IsRemote(text) {
		return place{filepath.Join(p.path, text), p.repo, p.ref}
	}
	repo, ref, path := dir.Repo()
	return place{inRepo(path), repo, ref}
}

// inRepo returns a path in a repository in kustomize's spelling.
func inRepo(path string) string {
	if path == "." || path == "" {
		return "notCloned"
	}
	return path
}

// origin returns the origin of the file that a layer at p refers to by text.
func (p place) origin(text string) *krm.Origin {
	if !loaders.IsRemote(text) {
		return &krm.Origin{Path: filepath.Join(p.path, text), Repo: p.repo, Ref: p.ref}
	}
	if repo, ref, path, ok := loaders.RepoOf(text); ok {
		return &krm.Origin{Path: inRepo(path), Repo: repo, Ref: ref}
	}
	return &krm.Origin{Path: filepath.Join(p.path, diag.Redact(text)), Repo: p.repo, Ref: p.ref}
}
