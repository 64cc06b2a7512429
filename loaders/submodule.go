package loaders

import (
	"fmt"
	"os"
	"path"
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

// submoduleHint returns a hint at the repository of the submodule at or above a place in t.
func (t *fetchedTree) submoduleHint(place string) string {
	text, _ := t.ReadFile(".gitmodules")
	for dir, inside := place, ""; dir != "."; dir, inside = path.Dir(dir), path.Join(path.Base(dir), inside) {
		address, ok := submodules(string(text))[dir]
		if !ok {
			continue
		}
		if strings.HasPrefix(address, "./") || strings.HasPrefix(address, "../") {
			base := strings.TrimSuffix(t.repo, "/")
			for strings.HasPrefix(address, "../") && strings.Contains(base, "/") {
				base, address = base[:strings.LastIndexByte(base, '/')], strings.TrimPrefix(address, "../")
			}
			address = base + "/" + strings.TrimPrefix(address, "./")
		}
		if inside != "" {
			address += "//" + inside
		}
		return fmt.Sprintf("refer to the repository of the submodule directly: %s?ref=COMMIT", diag.Redact(address))
	}
	return "refer to the repository of the submodule directly"
}

// namesSubmodule reports whether the text of a .gitmodules file has a submodule at a path.
func namesSubmodule(text, path string) bool {
	_, ok := submodules(text)[path]
	return ok
}

// submodules returns the addresses in the text of a .gitmodules file, by their paths.
func submodules(text string) map[string]string {
	all := map[string]string{}
	path, address := "", ""
	add := func() {
		if path != "" {
			all[path] = address
		}
		path, address = "", ""
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "[") {
			add()
		}
		key, value, _ := strings.Cut(line, "=")
		switch value = strings.Trim(strings.TrimSpace(value), `"`); strings.TrimSpace(key) {
		case "path":
			path = value
		case "url":
			address = value
		}
	}
	add()
	return all
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
