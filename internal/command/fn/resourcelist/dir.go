package resourcelist

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/function"
	krmyaml "github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
	"sigs.k8s.io/kustomize/kyaml/kio/kioutil"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// Annotated selects whether items get annotations with their locations.
type Annotated bool

// Values of Annotated.
const (
	Unannotated Annotated = false
	WithPlaces  Annotated = true
)

// ReadDir returns the resources in the YAML and JSON files of a directory and below it, in path
// order. It skips links, files and directories whose names begin with a dot, and documents that
// are not resources. dir may also be a file.
func ReadDir(dir string, places Annotated) (items []*yaml.RNode, err error) {
	base := dir
	if info, err := os.Stat(dir); err != nil {
		return nil, err
	} else if !info.IsDir() {
		base = filepath.Dir(dir)
	} else {
		dir += string(filepath.Separator) // the separator makes WalkDir follow a link to a directory
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path != dir && strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case d.IsDir() || path != dir && !d.Type().IsRegular() || !isYAML(d.Name()):
			return nil
		}
		rel, err := filepath.Rel(base, path)
		if err != nil {
			return err
		}
		if !places {
			rel = ""
		}
		more, err := readFile(path, filepath.ToSlash(rel))
		items = append(items, more...)
		return err
	})
	return items, err
}

func isYAML(name string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(filepath.Ext(name)))
}

// readFile returns the resources of a file. If rel is not empty, they are annotated with it as
// their path.
func readFile(path, rel string) (items []*yaml.RNode, err error) {
	data, err := loaders.ReadFile(path, krmyaml.MaxFile)
	if err != nil {
		return nil, err
	}
	docs, err := documents(path, data)
	if err != nil {
		if text := string(data); strings.Contains(text, "{{") || !strings.Contains(text, "apiVersion") || !strings.Contains(text, "kind") {
			return nil, nil // a template, or not Kubernetes YAML at all
		}
		return nil, err
	}
	for _, doc := range docs {
		if doc.value.Get("kind").Text() == "" || doc.value.Get("apiVersion").Text() == "" && !doc.value.Get("metadata").Exists() {
			continue
		}
		items = append(items, doc.node)
		if rel == "" {
			continue
		}
		err := SetPlace(doc.node, rel, len(items)-1)
		if style := yaml.DeriveSeqIndentStyle(string(doc.text)); err == nil && style == string(yaml.WideSequenceStyle) {
			err = doc.node.PipeE(yaml.SetAnnotation(kioutil.SeqIndentAnnotation, style))
		}
		if err != nil {
			return nil, diag.Errorf(diag.Pos{File: path}, "metadata.annotations", "%s", diag.OneLine(err.Error())).With(diag.WrongType)
		}
	}
	return items, nil
}

// SetPlace sets the annotations for the file of a resource and its index in the file, in both
// spellings.
func SetPlace(n *yaml.RNode, file string, index int) error {
	for _, a := range []yaml.AnnotationSetter{
		yaml.SetAnnotation(kioutil.PathAnnotation, file), yaml.SetAnnotation(function.LegacyPathAnnotation, file),
		yaml.SetAnnotation(kioutil.IndexAnnotation, strconv.Itoa(index)),
		yaml.SetAnnotation(function.LegacyIndexAnnotation, strconv.Itoa(index)),
	} {
		if err := n.PipeE(a); err != nil {
			return err
		}
	}
	return nil
}

// Place returns the file and index in the annotations of a resource. file is "" without an
// annotation. A file outside the directory is an error.
func Place(n *yaml.RNode) (file string, index int, err error) {
	what := Text(n, "kind") + " " + Text(n, "metadata", "name")
	file, number, err := kioutil.GetFileAnnotations(n)
	if err != nil {
		return "", 0, err
	}
	if v := n.GetAnnotations()[function.LegacyPathAnnotation]; v != "" && v != file {
		return "", 0, diag.OutsideDirectory.Errorf("%s: its annotations name two files, %s and %s", diag.OneLine(what), diag.OneLine(file),
			diag.OneLine(v))
	}
	if file != "" && (!filepath.IsLocal(filepath.FromSlash(file)) || strings.ContainsAny(file, "\\\x00")) {
		return "", 0, diag.OutsideDirectory.Errorf("%s: the file %s of its annotation %s is not in the directory", diag.OneLine(what),
			diag.OneLine(file), kioutil.PathAnnotation)
	}
	if number != "" {
		if index, err = strconv.Atoi(number); err != nil || index < 0 {
			return "", 0, diag.BadValue.Errorf("%s: its annotation %s is %s, which is not a number", diag.OneLine(what),
				kioutil.IndexAnnotation, diag.OneLine(number))
		}
	}
	return file, index, nil
}

// FileName expands a pattern for the file name of a resource: %n is the name, %k the kind and
// %s the namespace, in lower case. Characters that are not safe in a path element are replaced.
func FileName(pattern string, n *yaml.RNode) string {
	part := func(s string) string {
		s = strings.Map(func(r rune) rune {
			if r < ' ' || strings.ContainsRune(`/\:*?"<>|`, r) {
				return '-'
			}
			return r
		}, strings.ToLower(s))
		if s == ".." || s == "." {
			return "-"
		}
		return s
	}
	return strings.NewReplacer("%n", part(Text(n, "metadata", "name")), "%k", part(Text(n, "kind")),
		"%s", part(Text(n, "metadata", "namespace"))).Replace(pattern)
}
