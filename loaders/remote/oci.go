package remote

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/loaders/remote/internal/artifact"
	"github.com/krmflow/krmflow/reference"
)

// maxManifest is the size limit for a manifest, in bytes.
const maxManifest = 4 << 20

// resolveOCI asks a registry for the digest of a tag.
func (s *Session) resolveOCI(ctx context.Context, r reference.Reference, from Origin) (v reference.Version, err error) {
	err = s.registry(r, from, func(reg *registry) error {
		v.Scheme = reference.OCI
		v.Digest, err = reg.resolve(ctx, r.Ref)
		return err
	})
	return v, err
}

// openOCI returns the content of an artifact: the file in its only layer, or the tree of its
// files.
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
	ctx = context.WithoutCancel(ctx) // the tree may be read after the opener's context is done
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

// fetchOCI fetches the manifest and the layers of an artifact into the cache, unless they are
// already there.
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
			m, err := artifact.Parse(data)
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
			_, err = s.opt.Cache.Put(data) // last, so that everything it refers to exists
			return err
		})
	})
}

// maxLayers is the limit for the layers of an artifact.
const maxLayers = 1000

// checkSize returns an error if an artifact exceeds the limits for layers or bytes.
func (s *Session) checkSize(m artifact.Manifest) error {
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

func (s *Session) fetchLayer(ctx context.Context, reg *registry, layer artifact.Descriptor) error {
	d, err := layer.Sum()
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

// A digestError reports content whose digest differs from the requested one.
type digestError struct{ want, got krm.Digest }

func (e *digestError) Unwrap() error { return ErrVerification }

func (e *digestError) Error() string { return fmt.Sprintf("expected %s, got %s", e.want, e.got) }

// storedArtifact returns the content of an artifact from the cache. The error wraps
// fs.ErrNotExist if it is not there.
func (s *Session) storedArtifact(d krm.Digest) (*Content, error) {
	data, err := s.opt.Cache.Get(d)
	if err != nil {
		return nil, err
	}
	m, err := artifact.Parse(data)
	if err != nil {
		return nil, err
	}
	if layer := m.Layers[0]; len(m.Layers) == 1 && !layer.IsTar() {
		d, err := layer.Sum()
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

// unpacked creates the tree of an artifact in the cache: from the archive in its only layer, or
// from its layers, each of which is a file.
func (s *Session) unpacked(d krm.Digest) (*cache.Tree, error) {
	data, err := s.opt.Cache.Get(d)
	if err != nil {
		return nil, err
	}
	m, err := artifact.Parse(data)
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

func (s *Session) layer(desc artifact.Descriptor) ([]byte, error) {
	d, err := desc.Sum()
	if err != nil {
		return nil, err
	}
	return s.opt.Cache.Get(d)
}

// files creates a tree from layers with file names.
func (s *Session) files(layers []artifact.Descriptor) (*cache.Tree, error) {
	w, err := s.opt.Cache.NewTree(s.opt.MaxTree)
	if err != nil {
		return nil, err
	}
	defer w.Discard()
	for _, layer := range layers {
		name := layer.Title()
		if name == "" || layer.IsTar() {
			return nil, fmt.Errorf("the artifact has %d layers, but one with the media type %q is not a named file", len(layers),
				layer.MediaType)
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

// Media types of layers.
const (
	CatalogLayer    = "application/vnd.cncf.kubernetes.krm-func-catalog.layer.v1+yaml"
	DefinitionLayer = "application/vnd.cncf.kubernetes.krm-func-definition.layer.v1+yaml"
	ProgramLayer    = "application/vnd.cncf.kubernetes.krm-func-runtime-exec.layer.v1"
)

// MediaType returns the kind of layer in the artifact of a function catalog: "catalog",
// "definition", "runtime-exec", "runtime-starlark" and so on. It knows two families of media
// types. ok is false for any other media type.
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
