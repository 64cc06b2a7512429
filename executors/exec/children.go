package exec

import (
	"sync"

	"github.com/krmflow/krmflow/executors/internal/proc"
)

// children tracks the processes that this executor has started and waits for. All other child
// processes are orphans of its functions.
type children struct {
	mu      sync.Mutex
	running map[int]bool
}

// start calls fork, which returns a new process, and records the process. The lock ensures that
// no sweep sees the process before it is recorded.
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

// sweep removes pid, which has ended, and kills its orphans: the orphans in its session, or all
// orphans if no other function is running that could have started them.
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
