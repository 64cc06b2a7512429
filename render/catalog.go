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

// ReadCatalog reads the catalog that ref names and verifies its pin. It trusts nothing. The digest is what a pin of it has: that of the
// manifest of an artifact, else of the file. The error is one of fetching, or a [*DeniedError] if the pin is wrong.
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
			ref.Pin = krm.Digest{} // ask the address, follow its redirects, and compare the pin afterwards
		}
		if ref.Pin.IsZero() || ref.IsCommit() { // its content always comes from the address
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
