package proc

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// A Load is the current resource usage of processes.
type Load struct {
	Threads int
	// Memory is the number of bytes in RAM. Shared memory is counted once if that may decide
	// whether the limit is exceeded.
	Memory int64
}

// Measure returns the load of the descendants of pid and, with self, of pid. Accounting for
// shared memory is slow, so Measure does it only if the processes exceed limit bytes without it.
func Measure(pid int, self bool, limit int64) Load {
	pids, threads := tree(pid)
	if !self {
		pids, threads = pids[1:], threads[1:]
	}
	var l Load
	for i, p := range pids {
		l.Threads += threads[i]
		l.Memory += resident(p)
	}
	if l.Memory <= limit {
		return l
	}
	l.Memory = 0
	for _, p := range pids {
		l.Memory += proportional(p)
	}
	return l
}

// tree returns pid and its descendants, with the number of threads of each.
func tree(pid int) (pids, threads []int) {
	pids = []int{pid}
	for i := 0; i < len(pids); i++ {
		tasks, _ := os.ReadDir(procFile(pids[i], "task"))
		threads = append(threads, len(tasks))
		for _, t := range tasks {
			data, err := os.ReadFile(filepath.Join(procFile(pids[i], "task"), t.Name(), "children"))
			if os.IsNotExist(err) && i == 0 && exists(pid) {
				pids = append([]int{pid}, descendants(pid)...) // a kernel that does not list children
				return pids, make([]int, len(pids))
			}
			for _, f := range strings.Fields(string(data)) {
				if child, err := strconv.Atoi(f); err == nil {
					pids = append(pids, child)
				}
			}
		}
	}
	return pids, threads
}

func exists(pid int) bool {
	_, err := os.Stat(procFile(pid, "stat"))
	return err == nil
}

func procFile(pid int, name string) string { return "/proc/" + strconv.Itoa(pid) + "/" + name }

// resident returns the bytes of a process in RAM, 0 if the process does not exist.
func resident(pid int) int64 { return statm(pid, 1) }

// proportional returns the bytes of a process in RAM, with memory shared by n processes divided
// by n.
func proportional(pid int) int64 {
	data, err := os.ReadFile(procFile(pid, "smaps_rollup"))
	if err != nil { // no permission, or the process has ended
		return statm(pid, 1) - statm(pid, 2)
	}
	_, rest, _ := bytes.Cut(data, []byte("\nPss:"))
	fields := strings.Fields(string(rest[:min(len(rest), 40)]))
	if len(fields) == 0 {
		return 0
	}
	kb, _ := strconv.ParseInt(fields[0], 10, 64)
	return kb << 10
}

// statm returns a field of /proc/PID/statm in bytes.
func statm(pid, field int) int64 {
	data, _ := os.ReadFile(procFile(pid, "statm"))
	fields := strings.Fields(string(data))
	if len(fields) <= field {
		return 0
	}
	pages, _ := strconv.ParseInt(fields[field], 10, 64)
	return pages * int64(os.Getpagesize())
}
