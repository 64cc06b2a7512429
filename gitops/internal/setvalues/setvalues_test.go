package setvalues

import (
	"strings"
	"testing"

	"github.com/krmflow/krmflow/krm/yaml"
)

func TestSetValues(t *testing.T) {
	for arg, want := range map[string]string{
		`a=1`:                `{"a":1}`,
		`a=01`:               `{"a":"01"}`,
		`a.b=true,c=null`:    `{"a":{"b":true},"c":null}`,
		`a\.b=x\,y`:          `{"a.b":"x,y"}`,
		`a={x,2}`:            `{"a":["x",2]}`,
		`a={}`:               `{"a":[""]}`,
		`a[1].b=x`:           `{"a":[null,{"b":"x"}]}`,
		`a[0][1]=x,a[0][0]=`: `{"a":[["","x"]]}`,
		`a=`:                 `{"a":""}`,
		`a`:                  `key "a" has no value`,
		`a={x`:               `list must terminate with '}'`,
		`a[x]=1`:             `error parsing index "x"`,
		`a[-1]=1`:            `negative -1 index not allowed`,
		`a=1,a.b=2`:          `key "b": not a mapping but an integer`,
	} {
		list, err := Parse(arg, Typed)
		v := yaml.MapOf()
		for _, a := range list {
			if err == nil {
				v, err = a.Set(v)
			}
		}
		got := string(yaml.AppendJSON(nil, v))
		if err != nil {
			got = err.Error()
		}
		if strings.Join(strings.Fields(got), "") != strings.Join(strings.Fields(want), "") {
			t.Errorf("%s: %s, want %s", arg, got, want)
		}
	}
}
