package helm

import (
	"testing"

	"github.com/krmflow/krmflow/krm/chart"
)

// TestNotReused checks that notReused names the part of a chart that prevents its reuse, and
// ignores words that are not function calls.
func TestNotReused(t *testing.T) {
	file := func(name, text string) *chart.Chart {
		return &chart.Chart{Files: []chart.File{{Name: "Chart.yaml", Data: []byte("name: x")}, {Name: name, Data: []byte(text)}}}
	}
	named := func(name, template string) *Generator {
		return &Generator{Chart: Chart{ReleaseName: name, NameTemplate: template}}
	}
	for _, tt := range []struct {
		g    *Generator
		c    *chart.Chart
		want string
	}{
		{named("r", ""), file("templates/a.yaml", "a: {{ .Values.now }} now {{ $now }} {{ .Release.Name | upper }}\n# {{/* nowhere */}}"),
			""},
		{named("r", ""), file("templates/a.yaml", "a: {{ now | unixEpoch }}"), "template uses now"},
		{named("r", ""), file("templates/_x.tpl", "{{- $ca := genCA \"x\" 1 -}}"), "template uses genCA"},
		{named("r", ""), file("templates/a.yaml", `a: {{ tpl "{{ randAlphaNum 4 }}" . }}`), "template uses randAlphaNum"},
		{named("r", ""), file("templates/a.yaml", "a: {{if not\n(lookup \"v1\" \"Secret\" \"\" \"x\")}}"), "template uses lookup"},
		{named("r", ""), file("templates/a.yaml", "a: {{ uuidv4"), "template uses uuidv4"},
		{named("r", ""), &chart.Chart{Values: []chart.File{{Name: "values.yaml", Data: []byte("p: '{{ randAlpha 8 }}'")}}},
			"template uses randAlpha"},
		{named("r", ""), file("charts/sub/templates/a.yaml", "{{shuffle .}}"), "template uses shuffle"},
		{named("r", ""), file("charts/sub-1.0.0.tgz", "\x1f\x8b"), "packed chart in it"},
		{named("", ""), file("a", ""), "no releaseName"},
		{named("", "x-{{ randAlpha 3 }}"), file("a", ""), "nameTemplate uses randAlpha"},
		{named("", "fixed"), file("a", ""), ""},
	} {
		if got := tt.g.notReused(tt.c); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.c, got, tt.want)
		}
	}
}
