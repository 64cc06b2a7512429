package container

import (
	"testing"

	"github.com/krmflow/krmflow/krm/function"
)

// FuzzParseReference checks that an image which was decided about is the one that is asked for.
func FuzzParseReference(f *testing.F) {
	for _, text := range []string{"x", "x:v1", "docker.io/x", "index.docker.io/x", "localhost/x", "localhost:5000/a/b__c:T-1", "a.b:1/c",
		"r.io/x@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "--privileged", "a:b/c", "r.io:99999/x"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := parseReference(text)
		m, err2 := function.ParseImage(text)
		if err != nil || err2 != nil {
			return
		}
		tag := r.tag
		if tag == "" && r.digest.IsZero() {
			tag = "latest"
		}
		pulled, err := function.ParseImage(r.pullName())
		if m.Tag != tag || m.Digest != r.digest || err != nil || !pulled.SameRepository(m) {
			t.Errorf("%q is %+v and pulled as %s, tag %s, %s", text, m, r.pullName(), r.tag, r.digest)
		}
	})
}
