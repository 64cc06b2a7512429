package function

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/krm/yaml"
)

func readInlineText(t *testing.T, text string) (*Inline, error) {
	t.Helper()
	doc, err := (&yaml.Source{File: "fn.yaml", Data: []byte(text)}).Strict()
	if err != nil {
		t.Fatal(err)
	}
	return ReadInline(doc.Value, doc.Locate)
}

const fnHead = "apiVersion: example.com/v1\nkind: Fn\nmetadata:\n  name: x\n"

func TestReadInline(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"none", fnHead, "<nil>"},
		{"the reserved field", fnHead + "runtime: {exec: {path: ./fn.sh, args: [-a, b c]}}\n",
			"{exec: {path: fn.sh, args: [-a, b c]}} runtime"},
		{"provider is the same field", fnHead + "provider:\n  container: {image: x:v1, network: true}\n",
			"{container: {image: x:v1, network: true}} provider"},
		{"network false is kept", fnHead + "provider:\n  container: {image: x:v1, network: false}\n",
			"{container: {image: x:v1, network: false}} provider"},
		{"an annotation of YAML", fnHead + "  annotations:\n    config.kubernetes.io/function: |\n      exec:\n        path: a/b\n",
			"{exec: {path: a/b}} config.kubernetes.io/function"},
		{"an annotation of JSON", fnHead + "  annotations:\n    config.k8s.io/function: '{\"exec\":{\"path\":\"a\"}}'\n",
			"{exec: {path: a}} config.k8s.io/function"},
		{"metadata.configFn", fnHead + "  configFn:\n    container:\n      image: gcr.io/e/nginx-template:v1.0.0\n",
			"{container: {image: gcr.io/e/nginx-template:v1.0.0}} metadata.configFn"},
		{"the oldest annotation", fnHead + "  annotations: {config.kubernetes.io/container: 'x:v1'}\n",
			"{container: {image: x:v1}} config.kubernetes.io/container"},
		{"all places agree", fnHead +
			"  annotations:\n    config.kubernetes.io/container: x:v1\n    config.kubernetes.io/function: 'container: {image: \"x:v1\"}'\n" +
			"  configFn: {container: {image: 'x:v1'}}\nruntime: {container: {image: 'x:v1'}}\nprovider: {container: {image: 'x:v1'}}\n",
			"{container: {image: x:v1}} runtime provider config.kubernetes.io/function metadata.configFn config.kubernetes.io/container"},
		{"mounts and envs",
			fnHead + "runtime: {container: {image: x, mounts: [{type: bind, src: a, dst: /b, rw: true}], envs: [A=b, C]}}\n",
			"{container: {image: x, mounts: [{type: bind, src: a, dst: /b, rw: true}], envs: [A=b, C]}} runtime"},
		{"of a third party", fnHead + "runtime: {wasm: {path: ./fn.wasm, args: [-a]}}\n", "{wasm: {path: fn.wasm, args: [-a]}} runtime"},
		{"starlark, a string", fnHead + "runtime: {starlark: 'https://e.co/f'}\n", "{starlark: https://e.co/f} runtime"},
		{"starlark, a path", fnHead + "runtime: {starlark: {path: f.star}}\n", "{starlark: f.star} runtime"},
	}
	for _, tt := range tests {
		f, err := readInlineText(t, tt.text)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		got := "<nil>"
		if f != nil {
			got = flow(f.Value()) + " " + strings.Join(f.Places, " ")
		}
		if got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

// flow prints v on one line.
func flow(v yaml.Value) string {
	switch v.Type() {
	case yaml.Map:
		var parts []string
		for _, f := range v.Fields() {
			parts = append(parts, f.Key+": "+flow(f.Value))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case yaml.Seq:
		var parts []string
		for _, x := range v.Items() {
			parts = append(parts, flow(x))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return v.Text()
}

func TestReadInlineMistakes(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"unknown keys are errors", fnHead + "runtime:\n  starlrk: x\n", `fn.yaml:6: runtime.starlrk: unknown field "starlrk"`},
		{"in annotations, too", fnHead + "  annotations:\n    config.kubernetes.io/function: |\n      exec: {pth: x}\n",
			`fn.yaml:6: metadata.annotations."config.kubernetes.io/function".exec.pth: unknown field "pth"`},
		{"both container and exec", fnHead + "runtime: {container: {image: x}, exec: {path: y}}\n",
			"names more than one of container, exec and starlark"},
		{"two of third parties", fnHead + "runtime: {wasm: {path: x}, other: {path: y}}\n", `unknown field "other"`},
		{"exec and that of a third party", fnHead + "runtime: {exec: {path: x}, wasm: {path: y}}\n", "names more than one"},
		{"no name of a runtime", fnHead + "runtime: {Wasm: {path: x}}\n", `unknown field "Wasm"`},
		{"neither", fnHead + "runtime: {}\n", "must name a container or exec"},
		{"null is neither", fnHead + "runtime:\n", "must be a mapping, not null"},
		{"a key that occurs twice", fnHead +
			"  annotations:\n    config.kubernetes.io/function: |\n      exec: {path: a}\n      exec: {path: b}\n",
			"line 2 of its text: the key \"exec\" occurs twice"},
		{"metadata.provider has a hint that names provider", fnHead + "  provider: {exec: {path: a}}\n",
			"fn.yaml:5: metadata.provider: a function must not be named in metadata"},
		{"an image that is an option", fnHead + "runtime: {container: {image: '--privileged'}}\n", "is not valid"},
		{"an image with spaces", fnHead + "runtime: {container: {image: 'a b'}}\n", "is not valid"},
		{"an image in upper case", fnHead + "runtime: {container: {image: Foo}}\n", "is not valid"},
		{"an image with ..", fnHead + "runtime: {container: {image: 'a/../b'}}\n", "is not valid"},
		{"wrong type", fnHead + "runtime: {container: true}\n", "fn.yaml:5: runtime.container: must be a mapping, not a boolean"},
		{"network as text", fnHead + "runtime: {container: {image: x, network: 'true'}}\n", "must be true or false, not a string"},
		{"empty path", fnHead + "runtime: {exec: {path: ''}}\n", "runtime.exec.path: must not be empty"},
	}
	for _, tt := range tests {
		_, err := readInlineText(t, tt.text)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %s", tt.name, err, tt.want)
		}
	}
}

// TestReadInlineConflict checks that any two places that differ cause an error that names both.
func TestReadInlineConflict(t *testing.T) {
	places := []string{PlaceRuntime, PlaceProvider, PlaceAnnotation, PlaceAnnotation2, PlaceConfigFn, PlaceContainer}
	build := func(place string, n int) yaml.Value {
		spec := yaml.MapOf(yaml.Field{Key: "container",
			Value: yaml.MapOf(yaml.Field{Key: "image", Value: yaml.Str(fmt.Sprintf("a:%d", n))})})
		switch place {
		case PlaceRuntime, PlaceProvider:
			return yaml.MapOf(yaml.Field{Key: place, Value: spec})
		case PlaceConfigFn:
			return yaml.Value{}.WithAt(spec, "metadata", "configFn")
		case PlaceContainer:
			return yaml.Value{}.WithAt(yaml.Str(fmt.Sprintf("a:%d", n)), "metadata", "annotations", place)
		}
		return yaml.Value{}.WithAt(yaml.Str(string(yaml.AppendJSON(nil, spec))), "metadata", "annotations", place)
	}
	merge := func(a, b yaml.Value) yaml.Value {
		for _, f := range b.Fields() {
			if f.Key == "metadata" && a.Get("metadata").Exists() {
				for _, m := range f.Value.Fields() {
					if m.Key == "annotations" && a.At("metadata", "annotations").Exists() {
						an := m.Value.Fields()[0]
						a = a.WithAt(an.Value, "metadata", "annotations", an.Key)
						continue
					}
					a = a.WithAt(m.Value, "metadata", m.Key)
				}
				continue
			}
			a = a.With(f.Key, f.Value)
		}
		return a
	}
	for _, p := range places {
		for _, q := range places {
			if p == q {
				continue
			}
			if f, err := ReadInline(merge(build(p, 1), build(q, 1)), nil); err != nil || len(f.Places) != 2 {
				t.Errorf("%s and %s agree: %v", p, q, err)
			}
			_, err := ReadInline(merge(build(p, 1), build(q, 2)), nil)
			conflict := (*InlineConflict)(nil)
			if !errors.As(err, &conflict) {
				t.Errorf("%s and %s differ: got %v", p, q, err)
				continue
			}
			if !strings.Contains(err.Error(), p) || !strings.Contains(err.Error(), q) {
				t.Errorf("%s and %s: the message does not name both: %v", p, q, err)
			}
		}
	}
}

func TestFunctionConfigText(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"nothing to cut", fnHead + "a: 1 # one\n", fnHead + "a: 1 # one\n"},
		{"comments and style stay", "# head\n" + fnHead + "runtime:\n  # about it\n  exec:\n    path: 'x'\n\n# about b\nb:   'q'   # end\n",
			"# head\n" + fnHead + "# about b\nb:   'q'   # end\n"},
		{"both fields, the last at the end", fnHead + "provider: {exec: {path: x}}\nb: 0x10\nruntime:\n  exec: {path: x}\n",
			fnHead + "b: 0x10\n"},
		{"a nested runtime stays", fnHead + "spec:\n  runtime: java\n", fnHead + "spec:\n  runtime: java\n"},
		{"flow style over several lines", fnHead + "runtime: {exec: {\n  path: x\n}}\nb: 1\n", fnHead + "b: 1\n"},
		{"JSON is written anew", `{"apiVersion":"v1","kind":"Fn","metadata":{"name":"x"},"runtime":{"exec":{"path":"x"}},"b":"1"}`,
			"apiVersion: v1\nb: \"1\"\nkind: Fn\nmetadata:\n  name: x\n"},
		{"an anchor in the field that is used elsewhere", fnHead + "runtime:\n  exec: {path: &p x}\nb: *p\n",
			"apiVersion: example.com/v1\nb: x\nkind: Fn\nmetadata:\n  name: x\n"},
	}
	for _, tt := range tests {
		src := &yaml.Source{File: "f.yaml", Data: []byte(tt.in)}
		if _, err := src.Documents(); err != nil {
			t.Fatal(tt.name, err)
		}
		if got := string(ConfigText(src, 0)); got != tt.want {
			t.Errorf("%s:\n got %q\nwant %q", tt.name, got, tt.want)
		}
	}
	src := &yaml.Source{Data: []byte(fnHead + "---\n" + fnHead + "runtime: {exec: {path: y}}\nb: 1\n")}
	if _, err := src.Documents(); err != nil {
		t.Fatal(err)
	}
	if got := string(ConfigText(src, 1)); got != fnHead+"b: 1\n" {
		t.Errorf("second document: %q", got)
	}
	if ConfigText(src, 2) != nil {
		t.Error("there is no third document")
	}
}

func TestStrictRefusesAmbiguousYAML(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"one document", "a: 1\n", ""},
		{"empty documents around it", "---\n# c\n---\na: 1\n---\n", ""},
		{"no document", "# only a comment\n", ""},
		{"JSON", `{"a": [1, "x"]}`, ""},
		{"YAML's own tags", "a: !!str 1\n", ""},
		{"anchors", "a: &x {b: 1}\nc: *x\n", ""},
		{"duplicate key", "a: 1\nb: 2\na: 3\n", `f:3: the key "a" occurs twice`},
		{"duplicate key in JSON", `{"a": 1, "a": 2}`, `the key "a" occurs twice`},
		{"duplicate key, quoted", "a: 1\n\"a\": 3\n", `the key "a" occurs twice`},
		{"two documents", "a: 1\n---\nb: 1\n", "f:3: the file has a second document"},
		{"two documents, the separator at the end", "a: 1\n--- b", "f:2: the file has a second document"},
		{"two documents, an end marker", "a: 1\n...\nb: 1\n", "f:3: found more text after the end of the document"},
		{"a foreign tag", "a: !foo 1\n", "f:1: the tag !foo is not allowed"},
		{"a Python tag", "a: !!python/object:x {}\n", "is not allowed"},
		{"!!binary", "a: !!binary aGk=\n", "the tag !!binary is not allowed"},
		{"a foreign tag in an anchor", "a: &x !foo {b: 1}\n", "is not allowed"},
	}
	for _, tt := range tests {
		_, err := (&yaml.Source{File: "f", Data: []byte(tt.text)}).Strict()
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: got %v, want %s", tt.name, err, tt.want)
		}
	}
}

func TestParseImage(t *testing.T) {
	const hex = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	good := map[string]string{
		"x":                         "docker.io/library/x:latest",
		"x:v1":                      "docker.io/library/x:v1",
		"docker.io/library/x:v1":    "docker.io/library/x:v1",
		"index.docker.io/x":         "docker.io/library/x:latest",
		"a/b":                       "docker.io/a/b:latest",
		"gcr.io/a/b-c_d.e:V1.2-x":   "gcr.io/a/b-c_d.e:V1.2-x",
		"localhost/fn:v1":           "localhost/fn:v1",
		"h:5000/a__b":               "h:5000/a__b:latest",
		"x@sha256:" + hex:           "docker.io/library/x@sha256:" + hex,
		"r.io/x:v1@sha256:" + hex:   "r.io/x:v1@sha256:" + hex,
		"127.0.0.1:5000/fn/a--b:v1": "127.0.0.1:5000/fn/a--b:v1",
	}
	for text, want := range good {
		if m, err := ParseImage(text); err != nil || m.String() != want {
			t.Errorf("%s: got %s, %v", text, m, err)
		}
	}
	for _, text := range []string{"", "-x", "--privileged", "a b", "A/b", "a//b", "a/../b", "a/.", "x:", "x:-a", "x@sha256:" + hex[1:],
		"x@md5:" + hex, "x@sha256:" + strings.ToUpper(hex), "x@", "h:port/x", "a___b", "a..b", "x\n", "x y:z", "$x", "x;y", "/x", "x/",
		"r.io/-x", "-r.io/x", "a/b:c:d", "x@sha256:" + hex + "@sha256:" + hex, strings.Repeat("a", 300)} {
		if m, err := ParseImage(text); err == nil {
			t.Errorf("%q is accepted as %s", text, m)
		}
	}
	for text, want := range map[string]string{"TOKEN@h.io/x:v1": `"xxxxx@h.io/x:v1"`, "u:TOKEN@h.io/x": `"u:xxxxx@h.io/x"`,
		"nginx@sha256:abc": `"nginx@sha256:abc"`} {
		if _, err := ParseImage(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
