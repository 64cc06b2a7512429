package remote

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/loaders/remote/internal/artifact"
	"github.com/krmflow/krmflow/reference"
)

// A Signature is an unverified signature of an artifact from a registry.
type Signature struct {
	// Data is the signed data, or a Sigstore bundle with the signed data and the signature.
	Data []byte
	// Text is the base64-encoded signature of Data. It is empty if Data is a bundle.
	Text string
}

// Media types and annotations of the formats in which cosign stores signatures.
const (
	signedLayer         = "application/vnd.dev.cosign.simplesigning.v1+json"
	signedArtifact      = "application/vnd.dev.cosign.artifact.sig.v1+json"
	bundlePrefix        = "application/vnd.dev.sigstore.bundle"
	signatureAnnotation = "dev.cosignproject.cosign/signature"
)

// Limits for the number of signatures of an artifact and for the size of each in bytes.
const (
	maxSignatures = 64
	maxSignature  = 1 << 20
)

// Signatures returns the signatures of the artifact that r names by its digest: those under the
// tag that cosign derives from the digest, and those among the referrers of the artifact.
// Signatures can be added at any time, so the registry is asked in every call. With
// [Options].Offline, the result of the last request is returned. The errors are those of
// [Session.Open].
func (s *Session) Signatures(ctx context.Context, r reference.Reference, from Origin) ([]Signature, error) {
	if err := s.allow(r, from); err != nil {
		return nil, err
	}
	if r.Scheme != reference.OCI || r.Pin.IsZero() {
		return nil, errors.New("only artifacts in a registry have signatures there")
	}
	key := r.Location + " " + r.Pin.String()
	if s.opt.Offline {
		return s.storedSignatures(r, key)
	}
	var list []Signature
	err := s.fetch(ctx, r, func(ctx context.Context) error {
		return s.registry(r, from, func(reg *registry) (err error) {
			list, err = reg.signatures(ctx, r.Pin)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(list)
	if err != nil {
		return nil, err
	}
	d, err := s.opt.Cache.Put(data)
	if err != nil {
		return nil, err
	}
	return list, s.opt.Cache.Record("signatures", key, d)
}

func (s *Session) storedSignatures(r reference.Reference, key string) (list []Signature, err error) {
	d, ok := s.opt.Cache.Lookup("signatures", key)
	if !ok {
		return nil, &OfflineError{Reference: "the signatures of " + r.String()}
	}
	data, err := s.opt.Cache.Get(d)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &OfflineError{Reference: "the signatures of " + r.String()}
	}
	if err == nil {
		err = json.Unmarshal(data, &list)
	}
	return list, err
}

// signatures returns the signatures of the artifact with a digest.
func (reg *registry) signatures(ctx context.Context, of krm.Digest) (list []Signature, err error) {
	manifests, err := reg.signatureManifests(ctx, of)
	if err != nil {
		return nil, err
	}
	for _, data := range manifests {
		var m artifact.Manifest
		if json.Unmarshal(data, &m) != nil {
			continue // not a manifest
		}
		for _, layer := range m.Layers {
			text := layer.Annotations[signatureAnnotation]
			isBundle := strings.HasPrefix(layer.MediaType, bundlePrefix)
			if !isBundle && (layer.MediaType != signedLayer || text == "") {
				continue
			}
			if len(list) == maxSignatures {
				return nil, diag.Limitf("the artifact has more than %s", diag.Count(maxSignatures, "signature"))
			}
			if isBundle {
				text = ""
			}
			data, err := reg.signedData(ctx, layer)
			if err != nil {
				return nil, err
			}
			list = append(list, Signature{data, text})
		}
	}
	return list, nil
}

// signatureManifests returns the manifest under cosign's signature tag and the referrers of the
// artifact that are signatures. It uses the referrers API of OCI 1.1, or the referrers tag if the
// registry does not have the API.
func (reg *registry) signatureManifests(ctx context.Context, of krm.Digest) (list [][]byte, err error) {
	tag := strings.Replace(of.String(), ":", "-", 1)
	tagged, err := reg.find(ctx, "manifests/"+tag+".sig")
	if err != nil {
		return nil, err
	}
	index, err := reg.find(ctx, "referrers/"+of.String())
	if err == nil && index == nil {
		index, err = reg.find(ctx, "manifests/"+tag)
	}
	if err != nil {
		return nil, err
	}
	if tagged != nil {
		list = append(list, tagged)
	}
	var referrers struct {
		Manifests []struct {
			artifact.Descriptor
			ArtifactType string `json:"artifactType"`
		} `json:"manifests"`
	}
	if index == nil || json.Unmarshal(index, &referrers) != nil {
		return list, nil
	}
	for _, desc := range referrers.Manifests {
		if desc.ArtifactType != signedArtifact && !strings.HasPrefix(desc.ArtifactType, bundlePrefix) {
			continue
		}
		if len(list) > maxSignatures {
			return nil, diag.Limitf("more than %s refer to the artifact", diag.Count(maxSignatures, "signature"))
		}
		d, err := desc.Sum()
		if err != nil {
			return nil, err
		}
		data, err := reg.manifest(ctx, d)
		if err != nil {
			return nil, err
		}
		list = append(list, data)
	}
	return list, nil
}

// find returns a resource of the repository, or nil if it does not exist or the registry does not
// support the request.
func (reg *registry) find(ctx context.Context, path string) ([]byte, error) {
	resp, err := reg.do(ctx, http.MethodGet, path)
	if status := (*statusError)(nil); errors.As(err, &status) {
		switch status.code {
		case http.StatusNotFound, http.StatusBadRequest, http.StatusMethodNotAllowed:
			return nil, nil
		}
	}
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return readUpTo(maxManifest, resp.ContentLength, resp.Body)
}

// signedData returns the verified content of a layer.
func (reg *registry) signedData(ctx context.Context, layer artifact.Descriptor) ([]byte, error) {
	d, err := layer.Sum()
	if err != nil {
		return nil, err
	}
	body, err := reg.blob(ctx, d)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	data, err := readUpTo(maxSignature, layer.Size, body)
	if got := krm.DigestOf(data); err == nil && got != d {
		err = &digestError{want: d, got: got}
	}
	return data, err
}
