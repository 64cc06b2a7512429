package krm

import (
	"path/filepath"
	"strings"
)

// FieldPath prints a path of mapping keys (string) and list indexes (int) as messages show it: "patches[2].target.kind".
func FieldPath(path []any) string { return printPath(path) }

// Within reports whether path is dir or lies below it. Both must be absolute and clean; symbolic links are not resolved.
func Within(path, dir string) bool {
	const sep = string(filepath.Separator)
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, sep)+sep)
}
