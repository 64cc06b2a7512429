package exec

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/krmflow/krmflow/executors/internal/box"
)

// A group is the control group of one call. Only root makes one: the kernel does not count root's processes otherwise.
type group struct {
	dir string // "" for none
}

var groups atomic.Int64

// newGroup puts pid, which has no children yet, into a group of at most procs processes, if the machine lets it.
func newGroup(pid, procs int) group {
	if os.Geteuid() != 0 {
		return group{}
	}
	sweepGroups()
	name := fmt.Sprintf("krmflow-%d-%d", os.Getpid(), groups.Add(1))
	for _, mount := range cgroupMounts() {
		if _, err := os.Stat(filepath.Join(mount, "cgroup.procs")); err != nil {
			continue
		}
		g := group{filepath.Join(mount, name)}
		if os.Mkdir(g.dir, 0o755) == nil && g.write("pids.max", procs+box.Threads) && g.write("cgroup.procs", pid) {
			return g
		}
		g.close()
	}
	return group{}
}

// cgroupMounts are the usual places of control groups, version 1 and version 2.
func cgroupMounts() []string { return []string{"/sys/fs/cgroup/pids", "/sys/fs/cgroup"} }

// sweepGroups removes the groups of executors that were killed. A group that is in use cannot be removed.
var sweepGroups = sync.OnceFunc(func() {
	for _, mount := range cgroupMounts() {
		dirs, _ := filepath.Glob(filepath.Join(mount, "krmflow-*-*"))
		for _, dir := range dirs {
			var pid int
			if _, err := fmt.Sscanf(filepath.Base(dir), "krmflow-%d-", &pid); err == nil && syscall.Kill(pid, 0) == syscall.ESRCH {
				syscall.Rmdir(dir)
			}
		}
	}
})

func (g group) write(file string, value int) bool {
	f, err := os.OpenFile(filepath.Join(g.dir, file), os.O_WRONLY, 0)
	if err != nil {
		return false
	}
	_, err = fmt.Fprint(f, value)
	f.Close()
	return err == nil
}

// refused reports whether the group has refused a process.
func (g group) refused() bool {
	if g.dir == "" {
		return false
	}
	data, _ := os.ReadFile(filepath.Join(g.dir, "pids.events"))
	var n int
	_, err := fmt.Sscanf(string(data), "max %d", &n)
	return err == nil && n > 0
}

// close removes the group. Its last processes may still be on their way out.
func (g group) close() {
	for range 50 {
		if g.dir == "" {
			return
		}
		if err := os.Remove(g.dir); err == nil || os.IsNotExist(err) {
			return
		}
		time.Sleep(time.Millisecond)
	}
}
