package container

import (
	"strings"

	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
)

// A reference names an image as it is written: an engine may know it by that name alone.
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

// pullName returns the name with its registry, which is Docker's if there is none: podman would ask or search.
func (r reference) pullName() string { return r.image.Registry + "/" + r.image.Repository }

// local reports whether the image exists on this machine alone.
func (r reference) local() bool { return r.image.Registry == "localhost" }

// parseReference reads a reference as [function.ParseImage] does, which decided about it, before an engine could take it for an option
// or for something that is no image of a registry.
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
