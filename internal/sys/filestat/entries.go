package filestat

import (
	"os"
	"path/filepath"
	"strings"
)

// maxLinks is the maximum number of symbolic links that [Entries] follows in one path.
const maxLinks = 255

// Entries calls visit with the path of each directory entry that path resolution reads on the
// way to an absolute path. The file at path can change only if one of these entries changes, so
// a caller can watch exactly these. The parent directories of the visited paths contain no
// symbolic links. If path does not exist, the last visited entry does not exist.
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

// Resolve returns path with all symbolic links resolved. Trailing elements that do not exist
// are kept as they are.
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
