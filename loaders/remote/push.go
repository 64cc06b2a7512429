package remote

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/loaders/remote/internal/artifact"
	"github.com/krmflow/krmflow/reference"
)

// A Layer is a file in an artifact to push.
type Layer struct {
	MediaType string
	// Name is the file name. It may be empty if the artifact has only one layer.
	Name string
	Data []byte
}

// An Artifact is content to push to a registry: layers and their description.
type Artifact struct {
	// Type is the type of the artifact. It may be empty if the artifact has a configuration.
	Type string
	// Config is the configuration. Without a media type, it is the empty configuration.
	Config Layer
	// Annotations are the annotations of the manifest. They may be nil.
	Annotations map[string]string
	Layers      []Layer
}

// Push stores an artifact in a registry under the tag of r and returns its version. Existing blobs
// are not uploaded again. The manifest is deterministic, so equal artifacts have equal versions.
// Push uses the user's credentials.
func (s *Session) Push(ctx context.Context, r reference.Reference, a Artifact) (v reference.Version, err error) {
	if r.Scheme != reference.OCI || r.Ref == "" || !r.Pin.IsZero() || r.Path != "" {
		return v, refused(r, "artifacts can be pushed only to oci://registry/repository:tag")
	}
	if s.opt.Offline {
		return v, refused(r, "cannot push offline")
	}
	text, err := a.manifest()
	if err != nil {
		return v, err
	}
	err = s.bounded(ctx, r, Sending, func(ctx context.Context) error {
		return s.registry(r, FromUser, func(reg *registry) error {
			reg.push = true
			reg.http.CheckRedirect = checkRedirect(false)
			for _, blob := range append([]Layer{a.config()}, a.Layers...) {
				if err := reg.upload(ctx, blob.Data); err != nil {
					return err
				}
			}
			return reg.put(ctx, reg.url("manifests/"+r.Ref), artifact.ManifestType, text)
		})
	})
	return reference.Version{Scheme: reference.OCI, Digest: krm.DigestOf(text)}, err
}

// Digest returns the digest of the manifest, which is the version of the artifact in a registry.
func (a *Artifact) Digest() (krm.Digest, error) {
	text, err := a.manifest()
	return krm.DigestOf(text), err
}

// config returns the configuration, which is empty by default.
func (a *Artifact) config() Layer {
	if a.Config.MediaType == "" {
		return Layer{MediaType: artifact.EmptyType, Data: []byte("{}")}
	}
	return a.Config
}

// manifest returns the JSON text of the manifest.
func (a *Artifact) manifest() ([]byte, error) {
	var layers []artifact.Descriptor
	for _, layer := range a.Layers {
		layers = append(layers, artifact.Describe(layer.MediaType, layer.Name, layer.Data))
	}
	config := a.config()
	return artifact.Text(a.Type, artifact.Describe(config.MediaType, "", config.Data), layers, a.Annotations)
}

// upload uploads a blob unless the registry already has it.
func (reg *registry) upload(ctx context.Context, data []byte) error {
	d := krm.DigestOf(data)
	var status *statusError
	resp, err := reg.do(ctx, http.MethodHead, "blobs/"+d.String())
	if err == nil {
		return resp.Body.Close()
	}
	if !errors.As(err, &status) || status.code != http.StatusNotFound {
		return err
	}
	if resp, err = reg.send(ctx, http.MethodPost, reg.url("blobs/uploads/"), "", nil); err != nil {
		return err
	}
	io.Copy(io.Discard, io.LimitReader(resp.Body, 4<<10))
	resp.Body.Close()
	at, err := resp.Request.URL.Parse(resp.Header.Get("Location"))
	if err != nil || at.Host != resp.Request.URL.Host || at.Scheme != resp.Request.URL.Scheme {
		return errors.New("the registry redirects uploads to a different host")
	}
	query := at.Query()
	query.Set("digest", d.String())
	at.RawQuery = query.Encode()
	return reg.put(ctx, at.String(), "application/octet-stream", data)
}

// put sends content to an address.
func (reg *registry) put(ctx context.Context, address, mediaType string, data []byte) error {
	resp, err := reg.send(ctx, http.MethodPut, address, mediaType, data)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}
