package trust

import (
	"strings"

	"github.com/krmflow/krmflow/catalog"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
)

// remoteProgram decides on the program of an entry that is given by an address. The program is
// fetched before any function runs.
func (x *decider) remoteProgram(e *catalog.Entry, p catalog.Platform) {
	ref, err := catalog.ParseRef(p.URI)
	isRemote := e.Catalog.Ref.Remote()
	archive := err == nil && isArchive(strings.SplitN(ref.Location, "?", 2)[0])
	switch pin := p.Pin.Err(); {
	case isRemote && (strings.HasPrefix(p.URI, "file:") || err == nil && ref.OfMachine()):
		x.deny(Untrusted, nil, "%s cannot name a path on this machine: %s", e, x.d.Source).With(diag.GrantDenied)
		return
	case err != nil:
		x.deny(Invalid, nil, "the program of %s: %v", e, err).With(diag.BadProgram)
		return
	case pin != nil:
		x.deny(Mismatch, nil, "%s cannot be verified: sha256: %v", e, pin).With(diag.BadCatalog)
		return
	case ref.Scheme != catalog.OCI && p.Pin.Given && !ref.Pin.IsZero() && ref.Pin != p.Pin.Digest:
		x.deny(Mismatch, nil, "%s cannot be verified: the address says %s and sha256 beside it says %s", e, ref.Pin,
			p.Pin.Digest).With(diag.BadCatalog)
		return
	}
	member, ok := x.member(e, p, archive || p.Bin != "")
	if !ok {
		return
	}
	x.d.Digest = programPin(ref, p)
	if x.d.Digest.IsZero() {
		x.unverifiedAddress(e, ref)
	}
	switch {
	case ref.Scheme != catalog.OCI:
		ref.Pin = krm.Digest{} // it may be the digest of a file in the archive
	case !p.Pin.Given:
		ref.Pin = x.d.Digest
	}
	x.fn.URI, x.fn.Digest, x.fn.Bin = ref.Address(), x.d.Digest, binName(p.Bin)
	if p.Bin != "" && (archive || ref.Scheme == catalog.OCI) {
		x.fn.Program = member
	}
	x.arguments(e)
}

// unverifiedAddress decides on a program without a required digest. The current content of the
// address becomes the digest of the decision, so that exactly the examined program runs.
func (x *decider) unverifiedAddress(e *catalog.Entry, ref catalog.Ref) {
	found, ok := x.r.Facts.Fetched[ref.Address()]
	switch denied := x.unverified(e, found.Digest); {
	case denied != nil:
	case found.Err != nil:
		x.deny(Invalid, nil, "the program %s cannot be used: %v", x.d.Source, found.Err).With(diag.BadProgram).Err = found.Err
	case !ok || found.Digest.IsZero():
		x.deny(Mismatch, nil, "the program %s was not examined", x.d.Source)
	}
	x.d.Digest = found.Digest
}

// programPin returns the digest that the program of an entry must have, or zero if none is
// given. For an OCI artifact the digest of the artifact is sufficient.
func programPin(ref catalog.Ref, p catalog.Platform) krm.Digest {
	if p.Pin.Given {
		return p.Pin.Digest
	}
	return ref.Pin
}

// address adds the address of a program that may run without a digest.
func (n *Needs) address(p Policy, e *catalog.Entry, program catalog.Platform) {
	ref, err := catalog.ParseRef(program.URI)
	if err == nil && p.AllowUnverified && !program.Pin.Given && ref.Pin.IsZero() && !(ref.OfMachine() && e.Catalog.Ref.Remote()) {
		n.Addresses = append(n.Addresses, ref.Address())
	}
}
