// Package layerfile finds the file that makes a directory a layer, and reads it if it holds a Kustomization or Component. What a Composition
// says is read by package composition.
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

// What files of layers say that they are.
const (
	Group                = "kustomize.config.k8s.io"
	KustomizationVersion = Group + "/v1beta1"
	ComponentVersion     = Group + "/v1alpha1"
	CompositionVersion   = Group + "/v1alpha1"
	CompositionKind      = "Composition"
)

// Names are the names of kustomization files. A directory may hold only one of them.
var Names = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

// MaxSize is the size in bytes up to which a file that makes a directory a layer is read.
const MaxSize = 4 << 20

// MaxNested bounds how deep layers use one another. What each does to all below it grows with the square of that.
const MaxNested = 1000

// ErrNested returns the error about layers that are nested deeper than [MaxNested].
func ErrNested() error {
	return diag.Limitf("layers are nested more than %d deep", MaxNested).With(diag.Limit)
}

// A Reader reads the files of directories, as [loaders.Local] does.
type Reader interface {
	ReadUpTo(limit int64, dir *loaders.Dir, path string) (*yaml.Source, error)
}

// Find returns the file that makes dir a layer, and whether that is a Composition. There may be only one (CO-03).
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

// findFile returns the one kustomization file of a directory.
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

// both returns the error about two files of which a directory may have one.
func both(a, b *yaml.Source, format string) error {
	return diag.Errorf(diag.Pos{File: b.File, Line: 1}, "", format, a.File, b.File).With(diag.SeveralKustomizations).Hint("remove one of them")
}

// NoFileError says that a directory has no file that makes it a layer.
type NoFileError struct{ dir *loaders.Dir }

// Kind says which kind of message it is: see [diag.CodeOf].
func (e *NoFileError) Kind() diag.Code { return diag.NoKustomization }

func (e *NoFileError) Error() string {
	return fmt.Sprintf("no %s or %s in directory %q", strings.Join(Names, ", "), CompositionNames[0], diag.Redact(e.dir.Name))
}

// Hints says what to do: name a directory below it that has one, or write one.
func (e *NoFileError) Hints() []string {
	if !e.dir.IsVirtual() {
		if hint := loaders.SubmoduleHint(e.dir.Real); hint != "" {
			return []string{hint}
		}
	}
	dir := diag.ShellWord(diag.Redact(e.dir.Name))
	if below := e.dir.Below(slices.Concat(Names, CompositionNames)); below != nil {
		return []string{"directories below it have one: " + diag.Some(below),
			fmt.Sprintf("name the one that is meant, or take all of them with -R, as krmflow plan -R %s does", dir)}
	}
	return []string{fmt.Sprintf("write one that lists its files, as krmflow create --autodetect -C %s does, or list the files themselves", dir)}
}

// A ReadError says why the file that makes a directory a layer cannot be read.
type ReadError struct {
	name string
	err  error
}

func (e *ReadError) Error() string { return e.err.Error() }
func (e *ReadError) Unwrap() error { return e.err }

// ErrorName returns what an error about a layer begins with: the path of the file that it is about, or the directory.
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

// CompositionNames are the names of files that hold a Composition. A directory may have one of them, and no kustomization file
// beside it (CO-02, CO-03).
var CompositionNames = []string{"composition.yaml", "composition.yml"}

// IsComposition reports whether a file holds a Composition of kustomize. Other tools have objects of that kind, too, in
// files of the same name (CO-04): only the group tells them apart. A file without apiVersion is one of kustomize.
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

// looksLikeComposition tells by its lines what a file says it is that cannot be parsed.
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

// CompositionDir returns the directory of path if that has the name of a file that holds a Composition. A directory that is remote has
// the parameters of path.
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

// FindComposition returns the one file in dir that holds a Composition, nil if there is none. Unless other tools may have
// put their files there, what has the name of one is meant to be one.
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
