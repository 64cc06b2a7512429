package loaders

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/krmflow/krmflow/diag"
)

// SubmoduleHint returns a hint with the command that checks out the git submodule at or above a
// local path. The path is absolute and has no symbolic links. The hint is "" unless the submodule
// is an empty directory that a .gitmodules file names.
func SubmoduleHint(abs string) string {
	dir := abs
	entries, err := os.ReadDir(dir)
	for err != nil && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
		entries, err = os.ReadDir(dir)
	}
	if err != nil || len(entries) > 0 {
		return ""
	}
	for top := filepath.Dir(dir); ; top = filepath.Dir(top) {
		text, err := ReadFile(filepath.Join(top, ".gitmodules"), 1<<20)
		if rel, relErr := filepath.Rel(top, dir); err == nil && relErr == nil && namesSubmodule(string(text), filepath.ToSlash(rel)) {
			return "it is a git submodule that is not checked out: " + updateCommand(top, rel)
		}
		if err == nil || top == filepath.Dir(top) {
			return ""
		}
	}
}

// namesSubmodule reports whether the text of a .gitmodules file has a submodule at a path.
func namesSubmodule(text, path string) bool {
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(line, "=")
		if ok && strings.TrimSpace(key) == "path" && strings.Trim(strings.TrimSpace(value), `"`) == path {
			return true
		}
	}
	return false
}

// updateCommand returns the command that checks out a submodule. Its path is relative to the
// working directory, if that is in the repository.
func updateCommand(top, path string) string {
	if wd, err := os.Getwd(); err == nil {
		if real, err := filepath.EvalSymlinks(wd); err == nil && diag.Within(real, top) {
			if rel, err := filepath.Rel(real, filepath.Join(top, path)); err == nil {
				return "git submodule update --init " + diag.ShellWord(filepath.ToSlash(rel))
			}
		}
	}
	return "git -C " + diag.ShellWord(top) + " submodule update --init " + diag.ShellWord(filepath.ToSlash(path))
}
