package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/reference"
)

// maxManifest bounds a manifest, in bytes.
const maxManifest = 4 << 20

// A descriptor names content in a manifest.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int64             `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// digest returns what the content must have.
func (d descriptor) digest() (krm.Digest, error) {
	sum, err := krm.ParseDigest(d.Digest)
	if err != nil {
		return sum, fmt.Errorf("the registry names content by %q, and krmflow takes sha256 alone", d.Digest)
	}
	return sum, nil
}

// A manifest lists what an artifact consists of.
type manifest struct {
	Layers    []descriptor      `json:"layers"`
	Manifests []json.RawMessage `json:"manifests"` // of an index
}

// titleAnnotation is the name of a file that a layer is.
const titleAnnotation = "org.opencontainers.image.title"

// resolveOCI asks a registry which manifest a tag is on.
func (s *Session) resolveOCI(ctx context.Context, r reference.Reference, from Origin) (v reference.Version, err error) {
	err = s.registry(r, from, func(reg *registry) error {
		v.Scheme = reference.OCI
		v.Digest, err = reg.resolve(ctx, r.Ref)
		return err
	})
	return v, err
}

// openOCI returns what is in an artifact: the file that is its only layer, or the tree of its files.
func (s *Session) openOCI(ctx context.Context, r reference.Reference, v reference.Version, from Origin) (*Content, error) {
	if c, err := s.storedArtifact(v.Digest); err == nil {
		return s.restorable(ctx, c, r, v, from), nil
	}
	if err := s.fetchOCI(ctx, r, v, from); err != nil {
		return nil, err
	}
	c, err := s.storedArtifact(v.Digest)
	if err != nil {
		return nil, wrap(r, err)
	}
	return s.restorable(ctx, c, r, v, from), nil
}

func (s *Session) restorable(ctx context.Context, c *Content, r reference.Reference, v reference.Version, from Origin) *Content {
	ctx = context.WithoutCancel(ctx) // the tree is read when those who opened it have ended
	if c.Version = v; c.Tree != nil {
		c.Tree.Restore = func() error {
			if _, err := s.unpacked(v.Digest); err == nil {
				return nil
			}
			if err := s.fetchOCI(ctx, r, v, from); err != nil {
				return err
			}
			_, err := s.unpacked(v.Digest)
			return err
		}
	}
	return c
}

// fetchOCI puts the manifest and the layers of an artifact into the cache, as far as they are not there.
func (s *Session) fetchOCI(ctx context.Context, r reference.Reference, v reference.Version, from Origin) error {
	if s.opt.Offline {
		return &OfflineError{Reference: r.At(v).String()}
	}
	return s.fetch(ctx, r, func(ctx context.Context) error {
		return s.registry(r, from, func(reg *registry) error {
			data, err := s.opt.Cache.Get(v.Digest)
			if err != nil {
				if data, err = reg.manifest(ctx, v.Digest); err != nil {
					return err
				}
			}
			m, err := parseManifest(data)
			if err != nil {
				return err
			}
			if err := s.checkSize(m); err != nil {
				return err
			}
			for _, layer := range m.Layers {
				if err := s.fetchLayer(ctx, reg, layer); err != nil {
					return err
				}
			}
			_, err = s.opt.Cache.Put(data) // last: what it names is there
			return err
		})
	})
}

// maxLayers is how many layers an artifact may have.
const maxLayers = 1000

// checkSize refuses an artifact with more layers or bytes than one fetch may bring.
func (s *Session) checkSize(m manifest) error {
	if len(m.Layers) > maxLayers {
		return diag.Limitf("the artifact has more than %s", diag.Count(maxLayers, "layer"))
	}
	left := s.opt.MaxBytes
	for _, layer := range m.Layers {
		if layer.Size < 0 || layer.Size > left {
			return tooLong(s.opt.MaxBytes)
		}
		left -= layer.Size
	}
	return nil
}

func (s *Session) fetchLayer(ctx context.Context, reg *registry, layer descriptor) error {
	d, err := layer.digest()
	if err != nil {
		return err
	}
	if _, err := s.opt.Cache.Get(d); err == nil {
		return nil
	}
	body, err := reg.blob(ctx, d)
	if err != nil {
		return err
	}
	defer body.Close()
	w, err := s.opt.Cache.Create()
	if err != nil {
		return err
	}
	defer w.Discard()
	n, err := io.Copy(w, io.LimitReader(body, layer.Size+1))
	switch {
	case err != nil:
		return err
	case n < layer.Size:
		return io.ErrUnexpectedEOF
	case w.Digest() != d:
		return &digestError{want: d, got: w.Digest()}
	}
	_, err = w.Commit()
	return err
}

// A digestError says that a registry sends other content than it names.
type digestError struct{ want, got krm.Digest }

func (e *digestError) Unwrap() error { return ErrVerification }

func (e *digestError) Error() string { return fmt.Sprintf("it must be %s, and is %s", e.want, e.got) }

// parseManifest reads the manifest of an artifact.
func parseManifest(data []byte) (m manifest, err error) {
	if err := json.Unmarshal(data, &m); err != nil {
		return m, fmt.Errorf("the manifest cannot be read: %w", err)
	}
	if len(m.Manifests) > 0 {
		return m, errors.New("it is an index of several artifacts: name one of them by its digest")
	}
	if len(m.Layers) == 0 {
		return m, errors.New("the artifact has no layers")
	}
	return m, nil
}

// storedArtifact returns the content of an artifact that is in the cache. The error is one of fs.ErrNotExist if it is not.
func (s *Session) storedArtifact(d krm.Digest) (*Content, error) {
	data, err := s.opt.Cache.Get(d)
	if err != nil {
		return nil, err
	}
	m, err := parseManifest(data)
	if err != nil {
		return nil, err
	}
	if layer := m.Layers[0]; len(m.Layers) == 1 && !isTar(layer.MediaType) {
		d, err := layer.digest()
		if err != nil {
			return nil, err
		}
		data, err := s.opt.Cache.Get(d)
		return &Content{data: data, MediaType: layer.MediaType}, err
	}
	tree, err := s.tree("oci", d.String())
	if err != nil {
		tree, err = s.unpacked(d)
	}
	return &Content{Tree: tree}, err
}

// isTar reports whether a layer is an archive.
func isTar(mediaType string) bool {
	for _, suffix := range []string{".tar", "+tar", "tar+gzip", ".tar.gzip"} {
		if strings.HasSuffix(mediaType, suffix) {
			return true
		}
	}
	return false
}

// unpacked makes a tree of an artifact in the cache: of the archive that is its only layer, or of the files that its layers are.
func (s *Session) unpacked(d krm.Digest) (*cache.Tree, error) {
	data, err := s.opt.Cache.Get(d)
	if err != nil {
		return nil, err
	}
	m, err := parseManifest(data)
	if err != nil {
		return nil, err
	}
	var tree *cache.Tree
	if len(m.Layers) == 1 {
		if data, err = s.layer(m.Layers[0]); err == nil {
			tree, err = s.Unpack(data)
		}
	} else {
		tree, err = s.files(m.Layers)
	}
	if err != nil {
		return nil, err
	}
	return tree, s.opt.Cache.Record("oci", d.String(), tree.Digest)
}

func (s *Session) layer(desc descriptor) ([]byte, error) {
	d, err := desc.digest()
	if err != nil {
		return nil, err
	}
	return s.opt.Cache.Get(d)
}

// files makes a tree of layers that are files with names.
func (s *Session) files(layers []descriptor) (*cache.Tree, error) {
	w, err := s.opt.Cache.NewTree(s.opt.MaxTree)
	if err != nil {
		return nil, err
	}
	defer w.Discard()
	for _, layer := range layers {
		name := layer.Annotations[titleAnnotation]
		if name == "" || isTar(layer.MediaType) {
			return nil, fmt.Errorf("the artifact has %d layers, and one with the media type %q is no file with a name", len(layers), layer.MediaType)
		}
		data, err := s.layer(layer)
		if err != nil {
			return nil, err
		}
		if err := w.File(name, false, int64(len(data)), strings.NewReader(string(data))); err != nil {
			return nil, err
		}
	}
	return w.Commit()
}

// The media types of layers that are written today.
const (
	CatalogLayer    = "application/vnd.cncf.kubernetes.krm-func-catalog.layer.v1+yaml"
	DefinitionLayer = "application/vnd.cncf.kubernetes.krm-func-definition.layer.v1+yaml"
	ProgramLayer    = "application/vnd.cncf.kubernetes.krm-func-runtime-exec.layer.v1"
)

// MediaType says what a layer of a function catalog's artifact is: "catalog", "definition" or "runtime-exec", "runtime-starlark" and so
// on. There are two families of names. ok is false for anything else.
func MediaType(text string) (what string, ok bool) {
	rest, ok := strings.CutPrefix(text, "application/vnd.cncf.kubernetes.krm-")
	if !ok {
		return "", false
	}
	for _, family := range []string{"func-", "plugin-"} {
		if name, ok := strings.CutPrefix(rest, family); ok {
			name, _, _ = strings.Cut(name, "+")
			name, ok = strings.CutSuffix(name, ".layer.v1")
			return strings.Replace(name, "provider-", "runtime-", 1), ok
		}
	}
	return "", false
}
