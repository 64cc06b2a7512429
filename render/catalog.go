package render

import (
	"context"
	"fmt"

	"github.com/krmflow/krmflow/catalog"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/trust"
)

// ReadCatalog reads the catalog named by ref and verifies its pin. It does not check trust. The
// returned digest is the one that a pin has: of the manifest for an artifact, otherwise of the
// file. The error is a fetch error, or a [*DeniedError] if the pin does not match.
func (s Sources) ReadCatalog(ctx context.Context, ref catalog.Ref) (c *catalog.Catalog, digest krm.Digest, err error) {
	defer recovered(&err)
	src, digest, err := s.catalogFile(ctx, ref)
	if err != nil {
		return nil, digest, fmt.Errorf("catalog %s: %w", ref.Show(), err)
	}
	if _, denial := (trust.Policy{}).DecideCatalog(trust.CatalogRequest{Ref: ref, Digest: digest}); denial != nil {
		return nil, digest, &DeniedError{[]planner.Denial{{Err: denial.Err, Reason: denial.Reason}}}
	}
	c, err = catalog.Parse(src, ref)
	return c, digest, err
}

func (s Sources) catalogFile(ctx context.Context, ref catalog.Ref) (*yaml.Source, krm.Digest, error) {
	if ref.Remote() {
		fetch, end := s.Fetching(ctx)
		defer end()
		files := loaders.NewLocal(ctx, loaders.Config{Unrestricted: true, Fetch: fetch})
		if ref.Scheme != catalog.OCI && !s.Offline {
			// Fetch from the address and follow redirects. The caller compares the pin.
			ref.Pin = krm.Digest{}
		}
		if ref.Pin.IsZero() || ref.IsCommit() {
			// The content comes from the address in any case.
			return files.FetchCatalog(ref.Address(), catalog.MaxSize)
		}
		return files.FetchPublished(ref.Address(), catalog.MaxSize)
	}
	data, err := loaders.ReadFile(ref.Location, catalog.MaxSize)
	if err != nil {
		return nil, krm.Digest{}, err
	}
	src := &yaml.Source{File: ref.Location, Data: data}
	return src, src.Digest(), nil
}
