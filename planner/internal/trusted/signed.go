package trusted

import (
	"github.com/krmflow/krmflow/catalog"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/trust"
)

// maxSignature is the maximum size of a signature file in bytes.
const maxSignature = 1 << 20

// publisher returns the publisher that must have signed a catalog, nil for none.
func (c *Catalogs) publisher(ref catalog.Ref) *trust.Publisher {
	for i := range c.Publishers {
		if p := &c.Publishers[i]; p.Covers(ref) {
			return p
		}
	}
	return nil
}

// verify reports whether a catalog has a valid signature, or needs none because the user pins it.
// The signature is in a file next to the catalog.
func (c *Catalogs) verify(t *trust.Trusted, data []byte) bool {
	p := c.publisher(t.Ref)
	if p == nil || t.Content != nil || !t.Ref.Pin.IsZero() && !t.Named {
		return true
	}
	if t.Ref.Scheme == catalog.OCI {
		return c.verifyArtifact(t, p)
	}
	var why []string
	for _, end := range p.Ends() {
		sig, err := c.beside(t.Ref, end)
		if err == nil {
			err = p.Verify(end, data, sig)
		}
		if err == nil {
			t.Signed = p.Name
			return true
		}
		text, _ := diag.Parts(err)
		why = append(why, diag.OneLine(t.Ref.Sibling(end).Show()+": "+text))
	}
	c.refuse(t, trust.Unsigned(t.Ref, p.Name, why), nil)
	return false
}

// verifyArtifact reports whether a registry has a valid signature for a catalog's artifact.
func (c *Catalogs) verifyArtifact(t *trust.Trusted, p *trust.Publisher) bool {
	at := t.Ref
	at.Pin = t.Digest
	signatures, err := c.Files.FetchSignatures(at.Address())
	var why []string
	switch {
	case err != nil:
		text, _ := diag.Parts(err)
		why = []string{diag.OneLine(text)}
	case len(signatures) == 0:
		why = []string{"the registry has no signature for " + t.Digest.String()}
	}
	for _, sig := range signatures {
		err := p.VerifyArtifact(t.Digest, sig.Data, sig.Text)
		if err == nil {
			t.Signed = p.Name
			return true
		}
		why = append(why, diag.OneLine(err.Error()))
	}
	c.refuse(t, trust.Unsigned(t.Ref, p.Name, why), nil)
	return false
}

// beside returns the file next to a catalog whose name has the additional suffix end.
func (c *Catalogs) beside(ref catalog.Ref, end string) ([]byte, error) {
	sig := ref.Sibling(end)
	if ref.Remote() {
		return c.Files.FetchFile(sig.Address(), maxSignature)
	}
	src, _, err := c.Files.ReadFile(sig.Location)
	if err != nil {
		return nil, err
	}
	return src.Data, nil
}
