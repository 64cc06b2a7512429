// Package sink writes the lists of a run to a stream, a file or a folder. The output becomes
// visible on [Sink.Commit].
package sink

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"sync"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/secret"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/output"
	"github.com/krmflow/krmflow/render"
)

// ErrChanged is wrapped by errors of [Sink.Commit] that describe the differences of an output
// that is only compared.
var ErrChanged = errors.New("the output would change")

// A Sink takes the results of a run.
type Sink interface {
	// Put takes the list of a root. It may be called concurrently.
	Put(r render.Root, list *krm.List) error
	// Keep records that a root has failed, so that its previous output is kept.
	Keep(r render.Root) error
	// Reuse takes the result of an earlier run, like Put. It returns false if it needs the list
	// instead. It must be called before Put.
	Reuse(r render.Root, made Made) (bool, error)
	// Note adds the result of Put for a root to made, for a later Reuse.
	Note(r render.Root, made Made)
	// Commit makes the results visible.
	Commit() error
	// Abort discards the results. It does nothing after Commit.
	Abort()
}

// Made is the record of an earlier render of a root.
type Made interface {
	// Form returns the digest of the files in folders of a form, if it is known. SetForm sets
	// it.
	Form(key krm.Digest) (krm.Digest, bool)
	SetForm(key, files krm.Digest)
}

// stream writes one YAML stream of all roots, in the order in which they were given.
type stream struct {
	roots render.Roots
	write func(text func(io.Writer) error, perm fs.FileMode) error
	only  *krm.List // the list of the only root
	texts spool
}

// Stream returns a Sink that writes one YAML stream of all roots to w.
func Stream(w io.Writer, roots render.Roots) Sink {
	return &stream{roots: roots, write: func(text func(io.Writer) error, _ fs.FileMode) error { return text(w) }}
}

// FileOptions configure [File].
type FileOptions struct {
	// Check compares the file and writes nothing.
	Check bool
	// Mine reports whether content with this digest may be replaced: see [output.ReplaceFile].
	// A nil Mine allows every replacement.
	Mine func(krm.Digest) bool
	// Wrote is called with the change to the file and the digest of its new content.
	Wrote func(output.Change, krm.Digest)
}

// File returns a Sink that replaces the file at path with one YAML stream of all roots.
func File(path string, roots render.Roots, o FileOptions) (Sink, error) {
	if err := output.CheckFile(path); err != nil && !o.Check {
		return nil, err
	}
	return &stream{roots: roots, write: func(text func(io.Writer) error, perm fs.FileMode) error {
		var b bytes.Buffer
		if err := text(&b); err != nil {
			return err
		}
		if o.Check {
			return compare(path, b.Bytes())
		}
		change, err := output.ReplaceFile(path, b.Bytes(), perm, o.Mine)
		if err == nil {
			o.Wrote(change, krm.DigestOf(b.Bytes()))
		}
		return err
	}}, nil
}

// compare returns an error if the content of a file differs from data, or if it does not exist.
func compare(path string, data []byte) error {
	old, err := loaders.ReadFile(path, yaml.MaxFile)
	var missing *loaders.NotFoundError
	switch {
	case err != nil && !errors.As(err, &missing):
		return err
	case err == nil && string(old) == string(data):
		return nil
	}
	return &diag.Error{Msg: path + " would change", Err: ErrChanged}
}

func (s *stream) Put(r render.Root, list *krm.List) error {
	if len(s.roots) == 1 {
		s.only = list
		return nil
	}
	return s.texts.Put(r.Dir, list.WriteYAML)
}

func (s *stream) Keep(render.Root) error                { return nil }
func (s *stream) Reuse(render.Root, Made) (bool, error) { return false, nil }
func (s *stream) Note(render.Root, Made)                {}
func (s *stream) Abort()                                { s.texts.Close() }

func (s *stream) Commit() error {
	if s.only != nil {
		return s.write(s.only.WriteYAML, secret.Perm(s.only.HoldsSecrets()))
	}
	return s.write(func(w io.Writer) error { return s.texts.WriteYAML(w, s.roots.Dirs()) }, 0o666)
}

// folder writes one file per resource.
type folder struct {
	mu      sync.RWMutex // guards out: Abort may be called concurrently
	out     *output.Dir
	form    krm.Digest
	check   bool
	changed func(output.Changes)
}

// Folder returns a Sink that writes one file per resource to the folder at path, and then calls
// changed. If o.Check is true, it only compares the files. form is a key for the options:
// options that make different files from the same list must have different keys.
func Folder(path string, o output.Options, form krm.Digest, changed func(output.Changes)) (Sink, error) {
	out, err := output.Open(path, o)
	if err != nil {
		return nil, err
	}
	return &folder{out: out, form: form, check: o.Check, changed: changed}, nil
}

// formOf returns the key for a root's files. It includes the place of the root in the folder,
// because records of Secrets depend on it.
func (s *folder) formOf(r render.Root) krm.Digest { return formOf(s.form, r) }

func formOf(form krm.Digest, r render.Root) krm.Digest {
	return krm.DigestOf(append(form[:], r.Out...))
}

// Forms returns the keys of a root's files in the layouts with a name, without further options.
// The files in these layouts have all resources of the root, unchanged.
func Forms(r render.Root) (keys []krm.Digest) {
	for _, layout := range []string{"files", "single", "hydrator"} {
		flags := FolderFlags{layout: layout}
		keys = append(keys, formOf(flags.Form(), r))
	}
	return keys
}

func (s *folder) Reuse(r render.Root, made Made) (bool, error) {
	files, ok := made.Form(s.formOf(r))
	if !ok {
		return false, nil
	}
	return s.out.Reuse(r.Out, files)
}

func (s *folder) Note(r render.Root, made Made) { made.SetForm(s.formOf(r), s.out.Files(r.Out)) }

func (s *folder) Put(r render.Root, list *krm.List) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.out.Put(r.Out, list)
}

func (s *folder) Keep(r render.Root) error { return s.out.Keep(r.Out) }

func (s *folder) Abort() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out.Abort()
}

func (s *folder) Commit() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	changes, err := s.out.Commit()
	switch {
	case err != nil:
		return err
	case !s.check:
		s.changed(changes)
	case !changes.None():
		return describe(changes)
	}
	return nil
}

// describe returns an error that lists the differences, with a limited number of files of each
// kind.
func describe(c output.Changes) *diag.Error {
	e := diag.Errorf(diag.Pos{}, "", "the output would be changed: %d added, %d changed, %d removed, %d unchanged", len(c.Added),
		len(c.Changed), len(c.Removed), c.Unchanged).With(diag.OutputDiffers)
	e.Err = ErrChanged
	for _, k := range []struct {
		sign  string
		files []string
	}{{"+", c.Added}, {"~", c.Changed}, {"-", c.Removed}} {
		for i, f := range k.files {
			if i == 20 {
				e.Hint("%s ... and %d more", k.sign, len(k.files)-i)
				break
			}
			e.Hint("%s %s", k.sign, f)
		}
	}
	return e
}
