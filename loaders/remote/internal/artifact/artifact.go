// Package artifact decodes and encodes the manifests of artifacts in OCI registries.
package artifact

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/krmflow/krmflow/krm"
)

// Media types of manifests and of the empty configuration.
const (
	ManifestType = "application/vnd.oci.image.manifest.v1+json"
	EmptyType    = "application/vnd.oci.empty.v1+json"
)

// Accepted are the accepted media types of manifests and indexes, for the header Accept.
const Accepted = ManifestType + ", application/vnd.docker.distribution.manifest.v2+json, " +
	"application/vnd.oci.image.index.v1+json, application/vnd.docker.distribution.manifest.list.v2+json"

// A Descriptor refers to content in a manifest.
type Descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int64             `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// titleAnnotation is the annotation with the file name of a layer.
const titleAnnotation = "org.opencontainers.image.title"

// Describe returns the descriptor of content. name is its file name, "" for none.
func Describe(mediaType, name string, data []byte) Descriptor {
	d := Descriptor{MediaType: mediaType, Digest: krm.DigestOf(data).String(), Size: int64(len(data))}
	if name != "" {
		d.Annotations = map[string]string{titleAnnotation: name}
	}
	return d
}

// Sum returns the digest of the content. Only sha256 is supported.
func (d Descriptor) Sum() (krm.Digest, error) {
	sum, err := krm.ParseDigest(d.Digest)
	if err != nil {
		return sum, fmt.Errorf("the registry uses the digest %q, but only sha256 is supported", d.Digest)
	}
	return sum, nil
}

// Title returns the file name of a layer, "" if it has none.
func (d Descriptor) Title() string { return d.Annotations[titleAnnotation] }

// IsTar reports whether a layer is an archive.
func (d Descriptor) IsTar() bool {
	for _, suffix := range []string{".tar", "+tar", "tar+gzip", ".tar.gzip"} {
		if strings.HasSuffix(d.MediaType, suffix) {
			return true
		}
	}
	return false
}

// A Manifest lists the layers of an artifact.
type Manifest struct {
	Layers    []Descriptor      `json:"layers"`
	Manifests []json.RawMessage `json:"manifests"` // entries of an image index
}

// Parse decodes the manifest of an artifact with at least one layer.
func Parse(data []byte) (m Manifest, err error) {
	if err := json.Unmarshal(data, &m); err != nil {
		return m, fmt.Errorf("cannot read the manifest: %w", err)
	}
	if len(m.Manifests) > 0 {
		return m, errors.New("it is an index of several artifacts: name one by its digest")
	}
	if len(m.Layers) == 0 {
		return m, errors.New("the artifact has no layers")
	}
	return m, nil
}

// Text returns the JSON text of the manifest of a new artifact. It is deterministic. kind is the
// type of the artifact; it may be empty. Each of several layers must have a file name.
func Text(kind string, config Descriptor, layers []Descriptor, annotations map[string]string) ([]byte, error) {
	if len(layers) == 0 {
		return nil, errors.New("an artifact must have a layer")
	}
	for _, layer := range layers {
		if layer.Title() == "" && len(layers) > 1 {
			return nil, errors.New("each layer of an artifact with several layers must have a name")
		}
	}
	return json.Marshal(struct {
		SchemaVersion int               `json:"schemaVersion"`
		MediaType     string            `json:"mediaType"`
		ArtifactType  string            `json:"artifactType,omitempty"`
		Config        Descriptor        `json:"config"`
		Layers        []Descriptor      `json:"layers"`
		Annotations   map[string]string `json:"annotations,omitempty"`
	}{2, ManifestType, kind, config, layers, annotations})
}
