package container

import (
	"strings"

	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
)

// A reference is an image reference as written. The written name matters, because an engine may
// know a local image only by that name.
type reference struct {
	name   string // without tag and digest
	tag    string
	digest krm.Digest
	image  function.Image
}

func (r reference) String() string {
	if r.tag == "" {
		return r.name
	}
	return r.name + ":" + r.tag
}

// pullName returns the name with its registry, Docker Hub by default. With a short name podman
// would ask or search several registries.
func (r reference) pullName() string { return r.image.Registry + "/" + r.image.Repository }

// local reports whether the image exists only on this machine.
func (r reference) local() bool { return r.image.Registry == "localhost" }

// parseReference parses a reference with [function.ParseImage], like the decision about it. This
// also ensures that an engine cannot interpret s as an option or as anything other than an image
// of a registry.
func parseReference(s string) (reference, error) {
	m, err := function.ParseImage(s)
	if err != nil {
		return reference{}, err
	}
	name, _, _ := strings.Cut(s, "@")
	r := reference{name: name, digest: m.Digest, image: m}
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
		r.name, r.tag = name[:i], name[i+1:]
	}
	return r, nil
}
