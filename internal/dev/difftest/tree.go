package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A tree holds the files of a root by path. The root is the top folder.
type tree map[string]string

// write replaces the content of dir with the files of t.
func (t tree) write(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	for path, text := range t {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// String returns the tree as a txtar archive.
func (t tree) String() string {
	var b strings.Builder
	for _, path := range t.paths() {
		text := t[path]
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		fmt.Fprintf(&b, "-- %s --\n%s", path, text)
	}
	return b.String()
}

// paths returns the paths sorted by depth, so that the root comes first.
func (t tree) paths() []string {
	return slices.SortedFunc(maps.Keys(t), func(a, b string) int {
		if x, y := strings.Count(a, "/"), strings.Count(b, "/"); x != y {
			return x - y
		}
		return strings.Compare(a, b)
	})
}

// parseTree parses the result of [tree.String].
func parseTree(text string) tree {
	t := tree{}
	path := ""
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, "-- "); ok {
			if name, ok := strings.CutSuffix(strings.TrimSpace(rest), " --"); ok {
				path = name
				t[path] = ""
				continue
			}
		}
		if path != "" {
			t[path] += line
		}
	}
	return t
}
