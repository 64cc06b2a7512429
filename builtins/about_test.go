package builtins

import (
	"testing"

	"github.com/krmflow/krmflow/krm/yaml"
)

// TestImageIsMissed checks that an entry of images misses an image with a similar name, regardless
// of the image's tag or digest.
func TestImageIsMissed(t *testing.T) {
	for _, c := range []struct {
		entry, image string
		want         bool
	}{
		{"nginx", "docker.io/nginx:1", true},
		{"library/nginx", "nginx", true},
		{"host:5/a/nginx", "nginx@sha256:ab", true},
		{"ngnix", "nginx:1", true},
		{"nginx", "nginx:1", false},
		{"nginx", "nginx:1@sha256:ab", false},
		{"host:5/nginx", "host:5/nginx", false},
		{"nginx", "busybox:1", false},
		{"nginx", "", false},
	} {
		images := &ImageTagTransformer{ImageTag: Image{Name: c.entry}}
		s, sets := images.Sets(FieldQuery{Path: "spec.containers[].image", Value: yaml.Str(c.image)})
		if !sets || s.Missed != c.want {
			t.Errorf("%q sets %t and misses %t %q", c.entry, sets, s.Missed, c.image)
		}
	}
}
