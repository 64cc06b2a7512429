package main

import (
	"maps"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// others tries the calls that nothing was written for, and numbers that have no name.
func (s *sweep) others() {
	file := filepath.Join(s.tree, "file")
	dir := 0
	if n, ok := s.take("openat", cwd, s.tree, unix.O_PATH, 0); ok {
		dir = n
	}
	buf := make([]byte, 1<<16)
	sets := [][]any{
		{0, 0, 0, 0, 0, 0},
		{-1, -1, -1, -1, -1, -1},
		{1, 2, 3, 4, 5, 6},
		{file, file, file, file, file, file},
		{buf, buf, buf, buf, buf, buf},
		{1 << 62, 1 << 62, 1 << 62, 1 << 62, 1 << 62, 1 << 62},
		{0, buf, 64, 0, 0, 0},
		{cwd, file, buf, 64, 0, 0},
		{dir, "file", buf, 64, 0, 0},
		{s.victim, buf, 64, buf, 64, 0},
		{s.executor, buf, 64, buf, 64, 0},
	}
	if s.quick {
		sets = sets[:1]
	}
	named := map[uintptr]bool{}
	for _, call := range slices.Sorted(maps.Keys(s.nr)) {
		named[s.nr[call]] = true
		if s.used[call] {
			continue
		}
		for _, args := range sets {
			s.free(call, args...)
		}
	}
	for nr := range uintptr(600) {
		if !named[nr] {
			for _, args := range sets[:min(2, len(sets))] {
				s.try(attempt{call: "without name", nr: nr, args: args})
			}
		}
	}
}
