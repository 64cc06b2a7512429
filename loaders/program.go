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

// MaxProgram is the size limit for programs, in bytes.
const MaxProgram = 1 << 30

// A Program is an executable file of a function.
type Program struct {
	// Real is the file and Root the directory that it must be in, both with symbolic links
	// resolved.
	Real, Root string
	// Digest is the digest of the file. It is zero if the file is outside of Root; such a file is
	// not read.
	Digest krm.Digest
	// Mode is the mode of the file, or 0 on Windows.
	Mode fs.FileMode
}

// Program hashes the program at an absolute path below root. The program must also be below root
// after symbolic links are resolved, even if layers may read all files. Its content is not kept
// in memory, because programs are much larger than configuration.
func (l *Local) Program(path, root string) (Program, error) {
	if IsGiven(path) {
		return Program{}, fmt.Errorf("%q is in the file system being rendered: a program must be a local file", l.Name(path))
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

// hash returns the digest and mode of a program in d.
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
		return digest, mode, &PointerError{Path: as} // a pointer cannot be executed
	}
	h.Write(start[:n])
	if _, err := io.Copy(h, io.LimitReader(f, size-int64(n))); err != nil {
		return digest, mode, pathError(err, as, "")
	}
	h.Sum(digest[:0])
	return digest, mode, nil
}

// LegacyPlugin returns the path below home of kustomize's legacy plugin for gvk. It returns "" if
// there is no such plugin or home is empty.
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
