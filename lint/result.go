package lint

import (
	"fmt"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// maxFindings is the maximum number of findings of one rule in a list.
const maxFindings = 100

// Result reports findings about list, the resources of a root at the end of its build. The
// references must have been updated, and the earlier names must still be known. named returns the
// positions of the resources that had a name, and none if there are more than most. The slice is
// valid until the next call.
func Result(list *krm.List, named func(name string, most int32) []int32, warn diag.Warn) {
	references(list, named, warn)
	copies(list, warn)
	scopes(list, warn)
	selectors(list, warn)
	sizes(list, warn)
}

// at reports a finding about the field at path of r, or about r if path is nil.
func at(r *krm.Resource, warn diag.Warn, code diag.Code, path []any, text string, hints ...string) {
	var pos diag.Pos
	if path == nil {
		pos = r.Start()
	} else {
		pos = r.Locate(path...)
	}
	e := diag.Errorf(pos, diag.FieldPath(path), "%s", text)
	e.Hints = append(e.Hints, hints...)
	warn(code, "%w", e)
}

// maxAnnotations is the API server's limit of the keys and values of all annotations of an object:
// TotalAnnotationSizeLimitB in k8s.io/apimachinery/pkg/api/validation.
const maxAnnotations = 256 << 10

// maxData is the API server's limit of the data of a ConfigMap or a Secret: MaxSecretSize in
// k8s.io/kubernetes/pkg/apis/core.
const maxData = 1 << 20

// sizes reports objects that an API server refuses because of their size.
func sizes(list *krm.List, warn diag.Warn) {
	for _, r := range list.All() {
		if yaml.MaxResource-r.Room() < maxAnnotations {
			continue
		}
		if n := annotationsSize(r.Value()); n > maxAnnotations {
			at(r, warn, diag.TooLargeObject, []any{"metadata", "annotations"},
				fmt.Sprintf("the annotations of %s have %s; an API server accepts %s", r.ID(), diag.Size(int64(n)),
					diag.Size(maxAnnotations)),
				"move the content to a ConfigMap")
		}
		if n := DataSize(r.Value()); n > maxData {
			at(r, warn, diag.TooLargeObject, []any{"data"},
				fmt.Sprintf("the data of %s has %s; an API server accepts %s", r.ID(), diag.Size(int64(n)), diag.Size(maxData)),
				"split it into several objects, or put the content into an image")
		}
	}
}

func annotationsSize(object yaml.Value) (n int) {
	for _, f := range object.At("metadata", "annotations").Fields() {
		n += len(f.Key) + len(f.Value.Text())
	}
	return n
}

// DataSize returns the size of the data of a ConfigMap or a Secret as an API server counts it, 0
// for other kinds.
func DataSize(object yaml.Value) (n int) {
	kind := object.Get("kind").Text()
	if version := object.Get("apiVersion").Text(); version != "v1" || kind != "ConfigMap" && kind != "Secret" {
		return 0
	}
	for _, f := range object.Get("data").Fields() {
		size := len(f.Value.Text())
		if kind == "Secret" {
			size = size / 4 * 3
		}
		n += size
	}
	for _, f := range object.Get("binaryData").Fields() {
		n += len(f.Value.Text()) / 4 * 3
	}
	return n
}
