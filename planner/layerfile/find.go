// Package layerfile finds the file that makes a directory a layer, decodes a Kustomization or
// Component, and checks its references to other layers. Package composition decodes Compositions.
package layerfile

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
)

// The group, versions and kind in layers' files.
const (
	Group                = "kustomize.config.k8s.io"
	KustomizationVersion = Group + "/v1beta1"
	ComponentVersion     = Group + "/v1alpha1"
	CompositionVersion   = Group + "/v1alpha1"
	CompositionKind      = "Composition"
)

// Names are the names of kustomization files. A directory may contain only one of them.
var Names = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

// MaxSize is the maximum size of a layer's file in bytes.
const MaxSize = 4 << 20

// MaxNested limits the nesting depth of layers. The work of steps that each layer applies to all
// layers below it grows quadratically with the depth.
const MaxNested = 1000

// ErrNested returns the error for layers nested deeper than [MaxNested].
func ErrNested() error {
	return diag.Limitf("layers are nested more than %d deep", MaxNested).With(diag.Limit)
}

// A Reader reads the files of directories, as [loaders.Local] does.
type Reader interface {
	ReadUpTo(limit int64, dir *loaders.Dir, path string) (*yaml.Source, error)
}

// Find returns the file that makes dir a layer, and whether it is a Composition. There may be
// only one such file (CO-03).
func Find(r Reader, dir *loaders.Dir) (src *yaml.Source, composition bool, err error) {
	src, err = findFile(r, dir)
	var none *NoFileError
	if err != nil && !errors.As(err, &none) {
		return nil, false, err
	}
	c, cerr := FindComposition(r, dir, src != nil)
	switch {
	case cerr != nil:
		return nil, false, cerr
	case c == nil:
		return src, false, err
	case src != nil:
		return nil, false, both(src, c, "%s and %s are both present: a directory holds a Kustomization or a Composition, not both")
	}
	return c, true, nil
}

// findFile returns the only kustomization file of a directory.
func findFile(r Reader, dir *loaders.Dir) (*yaml.Source, error) {
	var found *yaml.Source
	for _, name := range Names {
		src, err := r.ReadUpTo(MaxSize, dir, name)
		var missing *loaders.NotFoundError
		switch {
		case errors.As(err, &missing):
		case err != nil:
			return nil, &ReadError{name, err}
		case found != nil:
			return nil, both(found, src, "%s and %s are both present, only one may be")
		default:
			found = src
		}
	}
	if found == nil {
		return nil, &NoFileError{dir}
	}
	return found, nil
}

// both returns the error for two files that exclude each other in a directory.
func both(a, b *yaml.Source, format string) error {
	return diag.Errorf(diag.Pos{File: b.File, Line: 1}, "", format, a.File,
		b.File).With(diag.SeveralKustomizations).Hint("remove one of them")
}

// A NoFileError reports that a directory has no file that makes it a layer.
type NoFileError struct{ dir *loaders.Dir }

// Kind returns the kind of message: see [diag.CodeOf].
func (e *NoFileError) Kind() diag.Code { return diag.NoKustomization }

func (e *NoFileError) Error() string {
	return fmt.Sprintf("no %s or %s in directory %q", strings.Join(Names, ", "), CompositionNames[0], diag.Redact(e.dir.Name))
}

// Hints suggests directories below it that have such a file, or to write one.
func (e *NoFileError) Hints() []string {
	if !e.dir.IsVirtual() {
		if hint := loaders.SubmoduleHint(e.dir.Real); hint != "" {
			return []string{hint}
		}
	}
	dir := diag.ShellWord(diag.Redact(e.dir.Name))
	if below := e.dir.Below(slices.Concat(Names, CompositionNames)); below != nil {
		return []string{"these subdirectories have one: " + diag.Some(below),
			fmt.Sprintf("name one of them, or use -R for all of them: krmflow plan -R %s", dir)}
	}
	return []string{fmt.Sprintf("create one with krmflow create --autodetect -C %s, or list the files themselves", dir)}
}

// A ReadError is an error reading the file that makes a directory a layer.
type ReadError struct {
	name string
	err  error
}

func (e *ReadError) Error() string { return e.err.Error() }
func (e *ReadError) Unwrap() error { return e.err }

// ErrorName returns the prefix of an error about a layer: the path of the file with the error, or
// the directory.
func ErrorName(dir *loaders.Dir, err error) string {
	var file *ReadError
	if errors.As(err, &file) {
		return filepath.Join(dir.Name, file.name)
	}
	return dir.Name
}

// InDirectory adds the directory to an error about one of its files.
func InDirectory(dir *loaders.Dir, err error) error {
	var no *NoFileError
	var at *diag.Error
	if errors.As(err, &no) || errors.As(err, &at) && at.Pos.File != "" {
		return err
	}
	return fmt.Errorf("%s: %w", dir.Name, err)
}

// CompositionNames are the names of composition files. A directory may contain only one of them,
// and no kustomization file next to it (CO-02, CO-03).
var CompositionNames = []string{"composition.yaml", "composition.yml"}

// IsComposition reports whether a file contains a Composition of kustomize. Other tools have
// objects of the same kind in files of the same name (CO-04): only the group distinguishes them.
// A file without apiVersion belongs to kustomize.
func IsComposition(src *yaml.Source) bool {
	docs, err := krm.Configs(src, nil)
	if err != nil {
		return looksLikeComposition(src.Data)
	}
	if len(docs) == 0 {
		return false
	}
	v := docs[0].Value()
	return isComposition(v.Get("apiVersion").Text(), v.Get("kind").Text())
}

func isComposition(apiVersion, kind string) bool {
	if apiVersion == "" {
		return kind == "Composition"
	}
	group, _, _ := strings.Cut(apiVersion, "/")
	return group == Group && kind != "Kustomization" && kind != "Component"
}

// looksLikeComposition determines apiVersion and kind of a file with invalid YAML from its lines.
func looksLikeComposition(text []byte) bool {
	var apiVersion, kind string
	for line := range bytes.Lines(text) {
		if rest, ok := bytes.CutPrefix(line, []byte("apiVersion:")); ok && apiVersion == "" {
			apiVersion = strings.Trim(string(bytes.TrimSpace(rest)), `"'`)
		} else if rest, ok := bytes.CutPrefix(line, []byte("kind:")); ok && kind == "" {
			kind = strings.Trim(string(bytes.TrimSpace(rest)), `"'`)
		}
	}
	return apiVersion != "" && kind == "Composition" && isComposition(apiVersion, kind)
}

// CompositionDir returns the directory of path if its base name is that of a composition file. A
// remote directory keeps the parameters of path.
func CompositionDir(path string) (dir string, ok bool) {
	query := ""
	if i := strings.IndexByte(path, '?'); i >= 0 && loaders.IsRemote(path) {
		path, query = path[:i], path[i:]
	}
	i := strings.LastIndexByte(path, '/')
	if !slices.Contains(CompositionNames, path[i+1:]) {
		return "", false
	}
	if i < 0 {
		return ".", true
	}
	return path[:i+1] + query, true
}

// FindComposition returns the only composition file in dir, nil if there is none. If others is
// set, files of other tools with such a name are skipped, and so are unreadable files.
func FindComposition(r Reader, dir *loaders.Dir, others bool) (*yaml.Source, error) {
	var found *yaml.Source
	for _, name := range CompositionNames {
		src, err := r.ReadUpTo(MaxSize, dir, name)
		var missing *loaders.NotFoundError
		switch {
		case errors.As(err, &missing):
		case others && (err != nil || !IsComposition(src)):
		case err != nil:
			return nil, &ReadError{name, err}
		case found != nil:
			return nil, both(found, src, "%s and %s are both present, only one may be")
		default:
			found = src
		}
	}
	return found, nil
}
