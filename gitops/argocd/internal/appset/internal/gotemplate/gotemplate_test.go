package gotemplate

import (
	"strings"
	"testing"
)

func TestFunctions(t *testing.T) {
	values := map[string]any{"s": "Hello World_x.y", "l": []any{"b", "a", "b"},
		"m": map[string]any{"k": map[string]any{"n": 1.0}}, "n": 3.0}
	r := Renderer{Golang: true}
	for text, want := range map[string]string{
		`{{ normalize .s }}`:                                   "hello-world-x.y",
		`{{ slugify .s }}`:                                     "hello-world-x-y",
		`{{ slugify 8 .s }}`:                                   "hello",
		`{{ slugify 8 false .s }}`:                             "hello-wo",
		`{{ .m | toYaml }}`:                                    "k:\n  \"n\": 1",
		`{{ (fromYaml "a: [1, yes]").a }}`:                     "[1 true]",
		`{{ index (fromYamlArray "[x]") 0 }}`:                  "x",
		`{{ default "d" .none }}{{ .n }}`:                      "d3",
		`{{ .l | uniq | sortAlpha | join "-" }}`:               "a-b",
		`{{ dig "k" "n" "z" .m }}`:                             "1",
		`{{ dig "k" "q" "z" .m }}`:                             "z",
		`{{ trunc -3 .s }}{{ trunc 2 .s }}`:                    "x.yHe",
		`{{ ternary "a" "b" (hasKey .m "k") }}`:                "a",
		`{{ regexReplaceAll "o(.)" .s "<$1>" }}`:               "Hell< >W<r>ld_x.y",
		`{{ splitList "," "a,b" | last }}`:                     "b",
		`{{ (split "," "a,b")._1 }}`:                           "b",
		`{{ add 1 .n "4" }} {{ div 7 2 }}`:                     "8 3",
		`{{ list 1 "" nil | compact | toJson }}`:               "[1]",
		`{{ merge (dict "a" 1) (dict "a" 2 "b" 3) | toJson }}`: `{"a":1,"b":3}`,
		`{{ b64enc "x" | b64dec | quote }}`:                    `"x"`,
		`{{ nindent 2 "a\nb" }}`:                               "\n  a\n  b",
	} {
		if got, _, err := r.Text(text, values); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		`{{ now }}`:        "the function now of sprig is not supported",
		`{{ env "HOME" }}`: `function "env" not defined`,
		`{{ .a`:            "unclosed action",
	} {
		if _, _, err := r.Text(text, values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
