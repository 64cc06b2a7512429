// Package lock reads, edits and encodes lock files. A lock file records the content that each
// remote reference resolved to, so that later runs get the same content or fail.
//
// A lock can only refuse content. An entry does not make content trusted. The package does no
// I/O.
package lock

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
)

// Name is the file name of a lock file. It is in the same directory as the content that it locks.
const Name = "krmflow.lock.yaml"

// The apiVersion and kind of lock files.
const (
	Version    = "krmflow.dev/v1alpha1"
	KindOfFile = "Lock"
)

// A Kind is the type of an entry.
type Kind string

// The kinds.
const (
	Git      Kind = "git"      // a repository at a branch, tag or commit
	Content  Kind = "file"     // a file or an archive at an address
	Artifact Kind = "artifact" // an artifact in a registry
	Image    Kind = "image"    // a container image
	Program  Kind = "program"  // a function's program, one entry per platform
	Catalog  Kind = "catalog"  // a function catalog
	Chart    Kind = "chart"    // a chart rendered by helm
)

var kinds = []Kind{Git, Content, Artifact, Image, Program, Catalog, Chart}

// An Entry records the content of one reference.
type Entry struct {
	// Name is the reference without credentials. Only the names of catalogs and programs include
	// a path inside the fetched content.
	Name string
	Kind Kind
	// Commit is the git commit id in hexadecimal digits. Digest is the SHA-256 of content from
	// other sources. Exactly one of them is set.
	Commit string
	Digest krm.Digest
	// Serial is the edition number of a catalog, 0 if it has none.
	Serial uint64
	// Pos is the position in the file, zero for an entry that was not read from one.
	Pos diag.Pos
}

// Version returns the commit or the digest.
func (e Entry) Version() string {
	if e.Commit != "" {
		return e.Commit
	}
	return e.Digest.String()
}

// Fixed reports whether the name includes the version, so its content cannot change.
func (e Entry) Fixed() bool {
	_, digits, ok := strings.Cut(e.Version(), ":")
	if !ok {
		digits = e.Commit
	}
	return strings.Contains(e.Name, digits)
}

// Is reports whether name identifies the entry. It can be the entry's name, with or without the
// path inside the fetched content, or a prefix of either that ends before the version or the
// path.
func (e Entry) Is(name string) bool {
	for _, own := range []string{e.Name, withoutPath(e.Name)} {
		rest, ok := strings.CutPrefix(own, name)
		if ok && (rest == "" || strings.HasPrefix(rest, "//") || strings.ContainsAny(rest[:1], "?#@:") && !strings.HasPrefix(rest, "://")) {
			return true
		}
	}
	return false
}

// withoutPath removes the path inside the fetched content from a name. A version after the path
// is kept.
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

// same reports whether e and o are equal except for their positions.
func (e Entry) same(o Entry) bool {
	e.Pos, o.Pos = diag.Pos{}, diag.Pos{}
	return e == o
}

// A File is the content of a lock file. The zero File is empty. Entries, Get and Without accept a
// nil File, which has no entries.
type File struct {
	// Path is the file's name in messages.
	Path    string
	entries []Entry // sorted by name, which is unique
}

// Entries returns all entries, sorted by name. The caller must not modify the slice.
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

// Set adds an entry. It replaces an entry with the same name.
func (f *File) Set(e Entry) {
	i, ok := find(f.entries, e.Name)
	if ok {
		f.entries[i] = e
	} else {
		f.entries = slices.Insert(f.entries, i, e)
	}
}

// Remove removes the entry for a reference, if any.
func (f *File) Remove(name string) {
	if i, ok := find(f.entries, name); ok {
		f.entries = slices.Delete(f.entries, i, i+1)
	}
}

func find(entries []Entry, name string) (int, bool) {
	return slices.BinarySearchFunc(entries, name, func(e Entry, name string) int { return cmp.Compare(e.Name, name) })
}

// Without returns a copy of f without the entries selected by drop. A nil drop selects none.
func (f *File) Without(drop func(Entry) bool) *File {
	if f == nil {
		return nil
	}
	if drop == nil {
		drop = func(Entry) bool { return false }
	}
	return &File{Path: f.Path, entries: slices.DeleteFunc(slices.Clone(f.entries), drop)}
}

// Text returns the file's encoding. Each entry has its own lines. The output is deterministic:
// equal entries give equal bytes.
func (f *File) Text() []byte {
	var b strings.Builder
	b.WriteString("# The content of remote references. krmflow lock writes this file.\n")
	b.WriteString("apiVersion: " + Version + "\nkind: " + KindOfFile + "\nentries:")
	if len(f.entries) == 0 {
		b.WriteString(" []")
	}
	b.WriteString("\n")
	for _, e := range f.entries {
		b.WriteString("- name: " + scalar(e.Name) + "\n  kind: " + string(e.Kind) + "\n")
		if e.Commit != "" {
			// The commit is quoted because it may consist of digits only.
			b.WriteString("  commit: " + strconv.Quote(e.Commit) + "\n")
		} else {
			b.WriteString("  digest: " + e.Digest.String() + "\n")
		}
		if e.Serial > 0 {
			b.WriteString("  serial: " + strconv.FormatUint(e.Serial, 10) + "\n")
		}
	}
	return []byte(b.String())
}

// scalar returns text as a YAML scalar. It is quoted unless every character is plain in YAML.
func scalar(text string) string {
	isPlain := text != "" && strings.Trim(text[:1], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" &&
		strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:/?=&._@#%+~-") == "" &&
		!strings.HasSuffix(text, ":")
	if isPlain {
		return text
	}
	return strconv.Quote(text)
}
