package render

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/sys/filestat"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/planner/roots"
)

// A Root is a directory to render.
type Root struct {
	Dir string
	// Out is the folder that its resources go to: a slash-separated path relative to the output folder.
	Out string
}

// Roots are what one run renders.
type Roots []Root

// Dirs returns the directories, as [Options] have them.
func (r Roots) Dirs() []string {
	dirs := make([]string, len(r))
	for i, root := range r {
		dirs[i] = root.Dir
	}
	return dirs
}

// Outs returns the folders that their resources go to.
func (r Roots) Outs() []string {
	outs := make([]string, len(r))
	for i, root := range r {
		outs[i] = root.Out
	}
	return outs
}

// Base returns the absolute path of the directory that the folders of [Place] are relative to, "" if no root is a local directory.
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

// Place decides where the resources of each directory go: its path relative to base, or relative to the deepest folder that
// holds all roots if one lies outside of base. A directory that has several names counts once, under the first.
func Place(dirs []string, base string) (Roots, error) { return PlaceIn(&filestat.Dirs{}, dirs, base) }

// PlaceIn is [Place] for a run that needs to know again where the directories are: places knows it then.
func PlaceIn(places *filestat.Dirs, dirs []string, base string) (Roots, error) {
	wd, _ := os.Getwd() // once: it asks the file system
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
		real := cmp.Or(places.Real(abs), abs) // planning says what is wrong with what is no directory
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

// located returns the absolute path of a directory, in the working directory wd. One that is remote has the path that it would have if it were here.
func located(dir, wd string) (string, error) {
	if loaders.IsRemote(dir) {
		if _, err := os.Stat(dir); err != nil {
			dir = filepath.FromSlash(loaders.FolderOf(dir))
		}
	}
	return absolute(dir, wd)
}

// absolute is [filepath.Abs] in the working directory wd, "" if that is not known.
func absolute(path, wd string) (string, error) {
	if wd == "" || !filepath.IsLocal(path) && filepath.VolumeName(wd) != "" {
		return filepath.Abs(path)
	}
	if filepath.IsAbs(path) {
		return filepath.Clean(path), nil
	}
	return filepath.Join(wd, path), nil
}

// FindRoots returns the directories at or below dir that hold a Kustomization or a Composition, in lexical order. Symbolic links to
// directories below dir are not followed, and directories whose name starts with a dot are left out, as is what files called .krmflowignore
// list. What is no directory is returned as it is, so that planning says what is wrong with it. What the user names is looked at as it is: no
// layer limits it.
func FindRoots(ctx context.Context, dir string) ([]string, error) {
	found, err := roots.Selection{Jobs: runtime.GOMAXPROCS(0)}.Find(ctx, []string{dir})
	if err != nil {
		return nil, err
	}
	return found.Dirs, nil
}
