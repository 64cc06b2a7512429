package records

import (
	"bytes"
	"path/filepath"

	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/output/known"
)

// outputs is the kind of the cache entries for output folders.
const outputs = "outputs1"

// Output returns the known metadata of the files in an output folder. It is empty if no run has
// written the folder. The cache may be nil.
func Output(c *cache.Cache, folder string) *known.Files {
	k := known.New()
	if c == nil {
		return k
	}
	data, ok := c.Kept(outputs, pathKey(folder))
	if !ok {
		return k
	}
	d := newDecoder(data)
	n := d.uint()
	for range min(n, uint64(len(d.b))) {
		name := d.text()
		k.By[name] = known.File{Stat: d.stat(), Sum: d.digest()}
	}
	if d.err != nil {
		clear(k.By)
	}
	return k
}

// SaveOutput stores the metadata of the files in an output folder, if it has changed.
func SaveOutput(c *cache.Cache, folder string, k *known.Files) {
	if !k.Changed || c == nil {
		return
	}
	k.Changed = false
	e := &encoder{}
	e.uint(uint64(len(k.By)))
	for name, f := range k.By {
		e.text(name)
		e.stat(f.Stat)
		e.digest(f.Sum)
	}
	_ = c.Keep(outputs, pathKey(folder), e.b) // on failure, the next run reads the files again
}

// written is the kind of the cache entries for files outside output folders.
const written = "wrote1"

// LastWrite has the digest of the content that krmflow last wrote to a file, as far as this
// process or the cache knows it.
type LastWrite struct {
	open func() *cache.Cache
	key  krm.Digest
	sum  krm.Digest // of the last content that this process wrote
}

// OpenLastWrite returns the record of a file. open returns the cache, which may be nil. It is
// called when the cache is needed.
func OpenLastWrite(open func() *cache.Cache, file string) *LastWrite {
	return &LastWrite{open: open, key: pathKey(file)}
}

// Is reports whether the last content has this digest.
func (l *LastWrite) Is(sum krm.Digest) bool {
	if l.sum == sum {
		return true
	}
	c := l.open()
	if c == nil {
		return false
	}
	last, ok := c.Kept(written, l.key)
	return ok && bytes.Equal(last, sum[:])
}

// Save records the digest of new content.
func (l *LastWrite) Save(sum krm.Digest) {
	l.sum = sum
	if c := l.open(); c != nil {
		_ = c.Keep(written, l.key, sum[:]) // on failure, the next run needs --force
	}
}

// pathKey returns the key of cache entries for a local path.
func pathKey(path string) krm.Digest {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return krm.DigestOf([]byte(path))
}
