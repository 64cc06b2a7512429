// Package manifest reads and writes the manifests of an output folder, which list the files that
// krmflow wrote. Each root has a manifest in its folder, so changes of different roots never
// touch the same manifest.
package manifest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/krmflow/krmflow/krm"
)

const (
	// Name has no extension that tools which apply whole folders would recognize.
	Name = Reserved + "manifest"
	// Reserved is the prefix of all names that krmflow uses for itself. Rendered files never
	// start with a dot.
	Reserved = ".krmflow-"
	// MaxSize is the size limit for a manifest in bytes, enough for a quarter of a million files.
	MaxSize = 32 << 20

	header    = "krmflow-manifest 2"
	oldHeader = "krmflow-manifest 1" // of a manifest that lists all roots
	// maxFolders is the limit for the folders with files and their parents, counting a parent
	// once for each of these folders. maxPath is the common limit of systems for a path, in
	// bytes.
	maxFolders = 1 << 17
	maxPath    = 4096
)

// A Manifest is the combined content of all manifests of an output folder.
type Manifest struct {
	// Base is the directory that contains the roots: slash-separated and relative to the output
	// folder, or "" if unknown.
	Base string
	// Roots are the folders of roots with files. They may be nested; "." is the output folder
	// itself.
	Roots map[string]bool
	// Files are the records by folder and name. The folders are those of the roots and their
	// subfolders.
	Files map[string]map[string]Record
	// Torn has the roots whose manifest was changed after krmflow wrote it: versions of it were
	// merged, or it has conflict markers.
	Torn map[string]bool
	// Shard is not nil for a partial folder.
	Shard *Shard

	also    map[string][]Record // additional records by path, from merged versions of a manifest
	texts   map[string]string   // original texts of the manifests by folder
	folders int                 // see maxFolders

	once sync.Once
	of   map[string][]string // folders by root, for Of
}

// A Record identifies the content of a file.
type Record struct {
	Sum krm.Digest
	// Secret is true for a file with a Secret. Its Sum covers the path and the content, so that it
	// cannot be found in a list of known digests. Guesses can still be verified. Manifests with
	// such records are therefore readable only for their owner, like the files.
	Secret bool
}

// RecordOf returns the Record for data at path, which is relative to the output folder.
func RecordOf(path string, data []byte, secret bool) Record {
	if !secret {
		return Record{Sum: krm.DigestOf(data)}
	}
	h := sha256.New()
	io.WriteString(h, path+"\x00")
	h.Write(data)
	return Record{krm.Digest(h.Sum(nil)), true}
}

// New returns an empty Manifest.
func New() *Manifest {
	return &Manifest{Roots: map[string]bool{}, Files: map[string]map[string]Record{}, Torn: map[string]bool{}, also: map[string][]Record{},
		texts: map[string]string{}}
}

// maxVersions is the limit for the records of a file.
const maxVersions = 64

// add adds a record of a file of a root. A file has several records if versions of a manifest
// were merged.
func (m *Manifest) add(root, file string, rec Record) error {
	m.Roots[root] = true
	dir, name := Split(path.Join(root, file))
	files := m.Files[dir]
	if files == nil {
		files = map[string]Record{}
		m.Files[dir] = files
		if m.folders += 1 + strings.Count(dir, "/"); m.folders > maxFolders {
			return errors.New("too many folders")
		}
	}
	was, twice := files[name]
	if !twice {
		files[name] = rec
		return nil
	}
	at := path.Join(dir, name)
	if more := m.also[at]; was != rec && !slices.Contains(more, rec) {
		if m.also[at] = append(more, rec); len(more) == maxVersions {
			return errors.New("too many versions of a file")
		}
	}
	return nil
}

// Is reports whether rec is a record of a file.
func (m *Manifest) Is(dir, name string, rec Record) bool {
	was, ok := m.Files[dir][name]
	return ok && (was == rec || len(m.also) > 0 && slices.Contains(m.also[path.Join(dir, name)], rec))
}

// Written reports whether krmflow wrote data to a file. This includes text with conflict markers
// if krmflow wrote each of its versions.
func (m *Manifest) Written(dir, name string, data []byte) bool {
	if was, ok := m.Files[dir][name]; !ok {
		return false
	} else if file := path.Join(dir, name); RecordOf(file, data, was.Secret) == was ||
		slices.ContainsFunc(m.also[file], func(rec Record) bool { return RecordOf(file, data, rec.Secret) == rec }) {
		return true
	}
	ours, theirs, ok := versions(data)
	return ok && m.Written(dir, name, ours) && m.Written(dir, name, theirs)
}

// Lists reports whether m has a file at path.
func (m *Manifest) Lists(file string) bool {
	dir, name := Split(file)
	_, ok := m.Files[dir][name]
	return ok
}

// Owner returns the innermost root that contains a folder, and whether there is one.
func (m *Manifest) Owner(dir string) (string, bool) {
	for ; ; dir, _ = Split(dir) {
		if m.Roots[dir] || dir == "." {
			return dir, m.Roots[dir]
		}
	}
}

// Keep copies a root with its files and records from old.
func (m *Manifest) Keep(old *Manifest, root string) {
	m.Roots[root] = true
	for _, dir := range old.Of(root) {
		m.Files[dir] = old.Files[dir]
		if len(old.also) == 0 {
			continue
		}
		for name := range old.Files[dir] {
			if more := old.also[path.Join(dir, name)]; more != nil {
				m.also[path.Join(dir, name)] = more
			}
		}
	}
}

// Of returns the folders with files of a root, sorted. Roots and Files must not change after the
// first call. Its results are precomputed, because an output can have thousands of roots and each
// is requested.
func (m *Manifest) Of(root string) []string {
	m.once.Do(func() {
		m.of = make(map[string][]string, len(m.Roots))
		for _, dir := range slices.Sorted(maps.Keys(m.Files)) {
			if owner, ok := m.Owner(dir); ok {
				m.of[owner] = append(m.of[owner], dir)
			}
		}
	})
	return m.of[root]
}

// Digest returns a digest of records by folder and name.
func Digest(folders map[string]map[string]Record) krm.Digest {
	h := sha256.New()
	var b []byte
	for _, dir := range slices.Sorted(maps.Keys(folders)) {
		b = append(strconv.AppendQuote(b[:0], dir), '\n')
		for _, name := range slices.Sorted(maps.Keys(folders[dir])) {
			rec := folders[dir][name]
			b = strconv.AppendBool(strconv.AppendQuote(b, name), rec.Secret)
			b = append(b, rec.Sum[:]...)
		}
		h.Write(b)
	}
	return krm.Digest(h.Sum(nil))
}

// Text returns the original text of the manifest in a folder, or "" if there was none.
func (m *Manifest) Text(dir string) string { return m.texts[dir] }

// Folders returns every folder with files of m and all parents, except the output folder itself.
func (m *Manifest) Folders() map[string]bool {
	dirs := make(map[string]bool, len(m.Files))
	for dir := range m.Files { // includes the folders of roots, which are parents
		for ; dir != "." && !dirs[dir]; dir, _ = Split(dir) {
			dirs[dir] = true
		}
	}
	return dirs
}

// Conflict returns a path that is both a folder and a file in m, or "".
func (m *Manifest) Conflict() string {
	for dir := range m.Folders() {
		if m.Lists(dir) {
			return dir
		}
	}
	return ""
}

// Encode returns the manifest of each root by folder. The one for the output folder itself always
// exists.
//
// The digest of a file is on a separate line after its name. If two branches change neighboring
// files, the unchanged name lines separate their changes, so that git can merge them.
func (m *Manifest) Encode() map[string]string {
	texts := map[string]string{}
	var b []byte
	for root, files := range m.byRoot() {
		b = m.appendTo(m.appendBase(append(b[:0], header+"\n"...), root), root, files)
		texts[root] = string(b)
	}
	return texts
}

// Together returns the manifests of all roots as one text, which [Manifest.Read] accepts for the
// output folder.
func (m *Manifest) Together() string {
	b := m.appendBase([]byte(header+"\n"), ".")
	files := m.byRoot()
	for _, root := range slices.Sorted(maps.Keys(files)) {
		b = append(strconv.AppendQuote(append(b, "root "...), root), '\n')
		b = m.appendTo(b, root, files[root])
	}
	return string(b)
}

// byRoot returns the paths of the files of each root, sorted. "." is always included.
func (m *Manifest) byRoot() map[string][]string {
	roots := map[string][]string{".": nil}
	for dir, files := range m.Files {
		root, _ := m.Owner(dir)
		for name := range files {
			roots[root] = append(roots[root], path.Join(dir, name))
		}
	}
	for _, files := range roots {
		slices.Sort(files)
	}
	return roots
}

// appendBase appends the lines about the whole folder to its manifest.
func (m *Manifest) appendBase(b []byte, root string) []byte {
	if root == "." && m.Base != "" {
		b = append(strconv.AppendQuote(append(b, "base "...), m.Base), '\n')
	}
	if root == "." && m.Shard != nil {
		b = m.Shard.append(b)
	}
	return b
}

func (m *Manifest) appendTo(b []byte, root string, files []string) []byte {
	for _, file := range files {
		b = append(strconv.AppendQuote(b, strings.TrimPrefix(file, root+"/")), '\n')
		dir, name := Split(file)
		b = appendRecord(b, m.Files[dir][name])
		for _, rec := range m.also[file] {
			b = appendRecord(b, rec)
		}
	}
	return b
}

func appendRecord(b []byte, rec Record) []byte {
	b = append(b, ' ')
	if rec.Secret {
		b = append(b, "secret "...)
	}
	return append(hex.AppendEncode(b, rec.Sum[:]), '\n')
}

// Secret returns the roots with files that contain Secrets. Their manifests are private to their
// owner.
func (m *Manifest) Secret() map[string]bool {
	roots := map[string]bool{}
	for dir, files := range m.Files {
		for _, rec := range files {
			if rec.Secret {
				root, _ := m.Owner(dir)
				roots[root] = true
				break
			}
		}
	}
	return roots
}

// Split returns the folder and the last element of a clean, relative path.
func Split(file string) (dir, name string) {
	i := strings.LastIndexByte(file, '/')
	if i < 0 {
		return ".", file
	}
	return file[:i], file[i+1:]
}
