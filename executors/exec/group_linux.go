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

// A group is the control group of one call. In it the kernel accounts for processes and memory,
// including memory that is not mapped by any process. Each field is a directory, or "" if the
// user may not create such a group on this machine. With cgroup v2 both fields are the same
// directory.
type group struct {
	memory, procs string
}

var groups atomic.Int64

// ownMemory is the maximum memory of the sandbox process itself, in bytes.
const ownMemory = 32 << 20

// newGroup moves pid, which must not have children yet, into a group with these limits, as far
// as the machine allows.
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

// A hierarchy is a control group hierarchy.
type hierarchy struct {
	// groups lists the directories in which to try creating a group: the group of this process,
	// then its ancestors.
	groups []string
	// memory and procs are the names of the files for the limits, "" if the hierarchy has no such
	// limit.
	memory, procs string
}

// cgroupHierarchies returns the hierarchies that limit memory or processes, at their usual mount
// point.
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
		case "": // cgroup v2
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

// join creates a group with limits, which maps file names to values, and moves pid into it. It
// returns the directory, or "" if that is not possible.
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

// sweepGroups removes the groups of killed executors. The kernel does not remove a group that is
// in use.
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

// count returns the number after a word in a file of the group, or 0 if there is none.
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

// refused reports whether the group has prevented the start of a process.
func (g group) refused() bool { return count(g.procs, "pids.events", "max") > 0 }

// exhausted reports whether the kernel has killed a process of the group because it was out of
// memory.
func (g group) exhausted() bool {
	return count(g.memory, "memory.events", "oom_kill")+count(g.memory, "memory.oom_control", "oom_kill") > 0
}

// close removes the group. It retries, because the last processes may not have exited
// completely.
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
