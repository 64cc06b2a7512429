package loaders

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/krmflow/krmflow/krm"
)

// MaxProgram is the size in bytes up to which programs are accepted.
const MaxProgram = 1 << 30

// A Program is a file that a function is made of.
type Program struct {
	// Real and Root are the file and the directory that it has to lie below, without symbolic links.
	Real, Root string
	// Digest is that of the file, zero if it lies elsewhere: then it is not read.
	Digest krm.Digest
	// Mode is that of the file where systems have one, 0 where they do not.
	Mode fs.FileMode
}

// Program hashes the program at an absolute path below root, if that is below root as well once symbolic links are
// followed, whatever the layers may read. It is not kept: programs are larger than configuration.
func (l *Local) Program(path, root string) (Program, error) {
	if IsGiven(path) {
		return Program{}, fmt.Errorf("%q is in the file system that is rendered: a program must be a file of this machine", l.Name(path))
	}
	realRoot, err := filepath.EvalSymlinks(root)
	if err != nil {
		return Program{}, pathError(err, l.Name(root), root)
	}
	rel, err := filepath.Rel(root, path)
	if err != nil {
		return Program{}, err
	}
	p := Program{Root: realRoot}
	full := filepath.Join(realRoot, rel)
	dir := &Dir{Real: realRoot, Name: l.Name(realRoot)}
	defer dir.Close()
	p.Digest, p.Mode, err = (&Local{cwd: l.cwd, absolute: l.absolute}).hash(dir, full, rel)
	var outside *RestrictedError
	if err != nil && !errors.As(err, &outside) {
		return Program{}, err
	}
	p.Real, err = filepath.EvalSymlinks(full)
	return p, err
}

// hash returns the digest and the mode of a program in d.
func (l *Local) hash(d *Dir, abs, as string) (digest krm.Digest, mode fs.FileMode, err error) {
	f, err := l.open(d, abs, as)
	if err != nil {
		return digest, 0, err
	}
	defer f.Close()
	size, err := regularSize(f, as, MaxProgram)
	if err != nil {
		return digest, 0, err
	}
	if info, err := f.Stat(); err == nil && runtime.GOOS != "windows" {
		mode = info.Mode()
	}
	h := sha256.New()
	start := make([]byte, min(size, int64(len(pointerPrefix))))
	n, err := io.ReadFull(f, start)
	if err == nil && isPointer(start) {
		return digest, mode, &PointerError{Path: as} // a pointer can never run
	}
	h.Write(start[:n])
	if _, err := io.Copy(h, io.LimitReader(f, size-int64(n))); err != nil {
		return digest, mode, pathError(err, as, "")
	}
	h.Sum(digest[:0])
	return digest, mode, nil
}

// LegacyPlugin returns where kustomize's legacy plugin for gvk lies below home, "" if there is none or no home.
func LegacyPlugin(home string, gvk krm.GVK) string {
	path := filepath.Join(gvk.Group, gvk.Version, strings.ToLower(gvk.Kind), gvk.Kind)
	if home == "" || !filepath.IsLocal(path) {
		return ""
	}
	for _, end := range []string{"", ".so", ".go"} {
		if full := filepath.Join(home, path+end); IsFile(full) {
			return full
		}
	}
	return ""
}
