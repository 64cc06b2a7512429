package loaders

import (
	"sync/atomic"

	"github.com/krmflow/krmflow/diag"
)

// A Budget bounds how many bytes a run takes in. A nil Budget has no limit. It is safe for concurrent use.
type Budget struct {
	// Max is the limit in bytes.
	Max  int64
	used atomic.Int64
}

// Used returns how many bytes were taken in.
func (b *Budget) Used() int64 { return b.used.Load() }

// Add counts n bytes that come from elsewhere, for instance from a function. They are not limited here.
func (b *Budget) Add(n int64) { b.used.Add(n) }

// take counts n bytes of a file.
func (b *Budget) take(n int64) error {
	if b == nil || b.used.Add(n) <= b.Max {
		return nil
	}
	return diag.Limitf("the files that the run reads have more than %s", diag.Count(int(b.Max), "byte")).Hint("--max-input sets how much it may read")
}
