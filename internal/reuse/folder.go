package reuse

import (
	"path/filepath"

	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/output"
)

// outputs is what the cache calls what is known of output folders.
const outputs = "outputs1"

// Output returns what is known of the files of an output folder: nothing, if no run has written it. The cache may be nil.
func Output(c *cache.Cache, folder string) *output.Known {
	k := &output.Known{Files: map[string]output.KnownFile{}}
	if c == nil {
		return k
	}
	data, ok := c.Kept(outputs, folderKey(folder))
	if !ok {
		return k
	}
	d := &decoder{b: string(data)}
	n := d.uint()
	for range min(n, uint64(len(d.b))) {
		name := d.text()
		k.Files[name] = output.KnownFile{Stat: d.stat(), Sum: d.digest()}
	}
	if d.err != nil {
		clear(k.Files)
	}
	return k
}

// SaveOutput remembers what is known of the files of an output folder, if that has changed.
func SaveOutput(c *cache.Cache, folder string, k *output.Known) {
	if !k.Changed || c == nil {
		return
	}
	k.Changed = false
	e := &encoder{}
	e.uint(uint64(len(k.Files)))
	for name, f := range k.Files {
		e.text(name)
		e.stat(f.Stat)
		e.digest(f.Sum)
	}
	_ = c.Keep(outputs, folderKey(folder), e.b) // without it the files are read again
}

func folderKey(folder string) krm.Digest {
	if abs, err := filepath.Abs(folder); err == nil {
		folder = abs
	}
	return krm.DigestOf([]byte(folder))
}
