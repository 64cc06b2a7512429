package exec

import (
	"sync"

	"github.com/krmflow/krmflow/executors/internal/proc"
)

// children are the processes that this executor has started and waits for. Other children are orphans of its functions.
type children struct {
	mu      sync.Mutex
	running map[int]bool
}

// start runs fork, which returns the new process, so that no sweep sees the process before it is known.
func (c *children) start(fork func() (pid int, err error)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	pid, err := fork()
	if err == nil {
		if c.running == nil {
			c.running = map[int]bool{}
		}
		c.running[pid] = true
	}
	return err
}

// sweep forgets pid, which has ended, and ends the orphans that it has left: those of its session, and all of them if no other
// function runs that could be their parent.
func (c *children) sweep(pid int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.running, pid)
	for _, orphan := range proc.Adopted() {
		if !c.running[orphan] && (len(c.running) == 0 || proc.Session(orphan) == pid) {
			proc.KillTree(orphan)
		}
	}
}
