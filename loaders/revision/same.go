package revision

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"github.com/krmflow/krmflow/krm/yaml"
)

// idOf returns what git calls a file with this content, by a digest as long as that of another object.
func idOf(data []byte, like string) string {
	var h hash.Hash
	switch len(like) {
	case hex.EncodedLen(sha1.Size):
		h = sha1.New()
	case hex.EncodedLen(sha256.Size):
		h = sha256.New()
	default:
		return ""
	}
	fmt.Fprintf(h, "blob %d\x00", len(data))
	h.Write(data)
	return hex.EncodeToString(h.Sum(nil))
}

// holds reports whether n is a file with this content. Git is not asked.
func (n *node) holds(data []byte) bool { return n.mode.IsRegular() && idOf(data, n.id) == n.id }

// Holds reports whether a name is that of a regular file with this content, which whoever may run it may run, or not. Git is not asked.
func (t *Tree) Holds(name string, data []byte, executable bool) bool {
	n, err := t.lookup("lstat", name, false)
	return err == nil && (n.mode&0o111 != 0) == executable && n.holds(data)
}

// ID returns what git calls the content of the file that a name means, "" if it means none.
func (t *Tree) ID(name string) string {
	n, err := t.lookup("stat", name, true)
	if err != nil || !n.mode.IsRegular() {
		return ""
	}
	return n.id
}

// IDOf returns what git would call a content in this repository.
func (t *Tree) IDOf(data []byte) string { return idOf(data, t.commit) }

// maxCopied is how long a file of the work tree may be that is read in the place of an object, in bytes.
const maxCopied = 1 << 20

// copied reads a file from the work tree if it has there the content that it has in the tree, which most files have: that costs less than to ask git.
func (t *Tree) copied(name string, n *node) {
	t.mu.Lock()
	_, known := t.sizes[n.id]
	t.mu.Unlock()
	if known || !n.mode.IsRegular() || t.ctx.Err() != nil {
		return
	}
	f, err := os.OpenFile(filepath.Join(t.top, filepath.FromSlash(name)), os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may be a pipe
	if err != nil {
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxCopied {
		return
	}
	data := make([]byte, info.Size())
	if _, err := io.ReadFull(f, data); err != nil || !n.holds(data) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sizes[n.id], t.pending[n.id] = int64(len(data)), data
}

// Shares reports whether a name means a file with the content of src, without asking git. If so, the content is not read from git any more, and
// [Tree.Source] returns src.
func (t *Tree) Shares(name string, src *yaml.Source) bool {
	n, err := t.lookup("stat", name, true)
	if err != nil || !n.holds(src.Data) {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sizes[n.id] = int64(len(src.Data))
	t.known[n.id] = src
	return true
}

// Source returns a file with the content that a name has, nil if [Tree.Shares] was told of none: what has become of it can be used again.
func (t *Tree) Source(name string) *yaml.Source {
	n, err := t.lookup("stat", name, true)
	if err != nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.known[n.id]
}
