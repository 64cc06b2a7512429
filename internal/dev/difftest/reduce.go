package main

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// A reducer reduces a tree while it still shows the same kind of difference.
type reducer struct {
	holds func(tree) bool // reports whether a smaller tree still has the difference
	left  int             // remaining number of attempts
}

// reduce returns the smallest tree found. It repeats all reductions until none of them succeeds
// or no attempts are left.
func (r *reducer) reduce(t tree) tree {
	for {
		size := len(t.String())
		t = r.dropBlocks(t)
		t = r.dropEntries(t)
		t = r.simplify(t)
		if len(t.String()) == size || r.left <= 0 {
			return t
		}
	}
}

// try replaces the text of a file if the difference persists. It removes files that are no
// longer referenced.
func (r *reducer) try(t tree, name, text string) (tree, bool) {
	if r.left <= 0 || text == t[name] {
		return t, false
	}
	r.left--
	smaller := maps.Clone(t)
	smaller[name] = text
	smaller.dropUnused()
	if !r.holds(smaller) {
		return t, false
	}
	return smaller, true
}

// dropUnused removes files that are not referenced. A kustomization file is referenced by the
// name of its folder.
func (t tree) dropUnused() {
	for again := true; again; {
		again = false
		for name := range t {
			if name == "kustomization.yaml" {
				continue
			}
			word := path.Base(name)
			if word == "kustomization.yaml" {
				word = path.Base(path.Dir(name))
			}
			used := false
			for other, text := range t {
				used = used || other != name && strings.Contains(text, word)
			}
			if !used {
				delete(t, name)
				again = true
			}
		}
	}
}

// dropBlocks removes lines together with the more indented lines below them, large blocks first.
func (r *reducer) dropBlocks(t tree) tree {
	for _, name := range t.paths() {
		for size := 64; size > 0; size /= 2 {
			for i := 0; ; i++ {
				lines := strings.SplitAfter(t[name], "\n")
				if i >= len(lines) {
					break
				}
				end := blockEnd(lines, i)
				if n := end - i; n < size || n >= 2*size && size < 64 {
					continue
				}
				rest := slices.Concat(lines[:i], lines[end:])
				smaller, ok := r.try(t, name, strings.Join(rest, ""))
				if ok {
					t = smaller
					i--
					continue
				}
				if _, exists := t[name]; !exists {
					break
				}
			}
		}
	}
	return t
}

// blockEnd returns the index of the line after the block that starts at line i: a document, or
// the lines indented below it.
func blockEnd(lines []string, i int) int {
	end := i + 1
	indent := indentation(lines[i])
	for end < len(lines) {
		switch n := indentation(lines[end]); {
		case strings.HasPrefix(lines[i], "---"):
			if strings.HasPrefix(lines[end], "---") {
				return end
			}
		case strings.TrimSpace(lines[end]) != "" && n <= indent:
			// A list may have the same indentation as its key.
			if n < indent || !strings.HasPrefix(strings.TrimSpace(lines[end]), "-") ||
				strings.HasPrefix(strings.TrimSpace(lines[i]), "-") || !strings.HasSuffix(strings.TrimSpace(lines[i]), ":") {
				return end
			}
		}
		end++
	}
	return end
}

func indentation(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// dropEntries removes entries of lists and mappings in flow style.
func (r *reducer) dropEntries(t tree) tree {
	for _, name := range t.paths() {
		for i := 0; i < len(t[name]); i++ {
			if c := t[name][i]; c != '{' && c != '[' && c != ',' {
				continue
			}
			text := t[name]
			end := entryEnd(text, i+1)
			if end < 0 {
				continue
			}
			rest := text[end:]
			if text[i] != ',' {
				if rest[0] == ',' {
					rest = strings.TrimLeft(rest[1:], " ")
				}
				rest = text[i:i+1] + rest
			}
			smaller, ok := r.try(t, name, text[:i]+rest)
			if ok {
				t = smaller
				i--
			}
		}
	}
	return t
}

// entryEnd returns the end of the entry that starts at i, or -1 if there is none.
func entryEnd(text string, i int) int {
	depth, start := 0, i
	for ; i < len(text); i++ {
		switch text[i] {
		case '\n':
			return -1
		case '{', '[':
			depth++
		case '}', ']', ',':
			if depth == 0 && i > start {
				return i
			}
			if depth == 0 {
				return -1
			}
			if text[i] != ',' {
				depth--
			}
		}
	}
	return -1
}

// simplify replaces the values of fields with simple ones.
func (r *reducer) simplify(t tree) tree {
	for _, name := range t.paths() {
		lines := strings.SplitAfter(t[name], "\n")
		for i := range lines {
			key, value, ok := strings.Cut(strings.TrimSuffix(lines[i], "\n"), ": ")
			if !ok {
				continue
			}
			for _, simple := range []string{"a", "{}"} {
				if len(value) <= len(simple) {
					break
				}
				changed := slices.Clone(lines)
				changed[i] = key + ": " + simple + "\n"
				smaller, ok := r.try(t, name, strings.Join(changed, ""))
				if ok {
					t, lines = smaller, changed
					break
				}
			}
		}
	}
	return t
}
