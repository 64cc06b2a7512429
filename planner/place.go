package planner

import (
	"path/filepath"

	"github.com/krmflow/krmflow/diag"
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
	return place{inRepo(path), repo, ref}
}

// inRepo returns a path in a repository as kustomize writes it.
func inRepo(path string) string {
	if path == "." || path == "" {
		return "notCloned"
	}
	return path
}

// origin returns the origin of a file that is named by text in a layer at p.
func (p place) origin(text string) *krm.Origin {
	if !loaders.IsRemote(text) {
		return &krm.Origin{Path: filepath.Join(p.path, text), Repo: p.repo, Ref: p.ref}
	}
	if repo, ref, path, ok := loaders.RepoOf(text); ok {
		return &krm.Origin{Path: inRepo(path), Repo: repo, Ref: ref}
	}
	return &krm.Origin{Path: filepath.Join(p.path, diag.Redact(text)), Repo: p.repo, Ref: p.ref}
}
