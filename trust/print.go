package trust

import (
	"fmt"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/catalog"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
)

// Line returns the part of the plan's line that is about the decision: runtime, what runs with its digest, where it was
// found and who trusts that, capabilities with who granted them, isolation and whether results may be kept.
func (d *Decision) Line() string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if d.Runtime != "" {
		add("%s %s", d.Runtime, d.Source)
	}
	if !d.Digest.IsZero() {
		add("%s", d.Digest)
	}
	switch {
	case d.Function.Unverified:
		add("UNVERIFIED")
	case d.Allowed && d.Entry != nil && d.Runtime == function.RuntimeContainer:
		add("pinned") // the executor verifies it, before any function runs
	case d.Allowed && d.Entry != nil:
		add("verified")
	}
	switch {
	case d.Entry != nil && d.By != "":
		add("%s (%s)", d.Entry, d.By)
	case d.Entry != nil:
		add("%s", d.Entry)
	case d.Runtime != "":
		add("uncatalogued")
	}
	add("caps %s", d.caps())
	if d.Executor != "" {
		add("executor %s", d.Executor)
	}
	if d.Isolation != "" {
		add("isolation %s", d.Isolation)
	}
	add("cache no") // no results are kept yet, of no function
	if !d.Allowed {
		add("DENIED (%s)", d.Worst)
	}
	return strings.Join(parts, "  ")
}

func (d *Decision) caps() string {
	if len(d.Grants) == 0 {
		return "none"
	}
	list := make([]string, len(d.Grants))
	for i, g := range d.Grants {
		list[i] = fmt.Sprintf("%s (granted by %s)", g.Capability, g.By)
	}
	return strings.Join(list, ", ")
}

// Notes returns what the plan says below the line: the arguments, why this runtime, and what is shadowed.
func (d *Decision) Notes() []string {
	var notes []string
	if len(d.Args) > 0 {
		notes = append(notes, fmt.Sprintf("arguments: %q", d.Args))
	}
	if d.Reason != "" {
		notes = append(notes, d.Reason)
	}
	for _, e := range d.Shadowed {
		notes = append(notes, fmt.Sprintf("shadows %s", e))
	}
	return notes
}

// Allow returns the flags that would lift all denials, nil if there is no such set.
func (d *Decision) Allow() []string {
	var flags []string
	for _, denial := range d.Denials {
		if len(denial.Allow) == 0 {
			return nil
		}
		flags = append(flags, denial.Allow...)
	}
	slices.Sort(flags)
	return slices.Compact(flags)
}

// A CatalogRequest is a catalog that the user trusts by name, as it was found.
type CatalogRequest struct {
	Ref    catalog.Ref
	Digest krm.Digest
	// Shares says what that is rendered holds the catalog, "tree" or "repository", "" for neither: who may change that may change
	// the catalog.
	Shares string
	// BuiltIn is true for catalogs that are compiled in.
	BuiltIn bool
}

// DecideCatalog verifies the bytes of a trusted catalog against its pin. A denied catalog must not be parsed.
func (p Policy) DecideCatalog(r CatalogRequest) (warnings []*diag.Error, denial *Denial) {
	pinned := r.Ref.Pinned(r.Digest)
	if !r.Ref.Pin.IsZero() && r.Ref.Scheme != catalog.OCI { // the pin of an OCI artifact is that of its manifest
		if r.Ref.Pin == r.Digest {
			return nil, nil
		}
		err := diag.Errorf(diag.Pos{}, "", "SECURITY ERROR: catalog %s does NOT match its pin", r.Ref.Show()).
			Hint("want %s", r.Ref.Pin).Hint("got  %s", r.Digest).Hint("nothing was executed")
		return nil, &Denial{Reason: Mismatch, Err: err}
	}
	what := ""
	switch {
	case r.BuiltIn || !r.Ref.Pin.IsZero():
		return nil, nil
	case r.Ref.Remote():
		what = "is remote and not pinned"
	case r.Shares != "":
		what = fmt.Sprintf("lies in the %s that is rendered and is not pinned: whoever changes the %[1]s can change what is trusted", r.Shares)
	default:
		return nil, nil
	}
	err := diag.Errorf(diag.Pos{}, "", "catalog %s %s", r.Ref.Show(), what).Hint("pin it: %s=%s", FlagTrust, pinned)
	if p.Strict {
		return nil, &Denial{Reason: Untrusted, Err: err, Allow: []string{FlagTrust + "=" + pinned}}
	}
	return []*diag.Error{err}, nil
}
