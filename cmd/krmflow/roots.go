package main

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
	"github.com/krmflow/krmflow/planner/layerfile"
	"github.com/spf13/cobra"
)

// rootFlags say which directories are rendered.
type rootFlags struct {
	recursive bool
	keepGoing bool
}

func (a *app) registerRoots(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&a.recursive, "recursive", "R", false, "every Kustomization and Composition at or below the directories (Components are no roots)")
	cmd.Flags().BoolVar(&a.keepGoing, "keep-going", false, "go on with the other roots when one fails")
}

// A rootDir is a directory to render and the folder, relative to the output, that its resources go to.
type rootDir struct{ name, out string }

type rootDirs []rootDir

func (r rootDirs) names() []string {
	names := make([]string, len(r))
	for i, d := range r {
		names[i] = d.name
	}
	return names
}

// roots returns the directories that the arguments stand for, each once.
func (a *app) roots(ctx context.Context, args []string) (rootDirs, error) {
	if len(args) == 0 {
		args = []string{"."}
	}
	for i, dir := range args {
		if dir == "" {
			return nil, usageError(fmt.Errorf("argument %d: the directory must not be empty", i+1))
		}
	}
	names := args
	if a.recursive {
		names = nil
		var errs []error
		for _, dir := range args {
			found, err := findRoots(ctx, dir)
			names, errs = append(names, found...), append(errs, err)
		}
		if err := errors.Join(errs...); err != nil {
			return nil, err
		}
	}
	base := "."
	if len(args) == 1 {
		base = args[0]
	}
	return placeRoots(names, base)
}

// placeRoots decides where each root's resources go: its path relative to base, or relative to the deepest folder that
// holds all roots if one lies outside of base. A directory that has several names counts once, under the first.
func placeRoots(names []string, base string) (rootDirs, error) {
	baseAbs, err := filepath.Abs(base)
	if err != nil && filepath.IsAbs(names[0]) {
		baseAbs, err = names[0], nil // the working directory was removed
	}
	if err != nil {
		return nil, err
	}
	var dirs rootDirs
	var abs []string
	seen := map[string]bool{}
	for _, name := range names {
		p, err := filepath.Abs(name)
		if err != nil {
			return nil, err
		}
		real := p
		if r, err := loaders.Real(p); err == nil { // otherwise planning says what is wrong
			real = r
		}
		if seen[real] {
			continue
		}
		seen[real] = true
		abs = append(abs, p)
		if !strings.Contains(name, "://") {
			name = filepath.Clean(name)
		}
		dirs = append(dirs, rootDir{name: name})
	}
	for _, p := range abs {
		for !diag.Within(p, baseAbs) {
			baseAbs = filepath.Dir(baseAbs)
		}
	}
	for i := range dirs {
		if dirs[i].out, err = filepath.Rel(baseAbs, abs[i]); err != nil {
			return nil, err
		}
	}
	return dirs, nil
}

// findRoots returns the directories at or below dir that hold a Kustomization or a Composition, in lexical order. Symbolic links to
// directories below dir are not followed and directories whose name starts with a dot are left out. What is no directory is
// returned as it is, so that planning says what is wrong with it. What the user names is looked at as it is: no layer limits it.
func findRoots(ctx context.Context, dir string) ([]string, error) {
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
