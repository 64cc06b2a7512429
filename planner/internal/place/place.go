// Package place determines paths and repositories for origin annotations.
package place

import (
	"path/filepath"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/loaders"
)

// A Place is the location of a layer in origin annotations. The path is relative to the root of the
// build or, for a fetched layer, to its repository. The zero Place is the root of the build.
type Place struct{ Path, Repo, Ref string }

// At returns the place of the layer in dir. text is the reference to dir in a layer at p.
func (p Place) At(dir *loaders.Dir, text string) Place {
	if !loaders.IsRemote(text) {
		return Place{filepath.Join(p.Path, text), p.Repo, p.Ref}
	}
	repo, ref, path := dir.Repo()
	return Place{inRepo(path), repo, ref}
}

// Declared returns the place of item, the directory that declares an item of a Composition. The
// Composition is in dir, at p.
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

// Origin returns the origin of a file. text is the reference to the file in a layer at p.
func (p Place) Origin(text string) *krm.Origin {
	if !loaders.IsRemote(text) {
		return &krm.Origin{Path: filepath.Join(p.Path, text), Repo: p.Repo, Ref: p.Ref}
	}
	if repo, ref, path, ok := loaders.RepoOf(text); ok {
		return &krm.Origin{Path: inRepo(path), Repo: repo, Ref: ref}
	}
	return &krm.Origin{Path: filepath.Join(p.Path, diag.Redact(text)), Repo: p.Repo, Ref: p.Ref}
}

// inRepo returns a path in a repository as kustomize writes it.
func inRepo(path string) string {
	if path == "." || path == "" {
		return "notCloned"
	}
	return path
}
