package loaders

import (
	"os"
	"path/filepath"
)

// Real returns path without symbolic links.
func Real(path string) (string, error) { return filepath.EvalSymlinks(path) }

// Exists reports whether there is anything at path.
func Exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// IsFile reports whether there is a regular file at path, or at what it links to.
func IsFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// Links adds to seen the symbolic links that an absolute path leads through, and those that they lead through.
func Links(path string, seen map[string]bool) {
	for ; path != filepath.Dir(path); path = filepath.Dir(path) {
		target, err := os.Readlink(path)
		if err != nil {
			continue
		}
		dir, err := filepath.EvalSymlinks(filepath.Dir(path))
		link := filepath.Join(dir, filepath.Base(path))
		if err != nil || seen[link] {
			continue
		}
		seen[link] = true
		if !filepath.IsAbs(target) {
			target = filepath.Join(dir, target)
		}
		Links(target, seen)
	}
}

// IsRepository reports whether the directory dir is that of a git repository.
func IsRepository(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, ".git"))
	return err == nil
}
