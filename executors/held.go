package executors

import (
	"fmt"
	"os"

	"github.com/krmflow/krmflow/executors/internal/sealed"
	"github.com/krmflow/krmflow/krm"
)

// A Held is a program whose content this process keeps from the time when it was hashed.
// krmflow's own executors started by this process run that content, so that a large program is
// read and hashed only once.
type Held struct{ content *sealed.Program }

// Hold reads, hashes and keeps the program at path.
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

// Digest returns the digest of the program.
func (h *Held) Digest() krm.Digest { return h.content.Digest }

// HeldVariable is the environment variable that names the program held by the executor's parent
// process.
const HeldVariable = "KRMFLOW_HELD_PROGRAM"

// Env returns the variable for an executor. It returns nil if h is nil or if the machine cannot
// share programs between processes.
func (h *Held) Env() []string {
	if h == nil || h.content.File() == nil {
		return nil
	}
	return []string{fmt.Sprintf("%s=%s=/proc/%d/fd/%d", HeldVariable, h.content.Digest, os.Getpid(), h.content.File().Fd())}
}
