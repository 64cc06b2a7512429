package reference

import (
	"strings"
	"testing"

	"github.com/krmflow/krmflow/krm/yaml"
)

func TestParseChart(t *testing.T) {
	for text, want := range map[string]string{
		"https://charts.example.com//web?version=1.2.3":    "https://charts.example.com//web?version=1.2.3",
		"https://me:pw@charts.example.com/x//web?version=": "https://me:xxxxx@charts.example.com/x//web",
		"oci://r.example.com/charts//web?version=%3E1":     "oci://r.example.com/charts//web?version=%3E1",
	} {
		if r, err := Parse(text, Chart); err != nil || r.String() != want || r.Scheme != Helm || r.Path != "web" {
			t.Errorf("%s is %s, %v", text, r, err)
		}
	}
	for _, text := range []string{"", "web", "charts//web", "https:////web", "file:///x//web", "ssh://h/x//web", "https://h/x//../web", "https://h/x//", "https://h/a b//web", "https://h/?q//web"} {
		if r, err := Parse(text, Chart); err == nil {
			t.Errorf("%q is %s", text, r)
		}
	}
}

func TestInIndex(t *testing.T) {
	const index = `
entries:
  web:
  - {version: 1.0.0, urls: [web-1.0.0.tgz], digest: "` + "1111111111111111111111111111111111111111111111111111111111111111" + `"}
  - {version: 1.1.0, urls: ["https://cdn.example.com/web.tgz#frag"], digest: "sha256:` + "2222222222222222222222222222222222222222222222222222222222222222" + `"}
  - {version: 1.2.0-rc1, urls: [x.tgz]}
  bad: [{version: 1.0.0, urls: [x.tgz], digest: abc}]
  nowhere: [{version: 1.0.0}]
  file: [{version: 1.0.0, urls: ["file:///etc/passwd"]}]
`
	v, err := (&yaml.Source{File: "index.yaml", Data: []byte(index)}).Value()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, version, want string }{
		{"web", "1.0.0", "https://h/x/web-1.0.0.tgz#sha256=1111111111111111111111111111111111111111111111111111111111111111"},
		{"web", "", "https://cdn.example.com/web.tgz#sha256=2222222222222222222222222222222222222222222222222222222222222222"},
		{"web", AnyVersion, "https://h/x/x.tgz"},
		{"web", "3", `the repository has no version "3" of the chart`},
		{"none", "", `the repository has no chart "none"`},
		{"bad", "", "as its digest, which is not valid"},
		{"nowhere", "", "lists no URL for this version"},
		{"file", "", "as its URL, which is not valid"},
	} {
		r, err := Reference{Scheme: Helm, Location: "https://h/x", Path: c.name, Ref: c.version}.InIndex(v)
		got := r.String()
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s %s: %s", c.name, c.version, got)
		}
	}
}
