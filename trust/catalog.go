package trust

import (
	"fmt"
	"time"

	"github.com/krmflow/krmflow/catalog"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
)

// A CatalogRequest is a catalog that the user trusts, with the digest of its content.
type CatalogRequest struct {
	// Ref is the reference of the catalog. Its pin comes from the user (a flag or the
	// configuration) or is compiled in.
	Ref catalog.Ref
	// LayerPin is the digest in the layer, or zero for none.
	LayerPin LayerPin
	// Digest is the digest to compare with pins: of the manifest for an artifact, otherwise of the
	// file.
	Digest krm.Digest
	// Shares is "tree" or "repository" if the catalog is in the rendered tree or repository, and ""
	// otherwise. Anyone who can change that tree or repository can change the catalog.
	Shares string
	// BuiltIn is true for a compiled-in catalog, Signed for a catalog with a verified signature.
	BuiltIn, Signed bool
}

// DecideCatalog verifies a trusted catalog against its pins. A denied catalog must not be
// parsed. A pin of a layer cannot lift a denial.
func (p Policy) DecideCatalog(r CatalogRequest) (warnings []*diag.Error, denial *Denial) {
	layer := krm.Digest(r.LayerPin)
	if !layer.IsZero() && layer != r.Digest {
		r.Ref.Pin = layer
		return nil, Mispinned(r.Ref, r.Digest)
	}
	if !r.Ref.Pin.IsZero() {
		if r.Ref.Pin == r.Digest {
			return nil, nil
		}
		return nil, Mispinned(r.Ref, r.Digest)
	}
	what, deny := "", p.Strict
	switch {
	case r.BuiltIn || r.Signed:
		return nil, nil
	case r.Ref.Remote() && r.Ref.Fixed(): // a commit
		return nil, nil
	case r.Ref.Remote() && !layer.IsZero() && !deny && !p.RequireChecksums: // cannot change unless the layer changes
		return nil, nil
	case r.Ref.Remote() && !layer.IsZero():
		what, deny = "is remote and pinned by a layer, not by you", true
	case r.Ref.Remote():
		what, deny = "is remote and not pinned: anyone who can change it there decides which programs run here", deny || p.RequireChecksums
	case r.Shares != "":
		what = fmt.Sprintf(
			"is inside the %s being rendered and is not pinned: anyone who can change the %[1]s can change which functions are trusted",
			r.Shares)
	default:
		return nil, nil
	}
	pinned := FlagTrust + "=" + r.Ref.Pinned(r.Digest)
	err := diag.Errorf(diag.Pos{}, "", "catalog %s %s", r.Ref.Show(), what).With(diag.NotPinned).Hint("pin it: %s", diag.ShellWord(pinned))
	if hint := HiddenHint(r.Ref); hint != "" {
		err.Hint("%s", hint)
	}
	if deny {
		return nil, &Denial{Reason: Untrusted, Err: err, Allow: []string{pinned}}
	}
	return []*diag.Error{err}, nil
}

// Unproven returns the denial of a catalog whose place is trusted but which is not proven to be
// published there. It does not suggest a pin, because the pin in the layer may come from an
// attacker.
func Unproven(ref catalog.Ref) *Denial {
	err := diag.Errorf(diag.Pos{}, "", "catalog %s is trusted by its location, but there is no proof that it was published there",
		ref.Show()).With(diag.UntrustedCatalog).
		Hint(
			"the pin in the layer does not prove where the catalog was published: run once without --offline to fetch it from its location").
		Hint("or pin it with %s, or in your configuration with 'krmflow trust add %s'", FlagTrust, diag.ShellWord(ref.Show()))
	return &Denial{Reason: Untrusted, Err: err}
}

// Mispinned returns the denial of a catalog that does not match its pin or, without a pin, the
// lock file. got is zero if the digest of the catalog is unknown.
func Mispinned(ref catalog.Ref, got krm.Digest) *Denial {
	says := "its pin"
	if ref.Pin.IsZero() {
		says = "the lock file"
	}
	err := diag.Errorf(diag.Pos{}, "", "SECURITY ERROR: catalog %s does NOT match %s", ref.Show(), says).With(diag.PinMismatch)
	if !ref.Pin.IsZero() {
		err.Hint("want %s", ref.Pin)
	}
	if !got.IsZero() {
		err.Hint("got  %s", got)
	}
	return &Denial{Reason: Mismatch, Err: err.Hint("nothing was executed")}
}

// Unsigned returns the denial of a catalog that lacks the required signature of a publisher.
// Each item of why explains the failure of one signature.
func Unsigned(ref catalog.Ref, publisher string, why []string) *Denial {
	err := diag.Errorf(diag.Pos{}, "", "SECURITY ERROR: catalog %s has no valid signature by %s", ref.Show(),
		diag.OneLine(publisher)).With(diag.BadSignature)
	for _, w := range why {
		err.Hint("%s", w)
	}
	return &Denial{Reason: Mismatch, Err: err.Hint("nothing was executed")}
}

// DecideAge warns about a catalog that has expired according to its publisher. With p.Strict it
// denies the catalog.
func (p Policy) DecideAge(c *catalog.Catalog, now time.Time) (warnings []*diag.Error, denial *Denial) {
	end, err := c.Expires()
	if err != nil || end.IsZero() || now.Before(end) {
		return nil, nil
	}
	e := diag.Errorf(diag.Pos{}, "", "catalog %s expired on %s", c.Ref.Show(), end.Format(time.RFC3339)).With(diag.Expired).
		Hint("ask its publisher for a newer one")
	if p.Strict {
		return nil, &Denial{Reason: Untrusted, Err: e}
	}
	return []*diag.Error{e}, nil
}
