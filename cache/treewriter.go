package cache

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
)

// MaxTarget is the maximum length of a symbolic link's target, in bytes.
const MaxTarget = 4096

// Limits bounds the size of a tree. A zero field means the default.
type Limits struct {
	Files int   // number of files; default [DefaultFiles]
	Bytes int64 // total size of all files; default [DefaultBytes]
}

// Default limits of a tree.
const (
	DefaultFiles = 100_000
	DefaultBytes = 1 << 30
)

// A TreeWriter builds a tree. It is not safe for concurrent use.
type TreeWriter struct {
	c       *Cache
	data    *Writer
	limits  Limits
	entries []entry
}

// NewTree starts a new tree. The tree becomes visible with [TreeWriter.Commit]. The caller must
// call [TreeWriter.Discard] in any case.
func (c *Cache) NewTree(limits Limits) (*TreeWriter, error) {
	data, err := c.Create()
	if err != nil {
		return nil, err
	}
	limits.Files = cmp.Or(limits.Files, DefaultFiles)
	limits.Bytes = cmp.Or(limits.Bytes, DefaultBytes)
	return &TreeWriter{c: c, data: data, limits: limits}, nil
}

// File adds a file. Its content is the first size bytes of r; a shorter r is an error.
func (w *TreeWriter) File(name string, executable bool, size int64, r io.Reader) error {
	e := entry{kind: regular, name: name}
	if executable {
		e.kind = program
	}
	return w.add(e, size, r)
}

// Link adds a symbolic link. The target is not checked until the link is followed.
func (w *TreeWriter) Link(name, target string) error {
	return w.add(entry{kind: link, name: name}, int64(len(target)), strings.NewReader(target))
}

// Absent adds a name without content, such as a git submodule. The name exists, but reading it
// fails with [ErrAbsent].
func (w *TreeWriter) Absent(name string) error {
	return w.add(entry{kind: absent, name: name}, 0, strings.NewReader(""))
}

func (w *TreeWriter) add(e entry, size int64, r io.Reader) error {
	if e.name == "." || !fs.ValidPath(e.name) || strings.ContainsRune(e.name, 0) {
		return fmt.Errorf("%q is not a valid file name", e.name)
	}
	if len(w.entries) >= w.limits.Files {
		return diag.Limitf("there are more than %s", diag.Count(w.limits.Files, "file"))
	}
	if size < 0 || size > w.limits.Bytes-w.data.Size() {
		return diag.Limitf("the files have more than %s, including %q", diag.Size(w.limits.Bytes), e.name)
	}
	sum := sha256.New()
	e.offset = w.data.Size()
	n, err := io.Copy(io.MultiWriter(w.data, sum), io.LimitReader(r, size))
	if err != nil {
		return err
	}
	if n < size {
		return fmt.Errorf("%q: %w", e.name, io.ErrUnexpectedEOF)
	}
	e.size, e.digest = size, krm.Digest(sum.Sum(nil))
	w.entries = append(w.entries, e)
	return nil
}

// Discard removes the tree if it was not committed.
func (w *TreeWriter) Discard() { w.data.Discard() }

// Commit stores the tree. It fails if two entries have the same name, or if an entry has the name
// of another entry's directory.
func (w *TreeWriter) Commit() (*Tree, error) {
	slices.SortFunc(w.entries, func(a, b entry) int { return compareNames(a.name, b.name) })
	for i := range w.entries[:max(0, len(w.entries)-1)] {
		a, b := w.entries[i].name, w.entries[i+1].name
		if a == b || strings.HasPrefix(b, a+"/") {
			return nil, fmt.Errorf("%q occurs twice", a)
		}
	}
	data, err := w.data.Commit()
	if err != nil {
		return nil, err
	}
	d, err := w.c.Put(index(data, w.entries))
	if err != nil {
		return nil, err
	}
	return w.c.Tree(d)
}

// magic is the first line of a tree's index.
const magic = "krmflow tree 1\n"

// index encodes a tree's index: the digest of the blob with the content of all files, followed by
// the kind, size, offset, digest and name of each file, each terminated by a NUL.
func index(data krm.Digest, entries []entry) []byte {
	var b bytes.Buffer
	b.WriteString(magic)
	b.WriteString(hex.EncodeToString(data[:]))
	b.WriteByte('\n')
	for i := range entries {
		e := &entries[i]
		b.WriteByte(byte(e.kind))
		b.WriteByte(' ')
		b.WriteString(strconv.FormatInt(e.size, 10))
		b.WriteByte(' ')
		b.WriteString(strconv.FormatInt(e.offset, 10))
		b.WriteByte(' ')
		b.WriteString(hex.EncodeToString(e.digest[:]))
		b.WriteByte(' ')
		b.WriteString(e.name)
		b.WriteByte(0)
	}
	return b.Bytes()
}

// parseIndex decodes the output of index.
func parseIndex(text string) (data krm.Digest, entries []entry, ok bool) {
	text, ok = strings.CutPrefix(text, magic)
	sum, text, found := strings.Cut(text, "\n")
	if !ok || !found || !decodeDigest(&data, sum) {
		return data, nil, false
	}
	entries = make([]entry, 0, strings.Count(text, "\x00"))
	for text != "" {
		var line string
		line, text, ok = strings.Cut(text, "\x00")
		kind, line, _ := strings.Cut(line, " ")
		size, line, _ := strings.Cut(line, " ")
		offset, line, _ := strings.Cut(line, " ")
		sum, name, _ := strings.Cut(line, " ")
		e := entry{name: name}
		var err1, err2 error
		e.size, err1 = strconv.ParseInt(size, 10, 64)
		e.offset, err2 = strconv.ParseInt(offset, 10, 64)
		if !ok || len(kind) != 1 || err1 != nil || err2 != nil || !decodeDigest(&e.digest, sum) {
			return data, nil, false
		}
		e.kind = kindOf(kind[0])
		entries = append(entries, e)
	}
	return data, entries, true
}

func decodeDigest(d *krm.Digest, text string) bool {
	if len(text) != 2*len(d) {
		return false
	}
	raw, err := hex.DecodeString(text)
	copy(d[:], raw)
	return err == nil
}
