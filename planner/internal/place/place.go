// Package place determines the paths and repositories that origin annotations contain.
package place

import (
	"path/filepath"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/loaders"
)

// A Place is the location of a layer in origin annotations: its path relative to the root of the
// build or, if it was fetched, to its repository. The zero Place is the root of the build.
type Place struct{ Path, Repo, Ref string }

// At returns the place of the layer in dir, which a layer at p refers to by text.
func (p Place) At(dir *loaders.Dir, text string) Place {
	if !loaders.IsRemote(text) {
		return Place{filepath.Join(p.Path, text), p.Repo, p.Ref}
	}
	repo, ref, path := dir.Repo()
	return Place{inRepo(path), repo, ref}
}

// Declared returns the place of the directory that declares an item of the Composition in dir,
// which is at p.
func (p Place) Declared(dir, item *loaders.Dir) Place {
	if repo, ref, path := item.Repo(); item.IsFetched() && !dir.IsFetched() {
		return Place{path, repo, ref}
	}
	rel, err := filepath.Rel(dir.Real, item.Real)
	if err != nil {
		return p
	}
	return Place{filepath.Join(p.Path, rel), p.Repo, p.Ref}
}

// Origin returns the origin of the file that a layer at p refers to by text.
func (p Place) Origin(text string) *krm.Origin {
	if !loaders.IsRemote(text) {
		return &krm.Origin{Path: filepath.Join(p.Path, text), Repo: p.Repo, Ref: p.Ref}
	}
	if repo, ref, path, ok := loaders.RepoOf(text); ok {
		return &krm.Origin{Path: inRepo(path), Repo: repo, Ref: ref}
	}
	return &krm.Origin{Path: filepath.Join(p.Path, diag.Redact(text)), Repo: p.Repo, Ref: p.Ref}
}

// inRepo returns a path in a repository in kustomize's spelling.
func inRepo(path string) string {
	if path == "." || path == "" {
		return "notCloned"
	}
	return path
}
