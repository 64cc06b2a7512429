package function

import "github.com/krmflow/krmflow/krm/yaml"

// Config returns config as the function gets it: without the reserved field that names the runtime. Annotations
// stay, as in kustomize.
func Config(config yaml.Value) yaml.Value {
	return config.Without(PlaceRuntime).Without(PlaceProvider)
}

// ConfigText returns the source text of object doc of an earlier call of [yaml.Source.Configs] as the function gets it: comments
// and style stay.
func ConfigText(s *yaml.Source, doc int) []byte {
	return s.TextWithout(doc, PlaceRuntime, PlaceProvider)
}
