// Package lock holds lock files: which content each remote reference stood for when somebody looked, so that later runs take the same
// content or none.
//
// A lock can refuse and never allow: what it names is no more trusted for that. The package does no I/O.
package lock

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
)

// Name is the name of a lock file, beside what it locks.
const Name = "krmflow.lock.yaml"

// The spelling of a lock file that is written today.
const (
	Version    = "krmflow.dev/v1alpha1"
	KindOfFile = "Lock"
)

// A Kind says what an entry is about.
type Kind string

// The kinds.
const (
	Git      Kind = "git"      // a repository at a branch, tag or commit
	Content  Kind = "file"     // a file or an archive at an address
	Artifact Kind = "artifact" // of a registry
	Image    Kind = "image"    // that containers are made of
	Program  Kind = "program"  // of a function, each platform's by itself
	Catalog  Kind = "catalog"  // of functions
	Chart    Kind = "chart"    // that helm renders
)

var kinds = []Kind{Git, Content, Artifact, Image, Program, Catalog, Chart}

// An Entry says which content one reference stands for.
type Entry struct {
	// Name is the reference without credentials; only that of a catalog or a program has a path inside of what is fetched.
	Name string
	Kind Kind
	// Commit is what git calls the content, in hexadecimal digits; Digest is the SHA-256 of what does not come by git. One of them is set.
	Commit string
	Digest krm.Digest
	// Serial is the number of a catalog's edition, 0 if it has none.
	Serial uint64
	// Pos is the place in the file, zero for an entry that was not read.
	Pos diag.Pos
}

// Version returns the commit or the digest.
func (e Entry) Version() string {
	if e.Commit != "" {
		return e.Commit
	}
	return e.Digest.String()
}

// Fixed reports whether the name says the version itself: nothing else can come for it.
func (e Entry) Fixed() bool {
	_, digits, ok := strings.Cut(e.Version(), ":")
	if !ok {
		digits = e.Commit
	}
	return strings.Contains(e.Name, digits)
}

// Is reports whether name means the entry: it is its name, with or without the path, or what stands in front of the version or of the path
// there.
func (e Entry) Is(name string) bool {
	for _, own := range []string{e.Name, withoutPath(e.Name)} {
		rest, ok := strings.CutPrefix(own, name)
		if ok && (rest == "" || strings.HasPrefix(rest, "//") || strings.ContainsAny(rest[:1], "?#@:") && !strings.HasPrefix(rest, "://")) {
			return true
		}
	}
	return false
}

// withoutPath returns a name without the path inside of what is fetched: a version can stand behind it.
func withoutPath(name string) string {
	scheme := 0
	if i := strings.Index(name, "://"); i >= 0 {
		scheme = i + len("://")
	}
	before, rest, ok := strings.Cut(name[scheme:], "//")
	if !ok || strings.Contains(before, "?") {
		return name
	}
	if i := strings.IndexByte(rest, '?'); i >= 0 {
		before += rest[i:]
	}
	return name[:scheme] + before
}

// same reports whether e and o say the same, wherever they stand.
func (e Entry) same(o Entry) bool {
	e.Pos, o.Pos = diag.Pos{}, diag.Pos{}
	return e == o
}

// A File is what a lock file says. The zero File is an empty one. A nil File can be asked, and has no entry.
type File struct {
	// Path is how messages name the file.
	Path    string
	entries []Entry // sorted by name, each name once
}

// Entries returns all entries, sorted by name. The caller must not change them.
func (f *File) Entries() []Entry {
	if f == nil {
		return nil
	}
	return f.entries
}

// Get returns the entry for a reference.
func (f *File) Get(name string) (Entry, bool) {
	if i, ok := find(f.Entries(), name); ok {
		return f.entries[i], true
	}
	return Entry{}, false
}

// Set puts an entry in place of the one with its name.
func (f *File) Set(e Entry) {
	i, ok := find(f.entries, e.Name)
	if ok {
		f.entries[i] = e
	} else {
		f.entries = slices.Insert(f.entries, i, e)
	}
}

// Remove removes the entry for a reference, if there is one.
func (f *File) Remove(name string) {
	if i, ok := find(f.entries, name); ok {
		f.entries = slices.Delete(f.entries, i, i+1)
	}
}

func find(entries []Entry, name string) (int, bool) {
	return slices.BinarySearchFunc(entries, name, func(e Entry, name string) int { return cmp.Compare(e.Name, name) })
}

// Without returns a copy of f without the entries that drop chooses; nil chooses none.
func (f *File) Without(drop func(Entry) bool) *File {
	if f == nil {
		return nil
	}
	if drop == nil {
		drop = func(Entry) bool { return false }
	}
	return &File{Path: f.Path, entries: slices.DeleteFunc(slices.Clone(f.entries), drop)}
}

// Text returns the file as it is written: an entry is a group of lines, and equal entries make equal bytes.
func (f *File) Text() []byte {
	var b strings.Builder
	b.WriteString("# Which content remote references stand for. krmflow lock writes this file.\n")
	b.WriteString("apiVersion: " + Version + "\nkind: " + KindOfFile + "\nentries:")
	if len(f.entries) == 0 {
		b.WriteString(" []")
	}
	b.WriteString("\n")
	for _, e := range f.entries {
		b.WriteString("- name: " + scalar(e.Name) + "\n  kind: " + string(e.Kind) + "\n")
		if e.Commit != "" {
			b.WriteString("  commit: " + strconv.Quote(e.Commit) + "\n") // which may be nothing but digits
		} else {
			b.WriteString("  digest: " + e.Digest.String() + "\n")
		}
		if e.Serial > 0 {
			b.WriteString("  serial: " + strconv.FormatUint(e.Serial, 10) + "\n")
		}
	}
	return []byte(b.String())
}

// scalar returns a text as YAML has it: as it is, if nothing in it means anything to YAML.
func scalar(text string) string {
	isPlain := text != "" && strings.Trim(text[:1], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" &&
		strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:/?=&._@#%+~-") == "" && !strings.HasSuffix(text, ":")
	if isPlain {
		return text
	}
	return strconv.Quote(text)
}
