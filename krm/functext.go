package krm

// FunctionConfig returns config as the function gets it: without the reserved field that names the runtime. Annotations
// stay, as in kustomize.
func FunctionConfig(config Value) Value {
	return config.Without(PlaceRuntime).Without(PlaceProvider)
}

// FunctionConfigText returns the source text of object doc of an earlier call of [Source.Configs] as the function gets it: comments
// and style stay.
func FunctionConfigText(s *Source, doc int) []byte {
	return s.TextWithout(doc, PlaceRuntime, PlaceProvider)
}
