package remote

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"

	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/loaders/remote/internal/archive"
	"github.com/krmflow/krmflow/loaders/remote/internal/artifact"
	"github.com/krmflow/krmflow/reference"
)

// A Program is the program of a function.
type Program struct {
	Data []byte
	// Sent is the digest of the downloaded file: the program, or the archive that contains it.
	Sent krm.Digest
}

// Program returns the program for a reference of the use [reference.Blob]. If the download is an
// archive and member is not empty, the program is the file member of the archive. want is the
// digest of the download or of the program. If it is zero, or the digest of the artifact that r
// names, it is not compared. Content is verified on every call, also content from the cache. The
// errors are those of [Session.Open].
func (s *Session) Program(ctx context.Context, r reference.Reference, member string, want krm.Digest, from Origin) (*Program, error) {
	if r.Scheme == reference.OCI && want == r.Pin {
		want = krm.Digest{} // the manifest has the digests of the layers
	}
	data, err := s.opt.Cache.Get(want)
	fetched := want.IsZero() || err != nil || r.Scheme == reference.OCI && !r.Pin.IsZero()
	if fetched {
		if data, err = s.blob(ctx, r, member, want, from); err != nil {
			return nil, err
		}
	}
	p, err := s.Extract(data, member, want)
	var wrong *digestError
	if errors.As(err, &wrong) {
		return nil, mismatch(r, wrong.want, wrong.got)
	} else if err != nil {
		return nil, wrap(r, err)
	}
	if fetched && !want.IsZero() {
		keep := data
		if p.Sent != want {
			keep = p.Data
		}
		_, err = s.opt.Cache.Put(keep) // the next run finds it by its digest
	}
	return p, err
}

// Extract returns the program in data, which need not be verified yet. If data is an archive and
// member is not empty, the program is the file member; otherwise it is data. want is the digest
// of data or of the program, or zero. If neither matches, the error wraps [ErrVerification].
func (s *Session) Extract(data []byte, member string, want krm.Digest) (*Program, error) {
	p := &Program{Data: data, Sent: krm.DigestOf(data)}
	verified := want.IsZero() || p.Sent == want
	if member != "" && archive.Is(data) {
		var err error
		if p.Data, err = s.member(data, member); err != nil {
			return nil, err
		}
		verified = verified || krm.DigestOf(p.Data) == want
	}
	if !verified {
		return nil, &digestError{want: want, got: p.Sent}
	}
	return p, nil
}

// blob returns the download for a reference, not unpacked.
func (s *Session) blob(ctx context.Context, r reference.Reference, member string, want krm.Digest, from Origin) ([]byte, error) {
	if r.Scheme == reference.OCI {
		return s.layerOf(ctx, r, member, from)
	}
	if r.Protocol() == "http" {
		r.Pin = want // nothing else is acceptable over http, which can be modified in transit
	}
	c, err := s.Open(ctx, r, from)
	if err != nil {
		return nil, err
	}
	data, err := c.Bytes()
	return data, wrap(r, err)
}

// layerOf returns the layer of an artifact that is the program: the only layer, or the layer
// named like the program.
func (s *Session) layerOf(ctx context.Context, r reference.Reference, member string, from Origin) ([]byte, error) {
	v, err := s.Resolve(ctx, r, from)
	if err != nil {
		return nil, err
	}
	data, err := s.programLayer(v.Digest, member)
	if errors.Is(err, fs.ErrNotExist) {
		if err := s.fetchOCI(ctx, r, v, from); err != nil {
			return nil, err
		}
		data, err = s.programLayer(v.Digest, member)
	}
	return data, wrap(r, err)
}

// programLayer returns the layer from the cache. The error wraps fs.ErrNotExist if the manifest
// or the layer is missing.
func (s *Session) programLayer(manifest krm.Digest, member string) ([]byte, error) {
	data, err := s.opt.Cache.Get(manifest)
	if err != nil {
		return nil, err
	}
	m, err := artifact.Parse(data)
	if err != nil {
		return nil, err
	}
	layer := m.Layers[0]
	for _, l := range m.Layers {
		if title := l.Title(); len(m.Layers) > 1 && (title == member || title == path.Base(member)) {
			layer = l
			break
		}
	}
	// runtime-starlark is accepted because an example uses it for programs.
	if what, _ := MediaType(layer.MediaType); what != "runtime-exec" && what != "runtime-starlark" {
		return nil, diag.BadProgram.Errorf("the media type %q is not for programs: expected %s", diag.Sanitise(layer.MediaType),
			ProgramLayer)
	}
	return s.layer(layer)
}

// member returns one file of an archive, which need not be verified yet.
func (s *Session) member(data []byte, name string) ([]byte, error) {
	tree, err := s.Unpack(data)
	if err != nil {
		return nil, err
	}
	defer tree.Close()
	program, err := tree.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, diag.Errorf(diag.Pos{}, "", "the archive has no %q", name).With(diag.BadProgram).Hint("it has %s",
			strings.Join(members(tree), ", "))
	}
	return program, err
}

// maxMembers is the limit for the files of an archive in an error message.
const maxMembers = 20

func members(tree *cache.Tree) (names []string) {
	fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || d.IsDir():
		case len(names) == maxMembers:
			names = append(names, "…")
			return fs.SkipAll
		default:
			names = append(names, diag.OneLine(name))
		}
		return nil
	})
	return names
}
