package cache

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"

	"github.com/krmflow/krmflow/krm"
)

// keptHeader begins each file with kept bytes: its last digit changes with the form of the file.
const keptHeader = "krmflow kept 1\n"

// Keep stores data for a key among those of one kind: a word that may be the name of a folder. What is kept later counts. In one file,
// unlike a blob with an entry: most are small, and there are many.
func (c *Cache) Keep(kind string, key krm.Digest, data []byte) error {
	dir, err := c.temp()
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, "kept-")
	if err != nil {
		return err
	}
	sum := keptSum(kind, key, data)
	text := append(make([]byte, 0, len(keptHeader)+len(sum)+len(data)), keptHeader...)
	_, err = f.Write(append(append(text, sum[:]...), data...))
	if err = cmp.Or(err, f.Close()); err == nil {
		path := c.kept(kind, key)
		c.use(path)
		if err = os.Rename(f.Name(), path); err != nil {
			if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
				err = moveTo(f.Name(), path)
			}
		}
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// Kept returns what [Cache.Keep] has stored for a key among those of one kind. Something that is damaged, or was stored for another key,
// was not stored.
func (c *Cache) Kept(kind string, key krm.Digest) ([]byte, bool) {
	path := c.kept(kind, key)
	text, err := readRegular(path)
	head := len(keptHeader) + len(key)
	if err != nil || len(text) < head || string(text[:len(keptHeader)]) != keptHeader {
		return nil, false
	}
	data := text[head:]
	if keptSum(kind, key, data) != krm.Digest(text[len(keptHeader):head]) {
		return nil, false
	}
	c.use(path)
	return data, true
}

// Forget removes what is kept for a key.
func (c *Cache) Forget(kind string, key krm.Digest) { os.RemoveAll(c.kept(kind, key)) }

// kept returns the path of kept bytes.
func (c *Cache) kept(kind string, key krm.Digest) string {
	name := hex.EncodeToString(key[:])
	return filepath.Join(c.dir, "kept", kind, name[:2], name[2:])
}

// keptSum is over the place, too: a file that was moved is as good as damaged.
func keptSum(kind string, key krm.Digest, data []byte) krm.Digest {
	h := sha256.New()
	io.WriteString(h, kind+"\x00")
	h.Write(key[:])
	h.Write(data)
	return krm.Digest(h.Sum(nil))
}
