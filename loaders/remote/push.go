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
	// Type is the type of the artifact. It may be empty if ConfigType is set.
	Type string
	// Config is the configuration and ConfigType its media type. The default is the empty
	// configuration.
	ConfigType string
	Config     []byte
	// Annotations are the annotations of the manifest. They may be nil.
	Annotations map[string]string
	Layers      []Layer
}

// Push stores layers in a registry, as [Session.PushArtifact] does for an Artifact of this type.
func (s *Session) Push(ctx context.Context, r reference.Reference, artifactType string, layers []Layer) (v reference.Version, err error) {
	return s.PushArtifact(ctx, r, Artifact{Type: artifactType, Layers: layers})
}

// PushArtifact stores an artifact in a registry under the tag of r and returns its version.
// Existing blobs are not uploaded again. The manifest is deterministic, so equal artifacts have
// equal versions. PushArtifact uses the user's credentials.
func (s *Session) PushArtifact(ctx context.Context, r reference.Reference, a Artifact) (v reference.Version, err error) {
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
			if err := reg.upload(ctx, a.config().Data); err != nil {
				return err
			}
			for _, layer := range a.Layers {
				if err := reg.upload(ctx, layer.Data); err != nil {
					return err
				}
			}
			resp, err := reg.send(ctx, http.MethodPut, reg.url("manifests/"+r.Ref), artifact.ManifestType, text)
			if err != nil {
				return err
			}
			return resp.Body.Close()
		})
	})
	return versionOf(text), err
}

// Version returns the version that the artifact has in a registry.
func (a *Artifact) Version() (v reference.Version, err error) {
	text, err := a.manifest()
	if err != nil {
		return v, err
	}
	return versionOf(text), nil
}

// versionOf returns the version of the artifact with a manifest.
func versionOf(manifest []byte) reference.Version {
	return reference.Version{Scheme: reference.OCI, Digest: krm.DigestOf(manifest)}
}

// config returns the configuration of the artifact.
func (a *Artifact) config() Layer {
	if a.ConfigType == "" {
		return Layer{MediaType: artifact.EmptyType, Data: []byte("{}")}
	}
	return Layer{MediaType: a.ConfigType, Data: a.Config}
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
	resp, err = reg.send(ctx, http.MethodPut, at.String(), "application/octet-stream", data)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}
