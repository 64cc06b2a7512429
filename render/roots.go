package render

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/sys/filestat"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/planner/roots"
)

// A Root is a directory to render.
type Root struct {
	Dir string
	// Out is the output folder of the root: a slash-separated path relative to the base folder of
	// the output.
	Out string
	// Kind is the kind of a root that is a GitOps object, "" for a directory. Dir is then its name.
	Kind string
}

// Roots are the roots of one run.
type Roots []Root

// Dirs returns the directories, in the form of [Options.Dirs].
func (r Roots) Dirs() []string {
	dirs := make([]string, len(r))
	for i, root := range r {
		dirs[i] = root.Dir
	}
	return dirs
}

// Kinds describes how many roots there are of each kind, "" if all are directories.
func (r Roots) Kinds() string {
	count := map[string]int{}
	for _, root := range r {
		count[root.Kind]++
	}
	if count[""] == len(r) {
		return ""
	}
	var texts []string
	for _, kind := range slices.Sorted(maps.Keys(count)) {
		switch {
		case kind == "" && count[kind] == 1:
			texts = append(texts, "1 directory")
		case kind == "":
			texts = append(texts, fmt.Sprintf("%d directories", count[kind]))
		default:
			texts = append(texts, diag.Count(count[kind], kind))
		}
	}
	return strings.Join(append(texts[min(1, count[""]):], texts[:min(1, count[""])]...), ", ")
}

// Outs returns the output folders.
func (r Roots) Outs() []string {
	outs := make([]string, len(r))
	for i, root := range r {
		outs[i] = root.Out
	}
	return outs
}

// Base returns the absolute path of the directory that the folders of [Place] are relative to, or
// "" if no root is a local directory.
func (r Roots) Base() string {
	for _, root := range r {
		abs, err := filepath.Abs(root.Dir)
		if err != nil || loaders.IsRemote(root.Dir) {
			continue
		}
		if root.Out == "." {
			return abs
		}
		if base, ok := strings.CutSuffix(abs, string(filepath.Separator)+filepath.FromSlash(root.Out)); ok {
			return base
		}
	}
	return ""
}

// Place decides the output folder of each directory: its path relative to base, or relative to
// the deepest folder that contains all roots if one is outside base. A directory with several
// names appears once, under its first name.
func Place(dirs []string, base string) (Roots, error) { return PlaceIn(&filestat.Dirs{}, dirs, base) }

// PlaceIn is [Place] with a cache of resolved paths, for a run that needs them again.
func PlaceIn(places *filestat.Dirs, dirs []string, base string) (Roots, error) {
	wd, _ := os.Getwd() // once: it accesses the file system
	base, err := located(base, wd)
	if err != nil && len(dirs) > 0 && filepath.IsAbs(dirs[0]) {
		base, err = dirs[0], nil // the working directory was removed
	}
	if err != nil {
		return nil, err
	}
	var roots Roots
	var paths []string
	seen := map[string]bool{}
	for _, dir := range dirs {
		abs, err := located(dir, wd)
		if err != nil {
			return nil, err
		}
		real := cmp.Or(places.Real(abs), abs) // planning reports a path that is not a directory
		if seen[real] {
			continue
		}
		seen[real] = true
		paths = append(paths, abs)
		if !strings.Contains(dir, "://") {
			dir = filepath.Clean(dir)
		}
		roots = append(roots, Root{Dir: dir})
	}
	for _, p := range paths {
		for !diag.Within(p, base) {
			base = filepath.Dir(base)
		}
	}
	for i := range roots {
		out, err := filepath.Rel(base, paths[i])
		if err != nil {
			return nil, err
		}
		roots[i].Out = filepath.ToSlash(out)
	}
	return roots, nil
}

// located returns the absolute path of a directory, relative to the working directory wd. A
// remote directory has the path that it would have on this machine.
func located(dir, wd string) (string, error) {
	if loaders.IsRemote(dir) {
		if _, err := os.Stat(dir); err != nil {
			dir = filepath.FromSlash(loaders.FolderOf(dir))
		}
	}
	return absolute(dir, wd)
}

// absolute is [filepath.Abs] with the working directory wd, or "" if that is unknown.
func absolute(path, wd string) (string, error) {
	if wd == "" || !filepath.IsLocal(path) && filepath.VolumeName(wd) != "" {
		return filepath.Abs(path)
	}
	if filepath.IsAbs(path) {
		return filepath.Clean(path), nil
	}
	return filepath.Join(wd, path), nil
}

// FindRoots returns the directories at or below dir that contain a Kustomization or a
// Composition, in lexical order. It does not follow symbolic links to directories below dir. It
// skips directories with a leading dot and those listed in .krmflowignore files. If dir is not a
// directory, it is returned unchanged so that planning reports the problem.
//
// FindRoots is not subject to the load restrictions of layers, because the user names dir.
func FindRoots(ctx context.Context, dir string) ([]string, error) {
	found, err := roots.Selection{Jobs: runtime.GOMAXPROCS(0)}.Find(ctx, []string{dir})
	if err != nil {
		return nil, err
	}
	return found.Dirs, nil
}
