package function

import (
	"testing"

	"github.com/krmflow/krmflow/krm/yaml"
)

// FuzzReadInline checks that a function stays the same if it is moved to the field that messages
// recommend.
func FuzzReadInline(f *testing.F) {
	for _, text := range []string{
		"runtime: {exec: {path: ./fn.sh, args: [-a, ''], envs: [A=b]}}",
		"provider: {container: {image: 'x@sha256:0123', network: false, mounts: [{type: bind, src: a, dst: /b, rw: true}]}}",
		"metadata: {configFn: {container: {image: x}}, annotations: {config.kubernetes.io/container: x}}",
		"metadata:\n  annotations:\n    config.kubernetes.io/function: |\n      exec:\n        path: fn\n    config.k8s.io/function: '{\"exec\": {\"path\": \"fn\"}}'\n",
		"runtime: {starlark: {path: a.star}}", "metadata: {provider: {exec: {path: a}}}",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		doc, err := (&yaml.Source{File: "f", Data: data}).Strict()
		if err != nil {
			return
		}
		fn, err := ReadInline(doc.Value, doc.Locate)
		if err != nil || fn == nil {
			if err != nil && (err.Error() == "" || fn != nil) {
				t.Fatalf("%+v, %q", fn, err)
			}
			return
		}
		if len(fn.Places) == 0 || fn.String() == "" {
			t.Errorf("%+v", fn)
		}
		again, err := ReadInline(yaml.MapOf(yaml.Field{Key: PlaceRuntime, Value: fn.Value()}), nil)
		if err != nil || !again.Value().Equal(fn.Value()) {
			t.Errorf("%s reads as %+v, %v", yaml.AppendJSON(nil, fn.Value()), again, err)
		}
	})
}

// FuzzParseImage checks that the complete form of a reference is the same image, and that an engine
// cannot mistake it for an option.
func FuzzParseImage(f *testing.F) {
	for _, text := range []string{"x", "x:v1", "docker.io/x", "index.docker.io/library/x:latest", "localhost:5000/a/b__c:T-1",
		"r.io/x@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "x:v1@sha256:00", "--privileged", "../x", "A/b"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := ParseImage(text)
		if err != nil {
			return
		}
		if again, err := ParseImage(m.String()); err != nil || again != m {
			t.Errorf("%q is %+v and %q is %+v, %v", text, m, m.String(), again, err)
		}
		for _, c := range m.String() {
			if c <= ' ' || c > '~' {
				t.Errorf("%q is %q", text, m.String())
			}
		}
		if text[0] == '-' {
			t.Errorf("%q is an image", text)
		}
	})
}
