package trust

import (
	"errors"
	"fmt"
	"slices"

	"github.com/krmflow/krmflow/catalog"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/trust/internal/signature"
)

// A Publisher signs catalogs. Catalogs below its places need no pin, but must be signed by one
// of its keys.
type Publisher struct {
	Name   string
	Places []Configured
	Keys   []signature.Key
}

func publisher(item yaml.Cursor) (p Publisher) {
	if !item.Known("name", "catalogs", "keys") {
		return p
	}
	p.Name = item.Field("name").Required()
	for _, c := range required(item.Field("catalogs")) {
		text := c.Line()
		if text == "" {
			continue
		}
		e, ok := configured(c, text)
		switch {
		case !ok:
		case !e.Ref.Pin.IsZero():
			c.Errorf("catalogs signed by a publisher must not have a pin").Hint("list pinned catalogs under trustedCatalogs")
		default:
			p.Places = append(p.Places, e)
		}
	}
	for _, c := range required(item.Field("keys")) {
		key, err := signature.ParseKey(c.Required())
		if err != nil {
			c.Errorf("%v",
				err).Hint("write the text of a public key: in PEM for cosign, the line of an SSH key, or the second line of a minisign key")
			continue
		}
		p.Keys = append(p.Keys, key)
	}
	artifact := func(e Configured) bool { return e.Ref.Scheme == catalog.OCI }
	if len(p.Keys) > 0 && slices.ContainsFunc(p.Places, artifact) && !slices.ContainsFunc(p.Keys, signature.Key.SignsArtifacts) {
		item.Field("keys").Errorf("none of these keys can sign artifacts in a registry").Hint("add a cosign public key, in PEM")
	}
	return p
}

// required returns the items of list. It reports an error if there are none.
func required(list yaml.Cursor) []yaml.Cursor {
	items := list.Items()
	if len(items) == 0 {
		list.Errorf("must have at least one entry")
	}
	return items
}

// Covers reports whether the publisher must sign the catalog ref, whose path must have no
// symbolic links.
func (p *Publisher) Covers(ref catalog.Ref) bool {
	return slices.ContainsFunc(p.Places, func(e Configured) bool { return e.Covers(ref) })
}

// Ends returns the file name suffixes of signatures by the publisher's keys, without duplicates.
func (p *Publisher) Ends() (ends []string) {
	for _, key := range p.Keys {
		for _, end := range key.Ends {
			if !slices.Contains(ends, end) {
				ends = append(ends, end)
			}
		}
	}
	return ends
}

// Verify returns nil if sig, read from a file with the suffix end, is a signature of data by one
// of the publisher's keys.
func (p *Publisher) Verify(end string, data, sig []byte) error {
	var errs []error
	for _, key := range p.Keys {
		if !slices.Contains(key.Ends, end) {
			continue
		}
		err := key.Verify(data, sig)
		if err == nil {
			return nil
		}
		errs = append(errs, fmt.Errorf("%s: %w", key.Kind, err))
	}
	return errors.Join(errs...)
}

// VerifyArtifact returns nil if data and text, a signature stored in a registry, show that one
// of the publisher's keys signed the artifact with this digest: see
// [signature.Key.VerifyArtifact].
func (p *Publisher) VerifyArtifact(digest krm.Digest, data []byte, text string) error {
	var errs []error
	for _, key := range p.Keys {
		if !key.SignsArtifacts() {
			continue
		}
		err := key.VerifyArtifact(digest.String(), data, text)
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
