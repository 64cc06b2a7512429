package records

import (
	"context"
	"iter"

	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/internal/sys/filestat"
	"github.com/krmflow/krmflow/loaders"
)

// VerifyRoots reads the input files of recorded roots that a run would not read again, because
// their metadata is unchanged. A program that writes through a shared memory map can
// nevertheless have changed their content. VerifyRoots calls changed with the path of each
// changed file and, unless dryRun is true, removes the records of the roots rendered from it.
// It returns the number of recorded roots, and the cause of ctx if that ends.
func VerifyRoots(ctx context.Context, c *cache.Cache, dryRun bool, changed func(path string)) (n int, err error) {
	v := newView(nil, &filestat.Dirs{})
	told := map[string]bool{}
	for key, data := range c.AllKept(kind) {
		if ctx.Err() != nil {
			return n, context.Cause(ctx)
		}
		p, _ := decodePack(data)
		n += len(p)
		roots := len(p)
		for real, s := range p {
			stale := false
			for _, r := range s.records {
				for path := range r.trace.unnoticed(v) {
					stale = true
					if !told[path] {
						told[path] = true
						changed(path)
					}
				}
			}
			if stale {
				delete(p, real)
			}
		}
		if len(p) < roots && !dryRun {
			if err := c.Replace(kind, key, p.bytes()); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// unnoticed yields the files whose content has changed although their Stat has not.
func (t *trace) unnoticed(v *view) iter.Seq[string] {
	return func(yield func(path string) bool) {
		for _, f := range t.files {
			path := f.path()
			if f.kind != loaders.SawFile || f.stat == (filestat.Stat{}) {
				continue // every run reads it
			}
			now := v.look(path)
			if now.mode.IsRegular() && now.real == f.link && now.stat == f.stat && now.sum(path) != f.sum && !yield(path) {
				return
			}
		}
	}
}
