package composition

import (
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/planner/layerfile"
)

// Uses returns the texts in a Composition that may refer to other layers. They include files and
// other entries of the same lists. read returns the file at a path that the Composition refers
// to, nil if there is none: such a file may contain items. Uses checks nothing.
func Uses(src *yaml.Source, read func(path string) *yaml.Source) (texts []string) {
	v, err := src.Value()
	if err != nil {
		return nil
	}
	for _, names := range spellings {
		for _, i := range v.Get(names.from).Items() {
			texts = append(texts, i.Get("path").Text())
		}
		for _, it := range v.Get(names.overrides).Items() {
			texts = append(texts, usesOfItem(it)...)
		}
		for _, it := range v.Get(names.items).Items() {
			if it.Type() != yaml.String {
				texts = append(texts, usesOfItem(it)...)
				continue
			}
			list, err := krm.Configs(&yaml.Source{File: src.File, Data: []byte(it.Text())}, nil)
			if file := (*yaml.Source)(nil); err != nil {
				if file = read(it.Text()); file != nil {
					list, _ = krm.Configs(file, nil) // planning reports its errors
				}
			}
			for _, r := range list {
				texts = append(texts, usesOfItem(r.Value())...)
			}
		}
	}
	return texts
}

// usesOfItem returns these texts for an item, or an override of one.
func usesOfItem(v yaml.Value) (texts []string) {
	switch kind := v.Get("kind").Text(); kind {
	case "Kustomization":
		return layerfile.Uses(v)
	case accumulatorKind, generatorKind:
		for _, field := range []string{"paths", "files"} {
			for _, x := range v.Get(field).Items() {
				texts = append(texts, x.Text())
			}
		}
	}
	return texts
}
