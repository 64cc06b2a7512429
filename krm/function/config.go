package function

import "github.com/krmflow/krmflow/krm/yaml"

// Config returns config as the function receives it: without the reserved field that names the
// runtime. Annotations are kept, as in kustomize.
func Config(config yaml.Value) yaml.Value {
	return config.Without(PlaceRuntime).Without(PlaceProvider)
}

// ConfigText returns the source text of object doc as the function receives it: comments and style
// are kept. doc is an index into the result of [yaml.Source.Configs].
func ConfigText(s *yaml.Source, doc int) []byte {
	return s.TextWithout(doc, PlaceRuntime, PlaceProvider)
}
