package helm

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/builtins"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/chart"
	"github.com/krmflow/krmflow/krm/yaml"
)

// The methods of merging valuesInline with the values file.
const (
	mergeValues    = "merge"    // the file takes precedence
	overrideValues = "override" // valuesInline takes precedence
	replaceValues  = "replace"  // valuesInline replaces the file
)

// values returns the values file that replaces the chart's own.
func (g *Generator) values(files Files, c *chart.Chart, folder string) ([]byte, error) {
	if g.Exact {
		if g.ValuesInline.IsEmpty() {
			return []byte("{}"), nil
		}
		return yaml.AppendJSON(nil, g.ValuesInline), nil
	}
	inline := asText(g.ValuesInline)
	if inline.Len() > 0 && g.ValuesMerge == replaceValues {
		return yaml.AppendJSON(nil, inline), nil
	}
	src, err := g.valuesFile(files, c, folder)
	if err != nil || inline.Len() == 0 {
		return dataOf(src), err
	}
	own, err := src.Content()
	if err != nil {
		return nil, err
	}
	if own.IsNull() {
		own = yaml.MapOf()
	}
	if own.Type() != yaml.Map {
		return nil, diag.Errorf(src.Locate(0), "", "values must be a mapping").With(diag.BadValues)
	}
	over, under := inline, own
	if g.ValuesMerge == mergeValues {
		over, under = own, inline
	}
	merged, _, err := builtins.MergePatch(nil, unquoted(under), unquoted(over))
	if err != nil {
		return nil, inField(err, "valuesInline")
	}
	return yaml.AppendJSON(nil, merged), nil
}

func dataOf(src *yaml.Source) []byte {
	if src == nil {
		return nil
	}
	return src.Data
}

// valuesFile returns the values file named by the layer, or the chart's own.
func (g *Generator) valuesFile(files Files, c *chart.Chart, folder string) (*yaml.Source, error) {
	const name = "values.yaml"
	switch {
	case g.ValuesFile != "":
		src, err := files.Read(g.ValuesFile)
		if err != nil {
			return nil, inField(err, "valuesFile")
		}
		src.HoldSecret()
		return src, nil
	case folder != "":
		src, err := files.Read(filepath.Join(folder, name))
		if isMissing(err) {
			err = diag.AsError(err).Hint("create the file (it may be empty), or set valuesFile to a different one")
		}
		return src, err
	}
	data, ok := c.File(name)
	if !ok {
		return nil, diag.BadValues.Errorf("the chart has no %s", name)
	}
	return &yaml.Source{File: path.Join(c.Source, c.Folder, name), Data: data}, nil
}

// textFields are the fields of a chart that contain strings or lists of strings.
var textFields = []string{"name", "version", "repo", "releaseName", "namespace", "valuesFile", "valuesMerge", "kubeVersion", "nameTemplate",
	"additionalValuesFiles", "apiVersions"}

// asText converts numbers and booleans in valuesInline to strings if their key is the name of
// such a field: kustomize confuses them with the fields of a chart.
func asText(inline yaml.Value) yaml.Value {
	return inline.EditFields(func(f yaml.Field) yaml.Value {
		if !slices.ContainsFunc(textFields, func(name string) bool { return strings.EqualFold(name, f.Key) }) {
			return f.Value
		}
		// The list fields have plural names.
		isList := strings.HasSuffix(strings.ToLower(f.Key), "s")
		if f.Value.Type() == yaml.Seq && isList {
			list, _ := f.Value.EditItems(func(v yaml.Value) (yaml.Value, error) { return scalarText(v), nil })
			return list
		}
		if isList {
			return f.Value
		}
		return scalarText(f.Value)
	})
}

// scalarText converts a number or a boolean to a string.
func scalarText(v yaml.Value) yaml.Value {
	var text string
	if !v.IsScalar() || len(yaml.Decoding{ScalarsAsText: true}.Decode(v, &text)) > 0 {
		return v
	}
	return yaml.Str(text)
}

// unquoted returns v with the quotes of strings removed. A merge would keep the quotes and turn a
// number that replaces the string into a string.
func unquoted(v yaml.Value) yaml.Value {
	switch v.Type() {
	case yaml.Map:
		return v.EditFields(func(f yaml.Field) yaml.Value { return unquoted(f.Value) })
	case yaml.Seq:
		v, _ = v.EditItems(func(item yaml.Value) (yaml.Value, error) { return unquoted(item), nil })
	case yaml.String:
		return yaml.Str(v.Text())
	}
	return v
}
