// Package publish pushes catalogs and the programs that they list to registries.
package publish

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/catalog"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/loaders/remote"
	"github.com/krmflow/krmflow/reference"
)

// Catalog pushes a local catalog to the tag of to, and each program file that it lists to the
// same repository. The pushed catalog refers to these programs by digest and is otherwise
// unchanged. A program must be below the folder of the catalog, match its digest in the
// catalog, and be at most limit bytes; otherwise nothing is pushed. The result is to with the
// digest of the pushed catalog. The errors are the errors of [remote.Session.Push].
func Catalog(ctx context.Context, s *remote.Session, c *catalog.Catalog, to catalog.Ref, limit int64) (catalog.Ref, error) {
	at, err := reference.Parse(to.Location, reference.File)
	if err != nil {
		return to, err
	}
	own, programs, err := localPrograms(c, limit)
	if err != nil {
		return to, err
	}
	stored := map[krm.Digest]string{}
	for _, p := range programs {
		if stored[p.digest] == "" {
			if stored[p.digest], err = p.store(ctx, s, at, limit); err != nil {
				return to, err
			}
		}
		p.platform.URI, p.platform.Pin = stored[p.digest], catalog.Pin{Given: true, Digest: p.digest}
	}
	layer := remote.Layer{MediaType: remote.CatalogLayer, Name: "catalog.yaml", Data: yaml.AppendYAML(nil, own.Value())}
	// The catalog is last, so that everything it refers to already exists.
	v, err := s.Push(ctx, at, remote.Artifact{Type: remote.CatalogLayer, Layers: []remote.Layer{layer}})
	to.Pin = v.Digest
	return to, err
}

// A program is a program file that a catalog lists.
type program struct {
	platform *catalog.Platform
	path     string // without symbolic links
	digest   krm.Digest
}

// localPrograms returns a copy of c that may be modified, and the local program files that it
// lists. The error joins the errors of all programs.
func localPrograms(c *catalog.Catalog, limit int64) (*catalog.Catalog, []program, error) {
	real, err := loaders.Real(c.Ref.Location)
	if err != nil {
		return nil, nil, err
	}
	own := *c
	own.Entries = slices.Clone(c.Entries)
	var programs []program
	var errs []error
	for i, e := range c.Entries {
		e := *e
		e.Exec = slices.Clone(e.Exec)
		own.Entries[i] = &e
		for j := range e.Exec {
			p := program{platform: &e.Exec[j]}
			local, err := p.find(filepath.Dir(real), limit)
			if err != nil {
				err := diag.Errorf(e.Pos(), "", "%s: the program %s: %w", e.GVK, diag.Redact(p.platform.URI), err)
				errs = append(errs, err)
			}
			if local {
				programs = append(programs, p)
			}
		}
	}
	return &own, programs, errors.Join(errs...)
}

var (
	errOutside     = errors.New("it is outside the catalog's folder")
	errCredentials = errors.New("the address has credentials, which every reader of the catalog would see")
)

// find reports whether p is a local file. If so, it looks up the file below dir and verifies
// its digest.
func (p *program) find(dir string, limit int64) (local bool, err error) {
	uri := p.platform.URI
	if catalog.IsAddress(uri) {
		if diag.Redact(uri) != uri {
			err = errCredentials
		}
		return false, err
	}
	if !filepath.IsLocal(uri) {
		return true, errOutside
	}
	if err := p.platform.Pin.Err(); err != nil {
		return true, fmt.Errorf("sha256: %w", err)
	}
	found, err := loaders.NewLocal(context.Background(), loaders.Config{Unrestricted: true}).Program(filepath.Join(dir, uri), dir)
	switch {
	case err != nil:
		return true, err
	case found.Digest.IsZero():
		return true, errOutside
	}
	p.path, p.digest = found.Real, found.Digest
	if want := p.platform.Pin.Digest; p.platform.Pin.Given && want != p.digest {
		return true, different(want, p.digest)
	}
	_, err = p.read(limit)
	return true, err
}

// read returns the content of the program, or an error if it no longer has the recorded digest.
func (p *program) read(limit int64) ([]byte, error) {
	data, err := loaders.ReadFile(p.path, limit)
	if got := krm.DigestOf(data); err == nil && got != p.digest {
		err = different(p.digest, got)
	}
	return data, err
}

func different(want, got krm.Digest) error {
	return &diag.Error{Msg: fmt.Sprintf("expected %s, got %s", want, got), Err: loaders.ErrVerification}
}

// store pushes the program to the repository of at and returns its address. It sets a tag
// because some registries delete untagged content.
func (p *program) store(ctx context.Context, s *remote.Session, at reference.Reference, limit int64) (string, error) {
	data, err := p.read(limit)
	if err != nil {
		return "", fmt.Errorf("%s: %w", p.path, err)
	}
	at.Ref = "program-" + strings.TrimPrefix(p.digest.String(), "sha256:")
	layer := remote.Layer{MediaType: remote.ProgramLayer, Data: data}
	v, err := s.Push(ctx, at, remote.Artifact{Type: remote.ProgramLayer, Layers: []remote.Layer{layer}})
	at.Ref = ""
	return at.At(v).String(), err
}
