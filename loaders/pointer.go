package loaders

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"github.com/krmflow/krmflow/diag"
)

// pointerPrefix is the start of a Git LFS pointer file.
var pointerPrefix = []byte("version https://git-lfs.github.com/spec/")

// A PointerError reports a Git LFS pointer, which a repository stores in place of the content of a
// file.
type PointerError struct {
	Path string
	// Fetched is true for a file that krmflow fetched. No command on this machine can get its
	// content.
	Fetched bool
}

func (e *PointerError) Error() string {
	return fmt.Sprintf("%q is a Git LFS pointer, not the content of the file", diag.Redact(e.Path))
}

// Kind returns the error's code; see [diag.CodeOf].
func (e *PointerError) Kind() diag.Code { return diag.NotPulled }

// Hints returns instructions for getting the content.
func (e *PointerError) Hints() []string {
	if e.Fetched {
		return []string{"krmflow fetches repositories without Git LFS: clone it, run git lfs pull there, and refer to the clone"}
	}
	return []string{"to get the content: git lfs pull"}
}

func isPointer(data []byte) bool { return bytes.HasPrefix(data, pointerPrefix) }

// checkPointer returns a [PointerError] for a fetched pointer. It records a local pointer for
// [Local.Pointers] instead: a pointer is rarely intended, but a file that only looks like one must
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

// Pointers returns the sorted names of the local files that were read and are Git LFS pointers.
// Fetched pointers are errors instead.
func (l *Local) Pointers() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Sorted(maps.Keys(l.pointers))
}
