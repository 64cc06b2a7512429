package localize

import (
	"slices"
	"strings"

	"github.com/krmflow/krmflow/builtins"
	"github.com/krmflow/krmflow/edit/inplace"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/planner/layerfile"
)

// localized copies the content that a text refers to and returns the replacement for the text.
type localized func(text string) (string, error)

// kustomization returns a Kustomization or Component whose references point to the copies.
func (l *layer) kustomization(v yaml.Value) yaml.Value {
	v = l.fields(v, nil,
		at{"openapi.path", l.file},
		at{"bases", l.root},
		at{"resources", l.resource},
		at{"components", l.root},
		at{"configurations", l.file},
		at{"crds", l.file},
		at{"catalogs", l.catalog},
		at{"helmChartInflationGenerator.values", l.file},
		at{"helmCharts.valuesFile", l.file}, at{"helmCharts.additionalValuesFiles", l.file},
	)
	v = l.fields(v, nil, l.builtinFields()...)
	for _, field := range []string{"generators", "transformers", "validators"} {
		v = l.plugins(v, field)
	}
	return l.chartHomes(v)
}

// builtinFields returns the fields of a Kustomization in which built-ins refer to files.
func (l *layer) builtinFields() (fields []at) {
	for _, kind := range builtins.Kinds() {
		form, ok := builtins.New(kind).(builtins.FieldForm)
		if !ok {
			continue
		}
		for _, file := range l.fileFields(kind) {
			for _, f := range form.StandsFor() {
				below := strings.TrimPrefix(strings.TrimPrefix("."+file.field, "."+f.Key), ".")
				fields = append(fields, at{strings.TrimSuffix(f.Name+"."+below, "."), file.do})
			}
		}
	}
	return fields
}

// fileFields returns the fields in the configuration of a built-in that refer to files.
func (l *layer) fileFields(kind string) (fields []at) {
	reader, ok := builtins.New(kind).(builtins.FileReader)
	if !ok {
		return nil
	}
	do := map[builtins.FileForm]localized{builtins.PathForm: l.file, builtins.KeyedForm: l.fileSource, builtins.PatchForm: l.patch}
	for _, f := range reader.FileFields() {
		fields = append(fields, at{f.Path, do[f.Form]})
	}
	return fields
}

// at applies do to the text at a field path. Lists along the path are traversed, and a list of
// texts is processed item by item.
type at struct {
	field string
	do    localized
}

// fields applies do to each of the fields of v. path is the position of v in the file.
func (l *layer) fields(v yaml.Value, path []any, fields ...at) yaml.Value {
	for _, f := range fields {
		v = l.field(v, path, strings.Split(f.field, "."), f.do)
	}
	return v
}

func (l *layer) field(v yaml.Value, path []any, names []string, do localized) yaml.Value {
	switch {
	case v.Type() == yaml.Seq:
		items := slices.Clone(v.Items())
		for i, item := range items {
			items[i] = l.field(item, append(slices.Clip(path), i), names, do)
		}
		return v.WithItems(items...)
	case len(names) > 0:
		x := v.Get(names[0])
		if !x.Exists() {
			return v
		}
		return v.With(names[0], l.field(x, append(slices.Clip(path), names[0]), names[1:], do))
	case v.Type() != yaml.String:
		return v // the build reports the wrong type
	}
	text, err := do(v.Text())
	if err != nil {
		l.fail(err, path...)
	}
	if err != nil || text == v.Text() {
		return v
	}
	return yaml.Str(text)
}

// catalog copies a local catalog. A remote catalog is not copied: the trust in its functions
// depends on its address.
func (l *layer) catalog(text string) (string, error) {
	if loaders.IsRemote(text) {
		return text, nil
	}
	return l.file(text)
}

// chartHomes copies the chart directories of a Kustomization.
func (l *layer) chartHomes(v yaml.Value) yaml.Value {
	v = l.fields(v, nil, at{"helmChartInflationGenerator.chartHome", l.charts}, at{"helmGlobals.chartHome", l.charts})
	charts := v.Get("helmCharts").Len() > 0 || slices.ContainsFunc(v.Get("helmChartInflationGenerator").Items(), noHome)
	if charts && noHome(v.Get("helmGlobals")) {
		if _, err := l.charts(""); err != nil {
			l.fail(err, "helmCharts")
		}
	}
	return v
}

func noHome(v yaml.Value) bool { return v.Get("chartHome").Text() == "" }

// plugins localizes the configurations of generators, transformers or validators.
func (l *layer) plugins(v yaml.Value, field string) yaml.Value {
	list := v.Get(field)
	if list.Type() != yaml.Seq {
		return v
	}
	items := slices.Clone(list.Items())
	for i, item := range items {
		path := []any{field, i}
		switch {
		case item.Type() == yaml.Map:
			items[i] = l.builtin(item, path)
		case item.Type() != yaml.String:
		case layerfile.PatchPath(item.Text()) == "":
			items[i] = l.inline(item, path)
		default:
			text, err := l.configuration(item.Text(), path)
			if err != nil {
				l.fail(err, path...)
			} else if text != item.Text() {
				items[i] = yaml.Str(text)
			}
		}
	}
	return v.With(field, list.WithItems(items...))
}

// inline localizes configurations that are embedded as text in the kustomization file.
func (l *layer) inline(text yaml.Value, path []any) yaml.Value {
	src := &yaml.Source{File: l.src.File, Data: []byte(text.Text())}
	data, err := l.documents(src, path)
	if err != nil {
		l.fail(err, path...)
	}
	if err != nil || string(data) == text.Text() {
		return text
	}
	return yaml.Str(string(data))
}

// configuration copies the file or layer with the configurations of an entry.
func (l *layer) configuration(text string, path []any) (string, error) {
	if loaders.IsRemote(text) || l.files.IsDir(l.dir, text) {
		return l.resource(text)
	}
	src, err := l.files.Read(l.dir, text)
	if err != nil {
		return "", err
	}
	data, err := l.documents(src, path)
	if err != nil {
		return "", err
	}
	return l.localFile(text, data)
}

// documents returns the localized text of a file of configurations. In a file with a single
// document only the references change.
func (l *layer) documents(src *yaml.Source, path []any) ([]byte, error) {
	docs, err := src.Configs()
	if err != nil {
		return nil, err
	}
	if len(docs) == 1 {
		doc, err := inplace.Parse(src.File, src.Data, nil)
		if err != nil {
			return nil, err
		}
		if doc, err = doc.With(l.builtin(doc.Value(), path)); err != nil {
			return nil, err
		}
		return doc.Text(), nil
	}
	changed := false
	var anew []byte
	for i, d := range docs {
		v := l.builtin(d.Value, path)
		changed = changed || !v.Equal(d.Value)
		if i > 0 {
			anew = append(anew, "---\n"...)
		}
		anew = yaml.AppendYAML(anew, v)
	}
	if !changed {
		return src.Data, nil
	}
	return anew, nil
}

// builtin localizes the configuration of a built-in. Other configurations have no known fields
// with files.
func (l *layer) builtin(v yaml.Value, path []any) yaml.Value {
	if v.Get("apiVersion").Text() != "builtin" {
		return v
	}
	kind := v.Get("kind").Text()
	if kind != "HelmChartInflationGenerator" {
		return l.fields(v, path, l.fileFields(kind)...)
	}
	v = l.fields(v, path, at{"valuesFile", l.file}, at{"additionalValuesFiles", l.file}, at{"chartHome", l.charts})
	if noHome(v) {
		if _, err := l.charts(""); err != nil {
			l.fail(err, path...)
		}
	}
	return v
}
