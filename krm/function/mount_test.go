package function

import (
	"strings"
	"testing"
)

func TestParseMount(t *testing.T) {
	for text, want := range map[string]Mount{
		"type=bind,src=a,dst=/a":                       {Type: "bind", Source: "a", Dest: "/a"},
		"source=/a,target=/b,rw=true":                  {Type: "bind", Source: "/a", Dest: "/b", Writable: true},
		"type=volume,src=data,destination=/a,rw=false": {Type: "volume", Source: "data", Dest: "/a"},
		"type=tmpfs,dst=/tmp":                          {Type: "tmpfs", Dest: "/tmp"},
	} {
		if got, err := ParseMount(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"src=/a":                  "src and dst are required",
		"dst=/a":                  "src and dst are required",
		"src=/a,dst=/b,rw=yes":    `rw must be true or false, not "yes"`,
		"src=/a,dst=/b,readonly":  `unknown part "readonly"`,
		"type=disk,src=/a,dst=/b": `unknown mount type "disk"`,
	} {
		if _, err := ParseMount(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
