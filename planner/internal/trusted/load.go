package trusted

import (
	"errors"
	"sync"
	"time"

	"github.com/krmflow/krmflow/catalog"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/planner/report"
	"github.com/krmflow/krmflow/trust"
)

// trusted returns the catalog of a source without reading it.
func (c *Catalogs) trusted(s trust.Source) trust.Trusted {
	if s.Denial != nil {
		return trust.Trusted{By: s.By, Denial: s.Denial}
	}
	if s.Content != nil {
		return trust.Trusted{Ref: catalog.BuiltIn(s.Ref), By: s.By, Content: s.Content}
	}
	ref, err := catalog.ParseRef(s.Ref)
	t := trust.Trusted{Ref: ref.Shown(s.Ref), By: s.By, Own: s.Own, Err: err}
	if err != nil || ref.Remote() {
		return t
	}
	t.Ref = ref.In(c.Cwd)
	t.Path = t.Ref.Location
	if real, err := loaders.Real(t.Ref.Location); err == nil {
		t.Ref = t.Ref.At(real)
	}
	t.Ref = t.Ref.Shown(ref.Show())
	return t
}

// Read reads the trusted catalogs once. Remote catalogs are fetched concurrently.
func (c *Catalogs) Read() {
	if c.read {
		return
	}
	c.read = true
	list := c.all()
	var wg sync.WaitGroup
	for _, t := range list {
		if t.Err == nil && t.Ref.Remote() && t.Content == nil {
			wg.Go(func() { c.fetch(&t) }) // load uses the result
		}
	}
	wg.Wait()
	for i := range list {
		if t := &c.list[i]; t.Err == nil {
			c.load(t)
		}
	}
}

func (c *Catalogs) load(t *trust.Trusted) {
	src, digest, err := c.content(t)
	switch {
	case errors.Is(err, loaders.ErrVerification):
		c.refuse(t, trust.Mispinned(t.Asked(), krm.Digest{}), err)
		return
	case loaders.IsUnproven(err):
		// It is an error only if a function needs the catalog.
		t.Denial = trust.Unproven(t.Ref)
		return
	case err != nil:
		t.Err = c.explained(t, err)
		return
	}
	t.Digest = digest
	if !c.verify(t, src.Data) || !c.decide(t) {
		return
	}
	parsed, err := catalog.Parse(src, t.Ref)
	if t.Err = err; err != nil {
		return
	}
	warnings, denial := c.Policy.DecideAge(parsed, time.Now())
	c.Warnings.Add(warnings...)
	if denial != nil {
		c.refuse(t, denial, nil)
		return
	}
	t.Catalog = parsed
	c.Warnings.Add(t.Catalog.Notices...)
}

// refuse records that a catalog must not be used. why adds details and may be nil.
func (c *Catalogs) refuse(t *trust.Trusted, denial *trust.Denial, why error) {
	if why != nil {
		text, hints := diag.Parts(why)
		denial.Err.Hints = append(append(denial.Err.Hints, text), hints...)
	}
	c.Deny(denial.Err, denial.Reason)
	t.Denial = denial
}

// content returns the file of a catalog, and the digest to compare with a pin.
func (c *Catalogs) content(t *trust.Trusted) (*yaml.Source, krm.Digest, error) {
	var src *yaml.Source
	switch {
	case t.Content != nil:
		src = &yaml.Source{File: t.Ref.Show(), Data: t.Content}
	case t.Ref.Remote():
		return c.fetch(t)
	default:
		var real string
		var err error
		if src, real, err = c.Files.ReadFile(t.Ref.Location); err == nil && real != t.Ref.Location {
			err = errors.New("the file was moved during the run")
		}
		if err != nil {
			return nil, krm.Digest{}, err
		}
	}
	return src, src.Digest(), nil
}

// fetch returns a remote catalog. A catalog that the user names or that a publisher signs may
// have any origin, because its pin or signature is verified. Any other catalog must come from the
// place that the user trusts.
func (c *Catalogs) fetch(t *trust.Trusted) (*yaml.Source, krm.Digest, error) {
	address := t.Asked().Address()
	if t.Named && c.publisher(t.Ref) == nil {
		return c.Files.FetchPublished(address, catalog.MaxSize)
	}
	return c.Files.FetchCatalog(address, catalog.MaxSize)
}

// explained adds a hint to the error of a catalog that is trusted for its place: the reason why
// the cache is not enough.
func (c *Catalogs) explained(t *trust.Trusted, err error) error {
	if !t.Named || !t.Ref.Remote() || c.publisher(t.Ref) != nil || !loaders.IsUnavailable(err) {
		return err
	}
	return diag.AsError(err).
		Hint(
			"it is trusted for its location, which must serve it at least once; a catalog pinned in your configuration or with %s= may have any origin", trust.FlagTrust)
}

// decide reports whether a catalog may be used, given the layers known so far.
func (c *Catalogs) decide(t *trust.Trusted) bool {
	shares := ""
	if !t.Ref.Remote() {
		shares = c.shares(t)
	}
	warnings, denial := c.Policy.DecideCatalog(trust.CatalogRequest{
		Ref: t.Ref, LayerPin: t.LayerPin, Digest: t.Digest, Shares: shares, BuiltIn: t.Content != nil, Signed: t.Signed != "",
	})
	c.Warnings.Add(warnings...)
	t.Changeable = t.Changeable || len(warnings) > 0
	if denial != nil {
		c.refuse(t, denial, nil)
	}
	return denial == nil
}

// Decide repeats the decisions when all layers are known: a catalog may be in a layer that was
// loaded after the catalog's first use.
func (c *Catalogs) Decide() {
	for i := range c.list {
		if t := &c.list[i]; t.Catalog != nil {
			c.decide(t)
		}
	}
}

// Unread reports catalogs that cannot be read although all functions were found in others. An
// unavailable catalog is a warning. Other errors deny the run, unless the catalog is from the
// user's configuration: a user who names a catalog in a flag intends to use it. If a function was
// not found, its own denial reports the catalogs.
func (c *Catalogs) Unread() {
	for _, t := range c.list {
		if !c.read || t.Err == nil {
			continue
		}
		err := diag.Errorf(diag.Pos{}, "", "catalog %s cannot be read: %v", t.Ref, t.Err).With(diag.BadCatalog)
		err.Hints = append(err.Hints, report.Hints(t.Err)...)
		switch {
		case loaders.IsUnavailable(t.Err):
			c.Warnings.Add(err)
		case t.By != trust.ByConfig:
			c.Deny(err, trust.Invalid)
		}
	}
}

// Readable returns the readable trusted catalogs of this machine, only for warnings. It ignores
// errors in other catalogs, which matter only when a function needs them, and fetches nothing.
func (c *Catalogs) Readable() (list []*catalog.Catalog) {
	for _, t := range c.all() {
		if t.Catalog == nil && t.Err == nil && t.Denial == nil && (!t.Ref.Remote() || t.Content != nil) && c.publisher(t.Ref) == nil {
			if src, digest, err := c.content(&t); err == nil && (t.Asked().Pin.IsZero() || t.Asked().Pin == digest) {
				t.Catalog, _ = catalog.Parse(src, t.Ref)
			}
		}
		if t.Catalog != nil {
			list = append(list, t.Catalog)
		}
	}
	return list
}
