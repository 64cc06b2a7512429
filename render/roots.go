package render

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/output/manifest"
	"github.com/krmflow/krmflow/planner/layerfile"
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
func Place(dirs []string, base string) (Roots, error) {
	base, err := located(base)
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
		abs, err := located(dir)
		if err != nil {
			return nil, err
		}
		real := abs
		if r, err := loaders.Real(abs); err == nil { // otherwise planning says what is wrong
			real = r
		}
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

// located returns the absolute path of a directory. One that is remote has the path that it would have if it were here.
func located(dir string) (string, error) {
	if loaders.IsRemote(dir) {
		if _, err := os.Stat(dir); err != nil {
			dir = filepath.FromSlash(loaders.FolderOf(dir))
		}
	}
	return filepath.Abs(dir)
}

// FindRoots returns the directories at or below dir that hold a Kustomization or a Composition, in lexical order. Symbolic links to
// directories below dir are not followed, and directories whose name starts with a dot and folders that krmflow has written are left out. What is no directory is
// returned as it is, so that planning says what is wrong with it. What the user names is looked at as it is: no layer limits it.
func FindRoots(ctx context.Context, dir string) ([]string, error) {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return []string{dir}, nil
	}
	var found []string
	top := dir + string(filepath.Separator) // so that a link to a directory is followed
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			var pe *fs.PathError
			if errors.As(err, &pe) {
				err = pe.Err
			}
			return fmt.Errorf("%s: %w", path, err)
		case d.IsDir() && path != top && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case d.Name() == manifest.Name && isOutput(path):
			rendered := filepath.Dir(path)
			found = slices.DeleteFunc(found, func(root string) bool { return diag.Within(root, rendered) })
			return fs.SkipDir // the rest of it
		case !d.IsDir() && isRootFile(path, d.Name()):
			if parent := filepath.Dir(path); len(found) == 0 || found[len(found)-1] != parent {
				found = append(found, parent)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s: no Kustomization or Composition at or below this directory", dir)
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

// isOutput reports whether a file makes its folder one that krmflow has written.
func isOutput(file string) bool {
	data, err := loaders.ReadFile(file, manifest.MaxSize)
	return err == nil && manifest.Is(string(data))
}

// isRootFile reports whether the directory of a file is a root because of it: it is a Kustomization or a Composition.
func isRootFile(path, name string) bool {
	switch {
	case slices.Contains(layerfile.Names, name):
		return !isComponent(path)
	case slices.Contains(layerfile.CompositionNames, name):
		data, err := loaders.ReadFile(path, layerfile.MaxSize)
		return err == nil && layerfile.IsComposition(&yaml.Source{File: path, Data: data})
	}
	return false
}

// isComponent reports whether a kustomization file says that it is a Component. Files that cannot be read or parsed are
// roots, so that planning reports them.
func isComponent(path string) bool {
	data, err := loaders.ReadFile(path, layerfile.MaxSize)
	if err != nil {
		return false
	}
	if !bytes.Contains(data, []byte("Component")) && !bytes.ContainsAny(data, "\\\x00") {
		return false // most are not, and to parse them is left to planning; there are escapes and UTF-16
	}
	v, err := (&yaml.Source{File: path, Data: data}).Value()
	return err == nil && v.Get("kind").Text() == "Component"
}
