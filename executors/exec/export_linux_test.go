package exec

import (
	"os"
	"sync"
	"testing"
)

// NewWith returns an executor for a machine with at most the given isolation.
func NewWith(i Isolation) *Executor {
	x := New()
	x.isolation = sync.OnceValue(func() Isolation { return Try(i) })
	return x
}

// Isolation returns the isolation of the functions of x.
func (x *Executor) Isolation() Isolation { return x.isolation() }

// Whole returns i with this binary as the sandbox process.
func (i Isolation) Whole() Isolation {
	i.whole = true
	return i
}

// Embed embeds a program with this content for the duration of a test.
func Embed(t testing.TB, content []byte) {
	before, file := helper, sealedFile(string(content))
	helper = func() *os.File { return file }
	t.Cleanup(func() {
		helper = before
		file.Close()
	})
}
