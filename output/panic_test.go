package output

import (
	"bytes"
	"errors"
	"testing"

	"github.com/krmflow/krmflow/diag"
)

// A panic in a goroutine of the commit becomes an error with the stack of the panic.
func TestCommitPanic(t *testing.T) {
	// a bug: the folder of x does not exist
	o := &Dir{roots: map[string]*rootState{"a": {folders: map[string]*folderState{"a": {same: []string{"x"}}}}}}
	var bug *diag.PanicError
	if err := o.linkSame(nil, nil, "."); !errors.As(err, &bug) || !bytes.Contains(bug.Stack, []byte("linkFolder")) {
		t.Errorf("error %v, want a PanicError with its stack", err)
	}
}
