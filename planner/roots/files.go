package roots

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/krmflow/krmflow/internal/sys/ignore"
	"github.com/krmflow/krmflow/loaders"
)

// Files are on this machine, or in [Selection.FS].

func (s *search) stat(name string) (fs.FileInfo, error) {
	if s.FS != nil {
		return fs.Stat(s.FS, inFS(name))
	}
	return os.Stat(name)
}

func (s *search) readDir(name string) ([]fs.DirEntry, error) {
	if s.FS != nil {
		return fs.ReadDir(s.FS, inFS(name))
	}
	return os.ReadDir(name)
}

// readFile returns the content of a regular file of at most limit bytes.
func (s *search) readFile(name string, limit int64) ([]byte, error) {
	if s.FS == nil {
		return loaders.ReadFile(name, limit)
	}
	f, err := s.FS.Open(inFS(name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%q is larger than %d MiB", name, limit>>20)
	}
	return data, err
}

// real returns a path without symbolic links: an absolute path on this machine, or a name in FS.
func (s *search) real(name string) (string, error) {
	if s.FS != nil {
		real, err := loaders.RealIn(s.FS, inFS(name))
		return filepath.FromSlash(real), err
	}
	abs, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

// inFS converts a path to the form of [fs.FS].
func inFS(name string) string { return filepath.ToSlash(filepath.Clean(name)) }

// readRules reads the ignore file of a directory.
func (s *search) readRules(dir, rel string, outer *ignore.Rules) (*ignore.Rules, error) {
	data, err := s.readFile(path.Join(dir, ignore.File), ignore.MaxSize)
	if err != nil {
		return nil, err
	}
	return ignore.Parse(dir, rel, data, outer)
}

// hasIgnoreFile reports whether a directory has an ignore file.
func hasIgnoreFile(entries []fs.DirEntry) bool {
	for _, d := range entries {
		if d.Name() == ignore.File && !d.IsDir() {
			return true
		}
	}
	return false
}
