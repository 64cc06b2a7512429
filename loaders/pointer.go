package loaders

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"github.com/krmflow/krmflow/diag"
)

// pointerPrefix is how a file begins that stands for one in Git LFS.
var pointerPrefix = []byte("version https://git-lfs.github.com/spec/")

// A PointerError says that a file is a Git LFS pointer: what the repository has in the place of the
// content.
type PointerError struct {
	Path string
	// Fetched tells that krmflow fetched it, so no command on this machine replaces it by the
	// content.
	Fetched bool
}

func (e *PointerError) Error() string {
	return fmt.Sprintf("%q is a Git LFS pointer, not the content of the file", diag.Redact(e.Path))
}

// Kind says which kind of message it is: see [diag.CodeOf].
func (e *PointerError) Kind() diag.Code { return diag.NotPulled }

// Hints says how to get the content.
func (e *PointerError) Hints() []string {
	if e.Fetched {
		return []string{"krmflow fetches repositories without Git LFS: clone it, run git lfs pull there, and refer to the clone"}
	}
	return []string{"to get the content: git lfs pull"}
}

func isPointer(data []byte) bool { return bytes.HasPrefix(data, pointerPrefix) }

// checkPointer returns the [PointerError] of a pointer that was fetched. It remembers one of this
// machine for [Local.Pointers]: a pointer is rarely meant, but a file that only looks like one must
// not be refused.
func (l *Local) checkPointer(fetched bool, data []byte, as, name string) error {
	switch {
	case !isPointer(data):
		return nil
	case fetched:
		return &PointerError{Path: as, Fetched: true}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pointers == nil {
		l.pointers = map[string]bool{}
	}
	l.pointers[name] = true
	return nil
}

// Pointers returns the names of the files that were read and are Git LFS pointers, sorted. Those
// that were fetched are errors instead.
func (l *Local) Pointers() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Sorted(maps.Keys(l.pointers))
}
