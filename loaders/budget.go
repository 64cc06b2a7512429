package loaders

import (
	"sync/atomic"

	"github.com/krmflow/krmflow/diag"
)

// A Budget limits the total input of a run. A nil Budget means no limit. It is safe for
// concurrent use.
type Budget struct {
	// Max is the limit in bytes.
	Max  int64
	used atomic.Int64
}

// Used returns the number of bytes read so far. It must not be called on a nil Budget.
func (b *Budget) Used() int64 { return b.used.Load() }

// Add adds n bytes of other input, for example from a function, without checking the
// limit. It must not be called on a nil Budget.
func (b *Budget) Add(n int64) { b.used.Add(n) }

// take adds n bytes of a file and checks the limit.
func (b *Budget) take(n int64) error {
	if b == nil || b.used.Add(n) <= b.Max {
		return nil
	}
	return diag.Limitf("the files of this run have more than %s",
		diag.Count(int(b.Max), "byte")).Hint("--max-input sets how much it may read")
}
