package filestat

import (
	"os"
	"path/filepath"
	"strings"
)

// maxLinks is how many symbolic links a path may lead through.
const maxLinks = 255

// Entries calls visit with each directory entry that decides what is at an absolute path, as its path: what is there changes if one of them does, and
// else not. Their directories have no symbolic links in their paths. The last one is not there if nothing is at path.
func Entries(path string, visit func(entry string)) {
	sep := string(filepath.Separator)
	at := filepath.VolumeName(path) + sep
	rest := strings.Split(strings.TrimPrefix(filepath.Clean(path), at), sep)
	for links := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		entry := filepath.Join(at, name)
		visit(entry)
		info, err := os.Lstat(entry)
		if err != nil {
			return
		}
		if info.Mode()&os.ModeSymlink == 0 {
			at = entry
			continue
		}
		target, err := os.Readlink(entry)
		if links++; err != nil || links > maxLinks {
			return
		}
		if filepath.IsAbs(target) {
			at = filepath.VolumeName(target) + sep
			target = strings.TrimPrefix(target, at)
		}
		rest = append(strings.Split(target, sep), rest...)
	}
}

// Resolve returns a path without symbolic links, as far as it exists.
func Resolve(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	up := filepath.Dir(path)
	if up == path {
		return path
	}
	return filepath.Join(Resolve(up), filepath.Base(path))
}
