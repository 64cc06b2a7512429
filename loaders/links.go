package loaders

import (
	"os"
	"path/filepath"
)

// Real returns path with all symbolic links resolved.
func Real(path string) (string, error) { return filepath.EvalSymlinks(path) }

// Exists reports whether path exists. It does not follow a symbolic link at the end of path.
func Exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// IsFile reports whether path is a regular file, or a symbolic link to one.
func IsFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// Links adds to seen all symbolic links that are followed to resolve an absolute path, including
// links in their targets.
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

// IsRepository reports whether dir is the top directory of a git work tree.
func IsRepository(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, ".git"))
	return err == nil
}
