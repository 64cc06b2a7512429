package loaders

import (
	"errors"
	"fmt"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders/remote"
	"github.com/krmflow/krmflow/reference"
)

// ErrVerification is wrapped by errors for fetched content with an unexpected digest.
var ErrVerification = remote.ErrVerification

// IsUnavailable reports whether err means that content cannot be retrieved at the moment, as
// opposed to being invalid.
func IsUnavailable(err error) bool {
	var offline *remote.OfflineError
	return errors.Is(err, remote.ErrRetrieval) || errors.As(err, &offline)
}

// FetchCatalog returns the catalog at an address given by the user, at most limit bytes, and the
// digest for pinning it: for an artifact the digest of its manifest, otherwise the digest of the
// file.
//
// A catalog with a pin may have any origin, so the pin must be the user's own.
func (l *Local) FetchCatalog(address string, limit int64) (*yaml.Source, krm.Digest, error) {
	return l.fetchCatalog(address, reference.Catalog, limit)
}

// FetchPublished is [Local.FetchCatalog] for a catalog that is trusted because of its address. The
// address must have served the catalog in this run or, according to the cache, in an earlier one. A
// pin in the address is compared but proves nothing. If the origin cannot be proven offline,
// [IsUnproven] holds for the error.
func (l *Local) FetchPublished(address string, limit int64) (*yaml.Source, krm.Digest, error) {
	return l.fetchCatalog(address, reference.Published, limit)
}

// IsUnproven reports whether err says that the origin of content is unknown and that no request is
// allowed.
func IsUnproven(err error) bool { return remote.IsUnproven(err) }

func (l *Local) fetchCatalog(address string, use reference.Use, limit int64) (*yaml.Source, krm.Digest, error) {
	src, err := l.fetchFile(nil, address, use, limit)
	if err != nil {
		return nil, krm.Digest{}, err
	}
	c, err := l.fetch(address, use, remote.FromUser) // same content, with its provenance
	if err == nil && use == reference.Published && c.Provenance != remote.ByAddress {
		err = fmt.Errorf("there is no proof that %q served it", diag.Redact(address))
	}
	if err != nil || c.Reference.Scheme != reference.OCI {
		return src, src.Digest(), err
	}
	if what, _ := remote.MediaType(c.MediaType); what != "catalog" && what != "definition" {
		return nil, krm.Digest{}, diag.BadCatalog.Errorf("%q has the media type %q: expected %s or %s", diag.Redact(address),
			diag.Sanitise(c.MediaType),
			remote.CatalogLayer, remote.DefinitionLayer)
	}
	return src, c.Version.Digest, nil
}

// FetchProgram returns the digest of the program at an address that has no digest yet. For an
// artifact it is the digest of the manifest, otherwise the digest of the downloaded file.
func (l *Local) FetchProgram(address string) (krm.Digest, error) {
	if l.fetch == nil {
		return krm.Digest{}, fmt.Errorf("%q is remote, and nothing is fetched here", diag.Redact(address))
	}
	c, err := l.fetch(address, reference.Blob, remote.FromUser)
	if err != nil {
		return krm.Digest{}, err
	}
	l.record(address, c)
	if c.Reference.Scheme == reference.OCI {
		return c.Version.Digest, nil
	}
	data, err := c.Bytes()
	return krm.DigestOf(data), err
}

// FetchFile returns the file at an address given by the user, at most limit bytes.
func (l *Local) FetchFile(address string, limit int64) ([]byte, error) {
	src, err := l.fetchFile(nil, address, reference.Catalog, limit)
	if err != nil {
		return nil, err
	}
	return src.Data, nil
}

// A Signature is a signature stored in a registry.
type Signature = remote.Signature

// FetchSignatures returns the signatures that the registry stores for an artifact. The address,
// given by the user, must have a digest.
func (l *Local) FetchSignatures(address string) ([]Signature, error) {
	c, err := l.fetch(address, reference.Signatures, remote.FromUser)
	if err != nil {
		return nil, err
	}
	return c.Signatures, nil
}
