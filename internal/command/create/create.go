// Package create implements krmflow create, which writes a kustomization file for a directory
// without one.
package create

import (
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

// Options is the content of a new kustomization file. The fields are the flags of kustomize
// create.
type Options struct {
	Dir                   string
	Resources             string // comma-separated path patterns and remote references
	Namespace             string
	NamePrefix            string
	NameSuffix            string
	Labels, Annotations   string // comma-separated KEY:VALUE pairs
	Autodetect, Recursive bool
}

// Register adds the flags to a command.
func (o *Options) Register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVarP(&o.Dir, "directory", "C", ".", "`DIR` of the new file")
	fs.StringVar(&o.Resources, "resources", "", "comma-separated files, patterns, directories and remote `references`")
	fs.BoolVar(&o.Autodetect, "autodetect", false, "add all files in the directory that contain Kubernetes objects")
	fs.BoolVar(&o.Recursive, "recursive", false, "with --autodetect, also search subdirectories")
	fs.StringVar(&o.Namespace, "namespace", "", "`namespace` of all resources")
	fs.StringVar(&o.NamePrefix, "nameprefix", "", "`prefix` of all names")
	fs.StringVar(&o.NameSuffix, "namesuffix", "", "`suffix` of all names")
	fs.StringVar(&o.Labels, "labels", "", "comma-separated `KEY:VALUE` labels of all resources and selectors")
	fs.StringVar(&o.Annotations, "annotations", "", "comma-separated `KEY:VALUE` annotations of all resources")
}

// Write writes the file and returns its path. It never overwrites an existing file.
func (o *Options) Write() (path string, err error) {
	if there := layer(o.Dir); there != "" {
		return "", diag.Errorf(diag.Pos{File: filepath.Join(o.Dir, there)},
			"", "the directory has a kustomization file already").Hint("'krmflow edit' changes it")
	}
	text, err := o.text()
	if err != nil {
		return "", err
	}
	path = filepath.Join(o.Dir, layerfile.Names[0])
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return "", err
	}
	if _, err := f.Write(text); err != nil {
		return "", errors.Join(err, f.Close(), os.Remove(path))
	}
	return path, f.Close()
}

// layer returns the name of the file that makes dir a layer, or "". A file with the name of a
// Composition may belong to a different tool, so its content is checked.
func layer(dir string) string {
	for _, name := range layerfile.Names {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return name
		}
	}
	for _, name := range layerfile.CompositionNames {
		path := filepath.Join(dir, name)
		data, err := loaders.ReadFile(path, layerfile.MaxSize)
		if err == nil && layerfile.IsComposition(&yaml.Source{File: path, Data: data}) {
			return name
		}
	}
	return ""
}

// text returns the content of the file, with the fields in kustomize's order.
func (o *Options) text() ([]byte, error) {
	labels, errLabels := pairs("labels", o.Labels)
	annotations, errAnnotations := pairs("annotations", o.Annotations)
	resources, err := o.resources()
	if err := errors.Join(errLabels, errAnnotations, err); err != nil {
		return nil, err
	}
	var items []yaml.Value
	for _, r := range resources {
		items = append(items, yaml.Str(r))
	}
	var text []byte
	for _, f := range []yaml.Field{
		{Key: "apiVersion", Value: yaml.Str(layerfile.KustomizationVersion)},
		{Key: "kind", Value: yaml.Str("Kustomization")},
		{Key: "resources", Value: yaml.SeqOf(items...)},
		{Key: "namePrefix", Value: yaml.Str(o.NamePrefix)},
		{Key: "nameSuffix", Value: yaml.Str(o.NameSuffix)},
		{Key: "namespace", Value: yaml.Str(o.Namespace)},
		{Key: "commonLabels", Value: yaml.StrMap(labels)},
		{Key: "commonAnnotations", Value: yaml.StrMap(annotations)},
	} {
		if !f.Value.IsEmpty() && f.Value.Text() != "" || f.Value.Len() > 0 {
			text = yaml.AppendYAML(text, yaml.MapOf(f))
		}
	}
	return text, nil
}

// pairs parses the value of a flag as a list of pairs. A key without a colon has an empty
// value, as in kustomize.
func pairs(flag, list string) (map[string]string, error) {
	if list == "" {
		return nil, nil
	}
	m := map[string]string{}
	for pair := range strings.SplitSeq(list, ",") {
		key, value, _ := strings.Cut(pair, ":")
		if key == "" {
			return nil, fmt.Errorf("--%s: %q has no key: write KEY:VALUE", flag, pair)
		}
		if len(value) >= 2 && value[0] == '"' && value[len(value)-1] == '"' {
			value = value[1 : len(value)-1]
		}
		m[key] = value
	}
	return m, nil
}

// resources returns the resources of --resources, followed by the additional ones that
// --autodetect finds.
func (o *Options) resources() ([]string, error) {
	var all []string
	var errs []error
	if o.Resources != "" {
		for pattern := range strings.SplitSeq(o.Resources, ",") {
			found, err := o.match(pattern)
			all = append(all, found...)
			errs = append(errs, err)
		}
	}
	if o.Autodetect && errors.Join(errs...) == nil {
		found, err := o.detect()
		for _, path := range found {
			if !slices.Contains(all, path) {
				all = append(all, path)
			}
		}
		errs = append(errs, err)
	}
	return all, errors.Join(errs...)
}

// match returns the paths that match a pattern, relative to the directory. Hidden files need a
// pattern that begins with a dot. A remote reference is returned as it is, without fetching it.
func (o *Options) match(pattern string) ([]string, error) {
	if pattern == "" {
		return nil, fmt.Errorf("--resources: %q has an empty path", o.Resources)
	}
	found, err := filepath.Glob(filepath.Join(escaped(o.Dir), pattern))
	if !isHidden(pattern) {
		found = slices.DeleteFunc(found, isHidden)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("--resources: %q: %w", pattern, err)
	case len(found) == 0 && loaders.IsRemote(pattern):
		return []string{pattern}, nil
	case len(found) == 0:
		return nil, fmt.Errorf("--resources: nothing matches %q", pattern)
	}
	for i, path := range found {
		if found[i], err = filepath.Rel(o.Dir, path); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// isHidden reports whether the last element of a path begins with a dot.
func isHidden(path string) bool { return strings.HasPrefix(filepath.Base(path), ".") }

// escaped returns a pattern that matches only dir.
func escaped(dir string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(dir)
}

// detect returns the files in the directory that contain objects. With Recursive it descends
// into subdirectories and returns layers as directories. The result is in path order.
func (o *Options) detect() ([]string, error) {
	var found []string
	err := filepath.WalkDir(o.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == o.Dir {
			return err
		}
		rel, err := filepath.Rel(o.Dir, path)
		switch {
		case err != nil:
			return err
		case !d.IsDir():
			if holdsObjects(path) {
				found = append(found, rel)
			}
			return nil
		case !o.Recursive:
			return filepath.SkipDir
		case layer(path) != "":
			found = append(found, rel)
			return filepath.SkipDir
		}
		return nil
	})
	return found, err
}

// holdsObjects reports whether a file can be read as Kubernetes objects. As in kustomize, a
// file without objects qualifies.
func holdsObjects(path string) bool {
	data, err := loaders.ReadFile(path, yaml.MaxFile)
	if err != nil {
		return false
	}
	_, err = (&yaml.Source{File: path, Data: data}).Documents()
	return err == nil
}
