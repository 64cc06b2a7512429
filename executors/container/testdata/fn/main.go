// Fn is a function that does what its configuration says in its first word: the tests of package container make an image
// of it.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

func main() {
	config, _ := os.ReadFile("/local/functionConfig.yaml")
	if _, rest, ok := strings.Cut(string(config), "do: "); ok { // that of a tree
		line, _, _ := strings.Cut(rest, "\n")
		config = []byte(line)
	}
	words := strings.Fields(string(config))
	if len(words) == 0 {
		words = []string{"cat"}
	}
	say := func(text string) string {
		if len(words) > 1 {
			return strings.Join(words[1:], " ")
		}
		return text
	}
	switch words[0] {
	case "cat":
		io.Copy(os.Stdout, os.Stdin)
	case "describe":
		json.NewEncoder(os.Stdout).Encode(describe())
	case "fail":
		io.Copy(os.Stdout, os.Stdin)
		fmt.Fprintln(os.Stderr, say("cannot \x1b[31mdo it"))
		os.Exit(3)
	case "hang":
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT)
		fmt.Fprintln(os.Stderr, "hanging")
		time.Sleep(time.Hour)
	case "segv":
		signal.Reset()
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		// The first process of a container is not killed by itself.
		fallthrough
	case "memory":
		var all [][]byte
		for {
			b := make([]byte, 16<<20)
			for i := range b {
				b[i] = 1
			}
			all = append(all, b)
		}
	case "flood":
		w := bufio.NewWriterSize(os.Stdout, 1<<20)
		if len(words) > 1 {
			w = bufio.NewWriterSize(os.Stderr, 1<<20)
		}
		line := strings.Repeat("x", 99) + "\n"
		for i := 0; len(words) == 1 || i < 500_000; i++ {
			w.WriteString(line)
		}
		w.Flush()
		fmt.Fprintln(os.Stderr, "the end")
		fmt.Println("done")
	case "deaf":
		os.Stdin.Close()
		fmt.Println(say("deaf"))
	case "dial":
		conn, err := net.DialTimeout("tcp", words[1], 2*time.Second)
		fmt.Println(conn != nil, err)
	case "read":
		data, err := os.ReadFile(words[1])
		fmt.Println(string(data), err)
	case "write":
		fmt.Println(os.WriteFile(words[1], []byte("written"), 0o666))
	case "procs":
		n := 0
		for ; n < 2000; n++ {
			if _, err := os.StartProcess("/fn", []string{"/fn"}, &os.ProcAttr{Files: []*os.File{nil}}); err != nil {
				break
			}
		}
		fmt.Println(n)
	}
}

type description struct {
	UID, GID   int
	Env        []string
	Status     map[string]string // of /proc/self/status
	Local      []string
	Interfaces []string
	Writable   []string
	Memory     string
	Pids       string
}

func describe() description {
	d := description{UID: os.Getuid(), GID: os.Getgid(), Env: os.Environ(), Status: map[string]string{}}
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		key, value, _ := strings.Cut(line, ":")
		d.Status[key] = strings.TrimSpace(value)
	}
	entries, _ := os.ReadDir("/local")
	for _, e := range entries {
		d.Local = append(d.Local, e.Name())
	}
	ifs, _ := net.Interfaces()
	for _, i := range ifs {
		d.Interfaces = append(d.Interfaces, i.Name)
	}
	for _, dir := range []string{"/", "/tmp", "/local", "/etc", "/run", "/var/tmp", "/proc", "/sys", "/dev"} {
		if os.WriteFile(filepath.Join(dir, "probe"), nil, 0o666) == nil {
			d.Writable = append(d.Writable, dir)
		}
	}
	d.Memory = first("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory.max")
	d.Pids = first("/sys/fs/cgroup/pids/pids.max", "/sys/fs/cgroup/pids.max")
	return d
}

func first(files ...string) string {
	for _, f := range files {
		if data, err := os.ReadFile(f); err == nil {
			return strings.TrimSpace(string(data))
		}
	}
	return ""
}
