package revision

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/krmflow/krmflow/krm/yaml"
)

// idOf returns the git object id of a file with this content, using the hash function that
// produces ids as long as like.
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

// holds reports whether n is a regular file with this content. It compares object ids and does
// not call git.
func (n *node) holds(data []byte) bool { return n.mode.IsRegular() && idOf(data, n.id) == n.id }

// Holds reports whether name is a regular file with this object id and executable bit. It does
// not call git.
func (t *Tree) Holds(name, id string, executable bool) bool {
	n, err := t.lookup("lstat", name, false)
	return err == nil && n.mode.IsRegular() && (n.mode&0o111 != 0) == executable && n.id == id
}

// Lacks reports whether the tree has no entry at name. A link is an entry, even if its target does
// not exist. Lacks calls git only if a link leads to name.
func (t *Tree) Lacks(name string) bool {
	_, err := t.lookup("lstat", name, false)
	return errors.Is(err, fs.ErrNotExist)
}

// ID returns the object id of the file called name, or "" if it is not a regular file.
func (t *Tree) ID(name string) string {
	n, err := t.lookup("stat", name, true)
	if err != nil || !n.mode.IsRegular() {
		return ""
	}
	return n.id
}

// IDOf returns the object id that data would have in this repository.
func (t *Tree) IDOf(data []byte) string { return idOf(data, t.commit) }

// maxCopied is the size limit for work tree files that are read in place of an object, in bytes.
const maxCopied = 1 << 20

// copied reads a file from the work tree if its content there is that of the object. This is the
// case for most files and is cheaper than asking git.
func (t *Tree) copied(name string, n *node) {
	t.mu.Lock()
	_, known := t.sizes[n.id]
	t.mu.Unlock()
	if known || !n.mode.IsRegular() || t.ctx.Err() != nil {
		return
	}
	f, err := os.OpenFile(filepath.Join(t.top, filepath.FromSlash(name)), os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may be a FIFO
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

// Shares reports whether the file called name has the content of src, without calling git. If so,
// later reads use the content of src, and [Tree.Source] returns src.
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

// Source returns a file, passed to [Tree.Shares] before, with the content of name. It returns nil
// if there is none. The parsed form of the file can be reused.
func (t *Tree) Source(name string) *yaml.Source {
	n, err := t.lookup("stat", name, true)
	if err != nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.known[n.id]
}
