package edit

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
)

// AddResources returns an edit that adds files, folders and remote references to resources. The
// arguments are patterns or remote references, which are not resolved. If verify is false,
// arguments are added unchanged.
func AddResources(args []string, verify bool) (Edit, error) {
	return addFound("resources", args, verify)
}

// AddComponents is like [AddResources], but for components. It always verifies arguments.
func AddComponents(args []string) (Edit, error) { return addFound("components", args, true) }

func addFound(field string, args []string, verify bool) (Edit, error) {
	if len(args) == 0 {
		return nil, fmt.Errorf("no entry of %s is given", field)
	}
	return func(k *Kustomization) error {
		var paths []string
		for _, arg := range args {
			found := []string{arg}
			if verify {
				var err error
				if found, err = k.find(arg); err != nil {
					return err
				}
			}
			paths = append(paths, found...)
		}
		if verify {
			k.dropPatterns(field, args)
		}
		k.add(field, slices.DeleteFunc(paths, func(p string) bool { return p == k.File }))
		return nil
	}, nil
}

// SyncResources returns an edit that makes resources agree with the files that match patterns: it
// adds files that no field names, and removes entries that match a pattern but do not exist. With
// check, the edit fails instead of changing anything.
func SyncResources(patterns []string, check bool) (Edit, error) {
	if len(patterns) == 0 {
		return nil, errors.New("no pattern is given")
	}
	return func(k *Kustomization) error {
		found, err := k.globs(patterns)
		if err != nil {
			return err
		}
		named := map[string]bool{path.Clean(k.File): true}
		mark(k.value, named)
		unlisted := slices.DeleteFunc(found, func(p string) bool { return named[path.Clean(p)] })
		var gone []string
		for _, p := range k.texts("resources") {
			left, err := without([]yaml.Value{yaml.Str(path.Clean(p))}, patterns)
			if err == nil && len(left) == 0 && !k.Exists(p) {
				gone = append(gone, p)
			}
		}
		switch {
		case !check:
		case len(unlisted) > 0:
			return mistake("resources", "does not list %s", diag.Some(unlisted)).Hint("without --check, the command lists them")
		case len(gone) > 0:
			return mistake("resources", "lists %s, which does not exist",
				diag.Some(gone)).Hint("without --check, the command removes the entry")
		default:
			return nil
		}
		if len(gone) > 0 {
			k.setItems("resources", slices.DeleteFunc(slices.Clone(k.items("resources")), func(item yaml.Value) bool {
				return slices.Contains(gone, item.Text())
			}))
		}
		k.add("resources", unlisted)
		return nil
	}, nil
}

// mark adds all texts in v to named.
func mark(v yaml.Value, named map[string]bool) {
	switch v.Type() {
	case yaml.String:
		text := v.Text()
		if _, file, ok := strings.Cut(text, "="); ok { // an entry of files
			named[path.Clean(file)] = true
		}
		named[path.Clean(text)] = true
	case yaml.Map:
		for _, f := range v.Fields() {
			mark(f.Value, named)
		}
	case yaml.Seq:
		for _, item := range v.Items() {
			mark(item, named)
		}
	}
}

// find returns the paths that match a pattern, or the pattern itself if it is a remote
// reference.
func (k *Kustomization) find(pattern string) ([]string, error) {
	found, err := k.Glob(pattern)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%q is not a valid pattern: %w", pattern, err)
	case len(found) > 0:
		return found, nil
	case pattern != "" && k.IsRemote(pattern):
		return []string{pattern}, nil
	}
	return nil, diag.Errorf(diag.Pos{}, "", "nothing matches %q",
		pattern).Hint("paths are relative to the directory of the kustomization file")
}

// AddFiles returns an edit that adds files to generators, transformers or configurations. It
// warns about a pattern without matches.
func AddFiles(field string, args []string) (Edit, error) {
	if len(args) == 0 {
		return nil, fmt.Errorf("no entry of %s is given", field)
	}
	return func(k *Kustomization) error {
		paths, err := k.globs(args)
		if err != nil {
			return err
		}
		k.dropPatterns(field, args)
		k.add(field, paths)
		return nil
	}, nil
}

// dropPatterns removes entries of a list that are among patterns and name no file. The caller adds
// the files that match.
func (k *Kustomization) dropPatterns(field string, patterns []string) {
	if !slices.ContainsFunc(k.texts(field), func(text string) bool { return k.isPattern(text, patterns) }) {
		return
	}
	k.setItems(field, slices.DeleteFunc(slices.Clone(k.items(field)),
		func(item yaml.Value) bool { return k.isPattern(item.Text(), patterns) }))
}

// globs returns the paths that match the patterns. It warns about each pattern without matches.
func (k *Kustomization) globs(patterns []string) ([]string, error) {
	var paths []string
	for _, pattern := range patterns {
		found, err := k.Glob(pattern)
		if err != nil {
			return nil, fmt.Errorf("%q is not a valid pattern: %w", pattern, err)
		}
		if len(found) == 0 {
			k.Warn("nothing matches %q", pattern)
		}
		paths = append(paths, found...)
	}
	return paths, nil
}

// add appends paths to a list. It warns about paths that the list contains already.
func (k *Kustomization) add(field string, paths []string) {
	there := k.texts(field)
	if field == "resources" {
		there = append(there, k.texts("bases")...)
	}
	var items []yaml.Value
	for _, path := range paths {
		if slices.Contains(there, path) {
			k.Warn("%s already has %s", field, path)
			continue
		}
		there = append(there, path)
		items = append(items, yaml.Str(path))
	}
	if len(items) == 0 {
		return
	}
	if field == "resources" {
		k.absorb("bases", field)
	}
	k.setItems(field, slices.Concat(k.items(field), items))
}

// AddBases returns an edit that adds folders to resources. The single argument is a
// comma-separated list. The edit fails if a folder does not exist or is already in the list.
func AddBases(args []string) (Edit, error) {
	if len(args) != 1 {
		return nil, errors.New("one argument is needed: the folders, separated by commas")
	}
	paths := strings.Split(args[0], ",")
	return func(k *Kustomization) error {
		there := append(k.texts("resources"), k.texts("bases")...)
		for _, path := range paths {
			if !k.Exists(path) {
				return fmt.Errorf("%q does not exist", path)
			}
			if slices.Contains(there, path) {
				return mistake("resources", "already has %s", path)
			}
			there = append(there, path)
		}
		k.add("resources", paths)
		return nil
	}, nil
}

// RemoveMatching returns an edit that removes the entries of a list that match one of the
// patterns.
func RemoveMatching(field string, patterns []string) (Edit, error) {
	if len(patterns) == 0 {
		return nil, fmt.Errorf("no entry of %s is given", field)
	}
	lists := []string{field}
	if field == "resources" {
		lists = append(lists, "bases")
	}
	return func(k *Kustomization) error {
		removed := false
		for _, list := range lists {
			items := k.items(list)
			left, err := without(items, patterns)
			if err != nil {
				return err
			}
			if len(left) < len(items) {
				removed = true
				k.setItems(list, left)
			}
		}
		if !removed {
			k.Warn("no entry of %s matches %s", field, diag.Some(patterns))
		}
		return nil
	}, nil
}

// without returns the items that match none of the patterns.
func without(items []yaml.Value, patterns []string) ([]yaml.Value, error) {
	var left []yaml.Value
	for _, item := range items {
		fits := false
		for _, pattern := range patterns {
			ok, err := filepath.Match(pattern, item.Text())
			if err != nil {
				return nil, fmt.Errorf("%q is not a valid pattern: %w", pattern, err)
			}
			fits = fits || ok && item.Type() == yaml.String
		}
		if !fits {
			left = append(left, item)
		}
	}
	return left, nil
}
