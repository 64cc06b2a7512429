package resourcelist

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
	yaml3 "go.yaml.in/yaml/v3"
)

// Annotated says whether the items of a directory get annotations with their places.
type Annotated bool

// The choices.
const (
	Unannotated Annotated = false
	WithPlaces  Annotated = true
)

// ReadDir returns the resources in the YAML and JSON files of a directory and below it, by the names of the files. Links, files and folders whose
// names begin with a dot, and documents that are no resources are left out; dir may also be a file.
func ReadDir(dir string, places Annotated) (items []*yaml3.Node, err error) {
	base := dir
	if info, err := os.Stat(dir); err != nil {
		return nil, err
	} else if !info.IsDir() {
		base = filepath.Dir(dir)
	} else {
		dir += string(filepath.Separator) // a link to a directory is one
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
		more, err := readFile(path)
		for i, n := range more {
			if places {
				SetPlace(n, filepath.ToSlash(rel), i)
				if Wide(n) {
					SetAnnotation(n, SeqIndent, "wide")
				}
			}
		}
		items = append(items, more...)
		return err
	})
	return items, err
}

func isYAML(name string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(filepath.Ext(name)))
}

// readFile returns the resources of a file.
func readFile(path string) (items []*yaml3.Node, err error) {
	data, err := loaders.ReadFile(path, yaml.MaxFile)
	if err != nil {
		return nil, err
	}
	docs, err := parse(path, data)
	if err != nil {
		if text := string(data); strings.Contains(text, "{{") || !strings.Contains(text, "apiVersion") || !strings.Contains(text, "kind") {
			return nil, nil // a template, or something else that nobody asks for
		}
		return nil, err
	}
	for _, doc := range docs {
		if Text(doc, "kind") == "" || Text(doc, "apiVersion") == "" && Field(doc, "metadata") == nil {
			continue
		}
		if err := twice(path, doc); err != nil {
			return nil, err
		}
		items = append(items, doc)
	}
	return items, nil
}

// SetPlace says in annotations that a resource is the one with this number in a file, in both spellings.
func SetPlace(n *yaml3.Node, file string, index int) {
	SetAnnotation(n, Path, file)
	SetAnnotation(n, LegacyPath, file)
	SetAnnotation(n, Index, strconv.Itoa(index))
	SetAnnotation(n, LegacyIndex, strconv.Itoa(index))
}

// Place returns the file that a resource says it belongs to, "" if it says none, and its number there. A file outside of its directory is an error.
func Place(n *yaml3.Node) (file string, index int, err error) {
	get := func(key, legacy string) string {
		if v := Annotation(n, key); v != "" {
			return v
		}
		return Annotation(n, legacy)
	}
	what := Text(n, "kind") + " " + Text(n, "metadata", "name")
	file = get(Path, LegacyPath)
	if v := Annotation(n, LegacyPath); v != "" && v != file {
		return "", 0, diag.OutsideDirectory.Errorf("%s: its annotations name two files, %s and %s", diag.OneLine(what), diag.OneLine(file), diag.OneLine(v))
	}
	if file != "" && (!filepath.IsLocal(filepath.FromSlash(file)) || strings.ContainsAny(file, "\\\x00")) {
		return "", 0, diag.OutsideDirectory.Errorf("%s: the file %s of its annotation %s is not in the directory", diag.OneLine(what), diag.OneLine(file), Path)
	}
	if text := get(Index, LegacyIndex); text != "" {
		if index, err = strconv.Atoi(text); err != nil || index < 0 {
			return "", 0, diag.BadValue.Errorf("%s: its annotation %s is %s, and no number", diag.OneLine(what), Index, diag.OneLine(text))
		}
	}
	return file, index, nil
}
