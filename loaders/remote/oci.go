package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/errdef"
	registry "oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
)

// maxManifest bounds a manifest, in bytes.
const maxManifest = 4 << 20

// resolveOCI asks a registry which manifest a tag is on.
func (s *Session) resolveOCI(ctx context.Context, r Reference, from Origin) (v Version, err error) {
	err = s.registry(ctx, r, from, func(repo *registry.Repository) error {
		desc, err := repo.Resolve(ctx, r.Ref)
		if err != nil {
			return err
		}
		v.Scheme = OCI
		v.Digest, err = digestOf(desc)
		return err
	})
	return v, err
}

// digestOf returns the digest of what a descriptor describes.
func digestOf(desc ocispec.Descriptor) (krm.Digest, error) {
	d, err := krm.ParseDigest(desc.Digest.String())
	if err != nil {
		return d, fmt.Errorf("the registry names content by %q, and krmflow takes sha256 alone", desc.Digest)
	}
	return d, nil
}

// openOCI returns what is in an artifact: the file that is its only layer, or the tree of its files.
func (s *Session) openOCI(ctx context.Context, r Reference, v Version, from Origin) (*Content, error) {
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

func (s *Session) restorable(ctx context.Context, c *Content, r Reference, v Version, from Origin) *Content {
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
func (s *Session) fetchOCI(ctx context.Context, r Reference, v Version, from Origin) error {
	if s.opt.Offline {
		return &OfflineError{Reference: r.At(v).String()}
	}
	return s.fetch(ctx, r, func(ctx context.Context) error {
		return s.registry(ctx, r, from, func(repo *registry.Repository) error {
			data, err := s.opt.Cache.Get(v.Digest)
			if err != nil {
				if data, err = s.fetchManifest(ctx, repo, v.Digest); err != nil {
					return err
				}
			}
			m, err := parseManifest(data)
			if err != nil {
				return err
			}
			for _, layer := range m.Layers {
				if err := s.fetchLayer(ctx, repo, layer); err != nil {
					return err
				}
			}
			_, err = s.opt.Cache.Put(data) // last: what it names is there
			return err
		})
	})
}

func (s *Session) fetchManifest(ctx context.Context, repo *registry.Repository, d krm.Digest) ([]byte, error) {
	_, body, err := repo.FetchReference(ctx, d.String())
	if err != nil {
		return nil, err
	}
	defer body.Close()
	data, err := io.ReadAll(io.LimitReader(body, maxManifest+1))
	if err == nil && len(data) > maxManifest {
		err = diag.Limitf("the manifest has more than %s", diag.Size(maxManifest))
	}
	if got := krm.DigestOf(data); err == nil && got != d {
		err = &digestError{want: d, got: got}
	}
	return data, err
}

func (s *Session) fetchLayer(ctx context.Context, repo *registry.Repository, layer ocispec.Descriptor) error {
	d, err := digestOf(layer)
	if err != nil {
		return err
	}
	if _, err := s.opt.Cache.Get(d); err == nil {
		return nil
	}
	if layer.Size < 0 || layer.Size > s.opt.MaxBytes {
		return tooLong(s.opt.MaxBytes)
	}
	body, err := repo.Blobs().Fetch(ctx, layer)
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

func (e *digestError) Error() string { return fmt.Sprintf("it must be %s, and is %s", e.want, e.got) }

// parseManifest reads the manifest of an artifact.
func parseManifest(data []byte) (m ocispec.Manifest, err error) {
	var index struct {
		Manifests []json.RawMessage `json:"manifests"`
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return m, fmt.Errorf("the manifest cannot be read: %w", err)
	}
	if json.Unmarshal(data, &index) == nil && len(index.Manifests) > 0 {
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
		d, err := digestOf(layer)
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
	return strings.HasSuffix(mediaType, ".tar") || strings.HasSuffix(mediaType, "+tar") || strings.HasSuffix(mediaType, "tar+gzip") || strings.HasSuffix(mediaType, ".tar.gzip")
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
			tree, err = unpack(s.opt.Cache, s.limits(), "tar", data)
		}
	} else {
		tree, err = s.files(m.Layers)
	}
	if err != nil {
		return nil, err
	}
	return tree, s.opt.Cache.Record("oci", d.String(), tree.Digest)
}

func (s *Session) layer(desc ocispec.Descriptor) ([]byte, error) {
	d, err := digestOf(desc)
	if err != nil {
		return nil, err
	}
	return s.opt.Cache.Get(d)
}

// files makes a tree of layers that are files with names.
func (s *Session) files(layers []ocispec.Descriptor) (*cache.Tree, error) {
	w, err := s.opt.Cache.NewTree(s.limits())
	if err != nil {
		return nil, err
	}
	defer w.Discard()
	for _, layer := range layers {
		name := layer.Annotations[ocispec.AnnotationTitle]
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

// registry calls use with the repository of a reference. A registry on this machine may speak http.
func (s *Session) registry(ctx context.Context, r Reference, from Origin, use func(*registry.Repository) error) error {
	repo, err := registry.NewRepository(r.Location)
	if err != nil {
		return wrap(r, err)
	}
	c := s.client(r, from)
	c.Transport.(*courier).everywhere = from == FromUser
	c.CheckRedirect = checkRedirect(true) // everything is known by its digest, once a tag is resolved
	client := &auth.Client{Client: c, Cache: auth.NewCache()}
	if isLoopbackName(r.host()) {
		client.BlockedRealmPrefixes = []netip.Prefix{}
	}
	if from == FromUser {
		client.Credential = credentials.Credential(credentialFiles())
	}
	repo.Client = client
	err = use(repo)
	if err != nil && strings.Contains(err.Error(), "server gave HTTP response to HTTPS client") && isLoopbackName(r.host()) && from == FromUser {
		repo.PlainHTTP = true
		err = use(repo)
	}
	return explainRegistry(r, err)
}

// credentialFiles returns the credentials that the user has stored for podman and docker.
func credentialFiles() credentials.Store {
	var paths []string
	add := func(dir, name string) {
		if dir != "" {
			paths = append(paths, filepath.Join(dir, name))
		}
	}
	add(os.Getenv("REGISTRY_AUTH_FILE"), "")
	add(os.Getenv("XDG_RUNTIME_DIR"), "containers/auth.json")
	home, _ := os.UserHomeDir()
	config := os.Getenv("XDG_CONFIG_HOME")
	if config == "" && home != "" {
		config = filepath.Join(home, ".config")
	}
	add(config, "containers/auth.json")
	if docker := os.Getenv("DOCKER_CONFIG"); docker != "" {
		add(docker, "config.json")
	} else if home != "" {
		add(home, ".docker/config.json")
	}
	var stores []credentials.Store
	for _, path := range slices.Compact(paths) {
		if _, err := os.Stat(path); err != nil {
			continue
		}
		if store, err := credentials.NewStore(path, credentials.StoreOptions{}); err == nil {
			stores = append(stores, store)
		}
	}
	if len(stores) == 0 {
		return credentials.NewMemoryStore()
	}
	return credentials.NewStoreWithFallbacks(stores[0], stores[1:]...)
}

// explainRegistry returns an error of a registry in our words.
func explainRegistry(r Reference, err error) error {
	var wrong *digestError
	var answer *errcode.ErrorResponse
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrong):
		return mismatch(r, wrong.want, wrong.got)
	case errors.Is(err, content.ErrMismatchedDigest):
		return newError(r, ErrVerification, err, "the registry sends other content than it names")
	case errors.Is(err, errdef.ErrNotFound):
		return notFetched(r, fs.ErrNotExist, "there is no such artifact")
	case errors.Is(err, auth.ErrBasicCredentialNotFound):
		err = &statusError{http.StatusUnauthorized}
	case errors.As(err, &answer):
		err = &statusError{answer.StatusCode}
	}
	var status *statusError
	if errors.As(err, &status) && (status.code == http.StatusUnauthorized || status.code == http.StatusForbidden) {
		return notFetched(r, err, "%s", status).Hint("credentials are those of podman login and docker login for %s", r.host())
	}
	return wrap(r, err)
}

// MediaType says what a layer of a function catalog's artifact is: "catalog", "definition" or "runtime-exec", "runtime-starlark" and so on. There are two
// families of names. ok is false for anything else.
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
