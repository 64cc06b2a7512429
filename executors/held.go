package executors

import (
	"fmt"
	"os"

	"github.com/krmflow/krmflow/executors/internal/sealed"
	"github.com/krmflow/krmflow/krm"
)

// A Held program is one that this process has taken over when it was hashed. What executors of krmflow run that this process starts are those
// bytes, so that a large program is read and hashed once.
type Held struct{ content *sealed.Program }

// Hold takes over the program at path.
func Hold(path string) (*Held, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, err := sealed.Read(f, maxProgram)
	if err != nil {
		return nil, err
	}
	return &Held{content}, nil
}

// Digest returns that of the program's bytes.
func (h *Held) Digest() krm.Digest { return h.content.Digest }

// HeldVariable tells an executor which program the process that has started it holds.
const HeldVariable = "KRMFLOW_HELD_PROGRAM"

// Env returns the variable for an executor, none for a nil h or where the machine cannot hand on programs.
func (h *Held) Env() []string {
	if h == nil || h.content.File() == nil {
		return nil
	}
	return []string{fmt.Sprintf("%s=%s=/proc/%d/fd/%d", HeldVariable, h.content.Digest, os.Getpid(), h.content.File().Fd())}
}
