package records

import (
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
	data, ok := c.Kept(outputs, PathKey(folder))
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
	_ = c.Keep(outputs, PathKey(folder), e.b) // on failure, the next run reads the files again
}

// PathKey returns the key of cache entries for a local path.
func PathKey(path string) krm.Digest {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return krm.DigestOf([]byte(path))
}
