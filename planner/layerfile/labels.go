package layerfile

import "github.com/krmflow/krmflow/builtins"

// LabelFields are the fields of entries of labels that list no fields themselves. Entries with
// equal settings share them.
type LabelFields map[labelsKey]*builtins.FieldSpecs

// A labelsKey determines the fields of an entry of labels that lists no fields itself.
type labelsKey struct {
	config                       *builtins.Config
	selectors, templates, claims bool
}

// Of returns the fields of an entry of labels, given the configuration of its layer.
func (f LabelFields) Of(config *builtins.Config, l LabelEntry) (*builtins.FieldSpecs, error) {
	key := labelsKey{config, l.IncludeSelectors, l.IncludeTemplates, l.IncludeVolumeClaimTemplates}
	if len(l.FieldSpecs.All()) > 0 {
		return key.fields(l.FieldSpecs)
	}
	if specs, ok := f[key]; ok {
		return specs, nil
	}
	specs, err := key.fields(nil)
	if err == nil {
		f[key] = specs
	}
	return specs, err
}

// fields returns specs merged with the default fields for the settings of k.
func (k labelsKey) fields(specs *builtins.FieldSpecs) (_ *builtins.FieldSpecs, err error) {
	more := []*builtins.FieldSpecs{k.config.Labels}
	if k.selectors {
		more = append(more, k.config.CommonLabels)
	} else {
		if k.templates {
			more = append(more, k.config.TemplateLabels)
		}
		if k.claims {
			more = append(more, k.config.VolumeClaimTemplateLabels)
		}
		more = append(more, builtins.NewFieldSpecs(builtins.FieldSpec{Path: "metadata/labels", CreateIfNotPresent: true}))
	}
	for _, m := range more {
		if specs, err = specs.Merge(m); err != nil {
			return nil, err
		}
	}
	return specs, nil
}
