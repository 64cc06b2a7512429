package exec

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/krmflow/krmflow/executors/internal/sandbox"
	"github.com/krmflow/krmflow/krm/function"
)

// A group is the control group of one call: the kernel counts processes and memory in it, memory that belongs to no process
// included. Each field is "" where the machine does not let this user have such a group. In version 2 of control groups both are
// the same directory.
type group struct {
	memory, procs string
}

var groups atomic.Int64

// ownMemory is what the sandbox's own process uses at most, in bytes.
const ownMemory = 32 << 20

// newGroup puts pid, which has no children yet, into a group with these limits, as far as the machine lets it.
func newGroup(pid int, l function.Limits) group {
	hierarchies := cgroupHierarchies()
	sweepGroups(hierarchies)
	name := fmt.Sprintf("krmflow-%d-%d", os.Getpid(), groups.Add(1))
	var g group
	for _, h := range hierarchies {
		limits := map[string]int64{}
		if g.memory == "" && h.memory != "" {
			limits[h.memory] = l.Memory + ownMemory
		}
		if g.procs == "" && h.procs != "" {
			limits[h.procs] = int64(l.Procs + sandbox.Threads)
		}
		dir := h.join(name, pid, limits)
		if dir == "" {
			continue
		}
		if _, ok := limits[h.memory]; ok {
			g.memory = dir
		}
		if _, ok := limits[h.procs]; ok {
			g.procs = dir
		}
	}
	return g
}

// A hierarchy is one of control groups.
type hierarchy struct {
	groups        []string // directories below which a group may be made: this process's own group, then those around it
	memory, procs string   // names of the files with the limits, "" for one that it does not know
}

// cgroupHierarchies returns the hierarchies that count memory or processes, at the place where systems mount them.
var cgroupHierarchies = sync.OnceValue(func() (all []hierarchy) {
	const mount = "/sys/fs/cgroup"
	data, _ := os.ReadFile("/proc/self/cgroup")
	for line := range strings.Lines(string(data)) {
		_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, path, _ := strings.Cut(rest, ":")
		h, root := hierarchy{}, filepath.Join(mount, controllers)
		switch controllers {
		case "memory":
			h.memory = "memory.limit_in_bytes"
		case "pids":
			h.procs = "pids.max"
		case "": // version 2
			h.memory, h.procs, root = "memory.max", "pids.max", mount
		default:
			continue
		}
		for path = filepath.Join("/", path); ; path = filepath.Dir(path) {
			h.groups = append(h.groups, filepath.Join(root, path))
			if path == "/" {
				break
			}
		}
		all = append(all, h)
	}
	return all
})

// join makes a group with limits, by name of the file, and puts pid into it. It returns the directory, "" if it cannot be done.
func (h hierarchy) join(name string, pid int, limits map[string]int64) string {
	if len(limits) == 0 {
		return ""
	}
	for _, parent := range h.groups {
		dir := filepath.Join(parent, name)
		if os.Mkdir(dir, 0o755) != nil {
			continue
		}
		ok := true
		for file, max := range limits {
			ok = ok && write(dir, file, max)
		}
		if ok && write(dir, "cgroup.procs", int64(pid)) {
			write(dir, "memory.swap.max", 0)
			write(dir, "memory.memsw.limit_in_bytes", limits["memory.limit_in_bytes"])
			return dir
		}
		syscall.Rmdir(dir)
	}
	return ""
}

func write(dir, file string, value int64) bool {
	f, err := os.OpenFile(filepath.Join(dir, file), os.O_WRONLY, 0)
	if err != nil {
		return false
	}
	_, err = fmt.Fprint(f, value)
	f.Close()
	return err == nil
}

var sweep sync.Once

// sweepGroups removes the groups of executors that were killed. A group that is in use cannot be removed.
func sweepGroups(hierarchies []hierarchy) {
	sweep.Do(func() {
		for _, h := range hierarchies {
			for _, parent := range h.groups {
				dirs, _ := filepath.Glob(filepath.Join(parent, "krmflow-*-*"))
				for _, dir := range dirs {
					var pid int
					if _, err := fmt.Sscanf(filepath.Base(dir), "krmflow-%d-", &pid); err == nil && syscall.Kill(pid, 0) == syscall.ESRCH {
						syscall.Rmdir(dir)
					}
				}
			}
		}
	})
}

// count returns the number after a word in a file of the group.
func count(dir, file, word string) int {
	if dir == "" {
		return 0
	}
	data, _ := os.ReadFile(filepath.Join(dir, file))
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, word+" "); ok {
			n, _ := strconv.Atoi(strings.TrimSpace(rest))
			return n
		}
	}
	return 0
}

// refused reports whether the group has refused a process.
func (g group) refused() bool { return count(g.procs, "pids.events", "max") > 0 }

// exhausted reports whether the kernel has ended a process of the group for want of memory.
func (g group) exhausted() bool {
	return count(g.memory, "memory.events", "oom_kill")+count(g.memory, "memory.oom_control", "oom_kill") > 0
}

// close removes the group. Its last processes may still be on their way out.
func (g group) close() {
	for _, dir := range []string{g.memory, g.procs} {
		for range 50 {
			if dir == "" {
				break
			}
			if err := syscall.Rmdir(dir); err == nil || err == syscall.ENOENT {
				break
			}
			time.Sleep(time.Millisecond)
		}
	}
}
