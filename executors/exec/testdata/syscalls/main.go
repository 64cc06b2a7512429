// Syscalls is a function that tries every system call of the machine with hostile arguments. It tells what came of them in the
// results of the ResourceList that it writes: one line for each call, and an error for each that got through.
//
// It is made to be harmless where the sandbox fails. Its targets are files, sockets, memory and a process that are there for
// it, as its flags say; what else it touches keeps its value, or is asked for in a way that the kernel refuses even to those
// who have the right to it.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// table is "name=number,…", all system calls of the machine; the linker sets it.
var table string

// hostile is the name of everything that the program tries to make.
const hostile = "krmflow-hostile"

// A target is what is there to be attacked.
type target struct {
	tree             string // of files; stream and datagram in it are sockets
	abstract         string // name of two sockets: it is followed by "-stream" or "-datagram"
	tcp, udp         int    // ports of 127.0.0.1
	shm, msg, sem    int    // ids of System V objects
	key              int    // of these objects; the next ones are free
	queue            string // POSIX message queue
	victim, executor pid
	address          uint64 // in the victim
	network          bool   // the function may use the network
	quick            bool   // try each call once or twice
}

func main() {
	var t target
	flag.StringVar(&t.tree, "tree", "", "`directory` of files")
	flag.StringVar(&t.abstract, "abstract", "", "begin of two sockets' `name`")
	flag.IntVar(&t.tcp, "tcp", 0, "`port` of 127.0.0.1")
	flag.IntVar(&t.udp, "udp", 0, "`port` of 127.0.0.1")
	flag.IntVar(&t.shm, "shm", -1, "`id` of shared memory")
	flag.IntVar(&t.msg, "msg", -1, "`id` of a message queue")
	flag.IntVar(&t.sem, "sem", -1, "`id` of semaphores")
	flag.IntVar(&t.key, "key", 0, "`key` of these three")
	flag.StringVar(&t.queue, "queue", "", "`name` of a POSIX message queue")
	flag.IntVar((*int)(&t.victim), "victim", 0, "`pid` of a process to be attacked")
	flag.IntVar((*int)(&t.executor), "executor", 0, "`pid` of the process that runs the function")
	flag.Uint64Var(&t.address, "address", 0, "`address` in the memory of the victim")
	flag.BoolVar(&t.quick, "quick", false, "try each call once or twice")
	flag.BoolVar(&t.network, "network", false, "the network may be used")
	flag.Parse()
	if t.tree == "" || t.victim <= 1 || t.executor <= 1 || table == "" {
		fmt.Fprintln(os.Stderr, "there is nothing to attack, or no table of system calls")
		os.Exit(2)
	}
	io.Copy(io.Discard, os.Stdin)
	out := os.NewFile(uintptr(detach()), "output")
	s := newSweep(t)
	s.processes() // first, while no process of the function's own can have their numbers
	s.rights()
	s.files()
	s.descriptors()
	s.system()
	s.kernel()
	s.namespaces()
	s.sockets()
	s.ipc()
	s.compat()
	s.others()
	s.flush()
	if err := s.report(out); err != nil {
		os.Exit(1)
	}
}

// detach puts a pipe of the program's own in the place of the standard descriptors, which calls with small numbers as arguments
// reach, and returns another descriptor of the output.
func detach() int {
	out, err := unix.FcntlInt(1, unix.F_DUPFD_CLOEXEC, 200)
	var p [2]int
	if err == nil {
		err = unix.Pipe(p[:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for fd := range 3 {
		unix.Dup3(p[min(fd, 1)], fd, 0)
	}
	return out
}

func newSweep(t target) *sweep {
	s := &sweep{target: t, home: os.Getenv("HOME"), nr: map[string]uintptr{}, got: map[string]map[string]int{}, used: map[string]bool{},
		attempts: map[string]int{}}
	for _, call := range strings.Split(table, ",") {
		name, nr, _ := strings.Cut(call, "=")
		n, err := strconv.Atoi(nr)
		if err != nil {
			panic(err)
		}
		s.nr[name] = uintptr(n)
	}
	s.own = filepath.Join(s.home, "own")
	s.alias = filepath.Join(s.home, "alias")
	os.WriteFile(s.own, []byte("own\n"), 0o600)
	os.Symlink(t.tree, s.alias)
	return s
}

// report writes what came of all calls.
func (s *sweep) report(w io.Writer) error {
	type result struct {
		Message  string `json:"message"`
		Severity string `json:"severity"`
	}
	var results []result
	for _, name := range slices.Sorted(maps.Keys(s.got)) {
		var outcomes []string
		for _, outcome := range slices.Sorted(maps.Keys(s.got[name])) {
			outcomes = append(outcomes, fmt.Sprintf("%d %s", s.got[name][outcome], outcome))
		}
		results = append(results, result{name + ": " + strings.Join(outcomes, ", "), "info"})
	}
	for _, message := range s.through {
		results = append(results, result{message, "error"})
	}
	return json.NewEncoder(w).Encode(map[string]any{
		"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": []any{}, "results": results,
	})
}
