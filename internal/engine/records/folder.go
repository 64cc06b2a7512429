package records

import (
	"bytes"
	"io/fs"
	"path/filepath"

	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/output/known"
)

// outputs is the kind of the cache entries for output folders.
const outputs = "outputs2"

// Output returns the known metadata of the files and folders in an output folder. It is empty if
// no run has written the folder. The cache may be nil.
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
	k.Lists = known.NewListings(d.text())
	for n := d.uint(); n > 0 && d.err == nil; n-- {
		k.Lists.Restore(d.text(), known.Stored{Stat: d.stat(), TextStat: d.stat(), Text: d.text(), Writable: d.uint() == 1,
			Entries: items(d, func() known.Entry { return known.Entry{Base: d.text(), Mode: fs.FileMode(d.uint())} })})
	}
	if d.err != nil {
		return known.New()
	}
	return k
}

// SaveOutput stores the metadata of the files in an output folder, if it has changed.
func SaveOutput(c *cache.Cache, folder string, k *known.Files) {
	listed := k.Lists != nil && k.Lists.Changed()
	if c == nil || !k.Changed && !listed {
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
	if lists := k.Lists; lists != nil {
		e.text(lists.Top())
		e.uint(uint64(lists.Len()))
		for dir, s := range lists.All {
			e.text(dir)
			e.stat(s.Stat)
			e.stat(s.TextStat)
			e.text(s.Text)
			e.bool(s.Writable)
			list(e, s.Entries, func(f known.Entry) { e.text(f.Base); e.uint(uint64(f.Mode)) })
		}
	} else {
		e.text("")
		e.uint(0)
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
