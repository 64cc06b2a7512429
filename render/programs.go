package render

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/loaders/remote"
	"github.com/krmflow/krmflow/reference"
	"github.com/krmflow/krmflow/scheduler"
)

// programs fetches the programs of functions for one run. Each program is verified and written
// once, to a folder that only the user can read.
type programs struct {
	session func() (opened, error)
	folder  func() (string, error)

	mu    sync.Mutex
	known map[programKey]func() (*local, error)
}

// A programKey identifies a program and the file name that it gets.
type programKey struct {
	uri, archive, member, name string
	digest                     krm.Digest
}

// A local program is a fetched program in a local file.
type local struct {
	path   string
	digest krm.Digest // of the program itself
}

// programs returns a program fetcher. Its folder is created for the first program; end removes
// it.
func (s Sources) programs() (p *programs, end func()) {
	session, endSession := lazily(s.ordinary)
	dir := ""
	p = &programs{session: session, known: map[programKey]func() (*local, error){}}
	p.folder = sync.OnceValues(func() (string, error) {
		in, err := session()
		if err == nil {
			dir, err = in.cache.TempDir()
		}
		return dir, err
	})
	return p, func() {
		if dir != "" {
			os.RemoveAll(dir)
		}
		endSession()
	}
}

// local returns f with a local program if the program must be fetched or unpacked.
func (p *programs) local(ctx context.Context, f function.Function) (function.Function, error) {
	if f.URI == "" && f.Archive == "" {
		return f, nil
	}
	if p == nil {
		return f, diag.BadProgram.Errorf("%s: %q is remote, and fetching is not enabled here", f.Name, diag.Redact(f.URI))
	}
	address, _, _ := strings.Cut(f.URI, "?")
	key := programKey{f.URI, f.Archive, f.Program, cmp.Or(f.Bin, path.Base(address)), f.Digest}
	p.mu.Lock()
	get := p.known[key]
	if get == nil {
		get = sync.OnceValues(func() (*local, error) { return p.fetch(ctx, key) })
		p.known[key] = get
	}
	p.mu.Unlock()
	found, err := get()
	if err != nil {
		return f, diag.Errorf(diag.Pos{}, "", "%s: %w", f.Name, err).With(diag.BadProgram)
	}
	f.URI, f.Archive = "", ""
	f.Program, f.Root, f.Digest = found.path, filepath.Dir(found.path), found.digest
	return f, nil
}

func (p *programs) fetch(ctx context.Context, key programKey) (*local, error) {
	in, err := p.session()
	if err != nil {
		return nil, err
	}
	if key.digest.IsZero() {
		// Trust requires a digest.
		return nil, diag.BadProgram.Errorf("the program has no digest")
	}
	program, err := in.program(ctx, key)
	if err != nil {
		return nil, err
	}
	parent, err := p.folder()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(parent, "program-")
	if err != nil {
		return nil, err
	}
	name := filepath.Base(key.name)
	if !filepath.IsLocal(name) {
		return nil, diag.BadProgram.Errorf("%q is not a valid program name", name)
	}
	l := &local{filepath.Join(dir, name), krm.DigestOf(program.Data)}
	return l, os.WriteFile(l.path, program.Data, 0o500)
}

// program returns the verified program for a key.
func (in opened) program(ctx context.Context, key programKey) (*remote.Program, error) {
	if key.archive != "" {
		data, err := loaders.ReadFile(key.archive, loaders.MaxProgram)
		if err != nil {
			return nil, err
		}
		p, err := in.Extract(data, key.member, key.digest)
		if errors.Is(err, remote.ErrVerification) {
			err = fmt.Errorf("the archive %s does not match the trusted catalog: %w", diag.OneLine(key.archive), err)
		}
		return p, err
	}
	r, err := reference.Parse(key.uri, reference.Blob)
	if err != nil {
		return nil, err
	}
	return in.Program(ctx, r, key.member, key.digest, remote.FromUser)
}

// A fetchingExecutor fetches the programs of functions before it executes them.
type fetchingExecutor struct {
	scheduler.Executor
	programs *programs
}

// Prepare fetches the program of f.
func (x fetchingExecutor) Prepare(ctx context.Context, f function.Function) error {
	f, err := x.programs.local(ctx, f)
	if err != nil {
		return err
	}
	return x.Executor.Prepare(ctx, f)
}

// Execute runs f with the fetched program.
func (x fetchingExecutor) Execute(ctx context.Context, f function.Function, list yaml.Chunks) (function.Output, error) {
	f, err := x.programs.local(ctx, f)
	if err != nil {
		return function.Output{}, err
	}
	return x.Executor.Execute(ctx, f, list)
}
