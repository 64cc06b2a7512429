package edit

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
)

// ReplaceVars returns an edit that converts vars to replacements, like `kustomize edit fix
// --vars`. It searches the files of patches and of resources, also in folders, for $(NAME). Each
// field that contains it becomes the target of a replacement, and NAME_PLACEHOLDER is written in
// its place. The output of a build can change.
func ReplaceVars() Edit {
	return func(k *Kustomization) error {
		vars := k.items("vars")
		if !k.field("vars").Exists() {
			return nil
		}
		c := &conversion{Kustomization: k, texts: map[string]string{}, patches: map[string]yaml.Value{}}
		c.collect(k.value, "")
		replacements := slices.Clone(k.items("replacements"))
		for _, v := range vars {
			r, err := c.replacement(v)
			if err != nil {
				return err
			}
			replacements = append(replacements, r)
		}
		k.setItems("replacements", replacements)
		k.value = put(k.value, "vars", yaml.Value{})
		return c.write()
	}
}

// A conversion converts the vars of one file to replacements.
type conversion struct {
	*Kustomization
	files   []string              // files that may refer to vars, in order
	texts   map[string]string     // their current content
	patches map[string]yaml.Value // patches entries by file
}

// collect collects the files of the resources and patches of a Kustomization in folder.
// Resources of nested Kustomizations are included.
func (c *conversion) collect(v yaml.Value, folder string) {
	for _, r := range texts(get(v, "resources")) {
		for _, name := range []string{"kustomization.yaml", "kustomization.yml", "Kustomization"} {
			data, err := c.ReadFile(path.Join(r, name))
			if err != nil {
				continue
			}
			if below, err := (&yaml.Source{File: name, Data: data}).Value(); err == nil && folder != r {
				c.collect(below, r)
			}
		}
		c.add(path.Join(folder, r))
	}
	for _, p := range get(v, "patches").Items() {
		if file := get(p, "path").Text(); file != "" {
			file = path.Join(folder, file)
			c.patches[file] = p
			c.add(file)
		}
	}
}

// add adds a file if it can be read.
func (c *conversion) add(file string) {
	if data, err := c.ReadFile(file); err == nil {
		c.texts[file] = string(data)
		c.files = append(c.files, file)
	}
}

// replacement returns the replacement for a var and writes its placeholder into the files.
func (c *conversion) replacement(v yaml.Value) (yaml.Value, error) {
	name := get(v, "name").Text()
	ref := get(v, "objref")
	source := object(get(ref, "apiVersion").Text(), get(ref, "kind").Text(), get(ref, "name").Text(), get(ref, "namespace").Text())
	if field := get(get(v, "fieldref"), "fieldPath").Text(); field != "" {
		source = append(source, yaml.Field{Key: "fieldPath", Value: yaml.Str(field)})
	}
	var targets []yaml.Value
	for _, file := range c.files {
		docs, err := (&yaml.Source{File: file, Data: []byte(c.texts[file])}).Configs()
		if err != nil {
			continue
		}
		for _, doc := range docs {
			uses, err := findVar(doc.Value, name, nil)
			if err != nil {
				return v, fmt.Errorf("%s: %w", file, err)
			}
			for _, use := range uses {
				targets = append(targets, c.target(file, doc.Value, use))
			}
		}
	}
	for _, file := range c.files {
		c.texts[file] = strings.ReplaceAll(c.texts[file], "$("+name+")", name+"_PLACEHOLDER")
	}
	fields := []yaml.Field{{Key: "source", Value: yaml.MapOf(source...)}}
	if len(targets) > 0 {
		fields = append(fields, yaml.Field{Key: "targets", Value: yaml.SeqOf(targets...)})
	}
	return yaml.MapOf(fields...), nil
}

// write writes the files.
func (c *conversion) write() error {
	for _, file := range c.files {
		if err := c.WriteFile(file, []byte(c.texts[file])); err != nil {
			return err
		}
	}
	return nil
}

// A varUse is a field that refers to a var. If delimiter is empty the var is the whole field,
// otherwise one of the parts between delimiters.
type varUse struct {
	path      string
	delimiter string
	index     int
}

// findVar returns the fields of a value that refer to a var.
func findVar(v yaml.Value, name string, at []string) (uses []varUse, _ error) {
	add := func(v yaml.Value, key string) error {
		more, err := findVar(v, name, append(at[:len(at):len(at)], key))
		uses = append(uses, more...)
		return err
	}
	for i, item := range v.Items() {
		if err := add(item, strconv.Itoa(i)); err != nil {
			return nil, err
		}
	}
	for _, f := range v.Fields() {
		key := strings.TrimSpace(f.Key)
		if strings.Contains(key, ".") {
			key = "[" + key + "]"
		}
		if err := add(f.Value, key); err != nil {
			return nil, err
		}
	}
	if v.Type() == yaml.String && strings.Contains(v.Text(), "$("+name+")") {
		use, err := useOf(v.Text(), "$("+name+")")
		use.path = strings.Join(at, ".")
		return append(uses, use), err
	}
	return uses, nil
}

// useOf returns the part of text that a reference makes up.
func useOf(text, ref string) (varUse, error) {
	i := strings.Index(text, ref)
	end := i + len(ref)
	switch {
	case text == ref:
		return varUse{}, nil
	case i == 0:
		return varUse{delimiter: text[end : end+1]}, nil
	case end == len(text):
		delimiter := text[i-1 : i]
		return varUse{delimiter: delimiter, index: strings.Count(text, delimiter)}, nil
	case text[i-1] != text[end]:
		return varUse{}, diag.Errorf(diag.Pos{}, "", "%s is between %q and %q: a replacement needs the same character on both sides",
			ref, text[i-1:i], text[end:end+1])
	}
	delimiter := text[end : end+1]
	return varUse{delimiter: delimiter, index: slices.Index(strings.Split(text, delimiter), ref)}, nil
}

// target returns the replacement target for a field of an object in a file.
func (c *conversion) target(file string, v yaml.Value, use varUse) yaml.Value {
	kind, name, namespace := v.Get("kind").Text(), v.At("metadata", "name").Text(), v.At("metadata", "namespace").Text()
	sel := yaml.MapOf(object(v.Get("apiVersion").Text(), kind, name, namespace)...)
	patch, ok := c.patches[file]
	options := get(patch, "options")
	newName, newKind := isTrue(get(options, "allowNameChange")), isTrue(get(options, "allowKindChange"))
	if ok && !(newName && newKind) { // a patch can apply to objects other than the one it names
		sel = yaml.MapOf(get(patch, "target").Fields()...)
		for _, f := range []struct {
			key, text string
			set       bool
		}{{"name", name, newName}, {"kind", kind, newKind}, {"namespace", namespace, namespace != ""}} {
			if f.set {
				sel = put(sel, f.key, present(yaml.Str(f.text)))
			}
		}
	}
	fields := []yaml.Field{{Key: "select", Value: sel}, {Key: "fieldPaths", Value: seq([]string{use.path})}}
	if use.delimiter != "" {
		options := []yaml.Field{{Key: "delimiter", Value: yaml.Str(use.delimiter)}}
		if use.index != 0 {
			options = append(options, yaml.Field{Key: "index", Value: yaml.Number(yaml.Int, strconv.Itoa(use.index))})
		}
		fields = append(fields, yaml.Field{Key: "options", Value: yaml.MapOf(options...)})
	}
	return yaml.MapOf(fields...)
}

// object returns the selector fields for an object.
func object(apiVersion, kind, name, namespace string) []yaml.Field {
	group, version, ok := strings.Cut(apiVersion, "/")
	if !ok {
		group, version = "", apiVersion
	}
	return Target{Group: group, Version: version, Kind: kind, Name: name, Namespace: namespace}.fields(false)
}
