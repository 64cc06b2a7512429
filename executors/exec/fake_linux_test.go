package exec_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	osexec "os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/krmflow/krmflow/executors"
	"github.com/krmflow/krmflow/executors/exec"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
)

// The test program plays all roles: the executor's process, the sandbox's process, and every
// function.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 {
		switch {
		case os.Args[1] == "executor" && os.Args[2] == "exec":
			executors.Serve("exec", exec.New())
			os.Exit(0)
		case os.Args[1] == "fn":
			os.Exit(fake(os.Args[2], os.Args[3:]))
		}
	}
	os.Exit(tests(m))
}

// tests runs the tests with a separate temporary directory.
func tests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "krmflow-test-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	os.Setenv("TMPDIR", dir)
	return m.Run()
}

// fake implements the function with this name.
func fake(name string, args []string) int {
	switch name {
	case "copy":
		io.Copy(os.Stdout, os.Stdin)
	case "upper":
		data, _ := io.ReadAll(os.Stdin)
		os.Stdout.Write(bytes.ToUpper(data))
	case "fail":
		io.Copy(os.Stdout, os.Stdin)
		fmt.Fprintln(os.Stderr, "it is "+args[0])
		return 3
	case "signal":
		var sig int
		fmt.Sscan(args[0], &sig)
		syscall.Kill(0, syscall.Signal(sig)) // its group: a sandbox may not know the owner of others
		time.Sleep(time.Minute)
	case "hang":
		time.Sleep(time.Minute)
	case "stubborn":
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT)
		time.Sleep(time.Minute)
	case "polite":
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGTERM)
		fmt.Fprintln(os.Stderr, "asked to end by", <-c)
		return 7
	case "child": // runs in the background with this process's output; args control it
		io.Copy(os.Stdout, os.Stdin)
		cmd := osexec.Command("/bin/sleep", "47.11")
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: args[0] == "setsid"}
		if err := cmd.Start(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		if len(args) > 1 {
			time.Sleep(time.Minute)
		}
	case "flood":
		w := bufio.NewWriterSize(os.Stdout, 1<<20)
		for {
			if _, err := w.WriteString("- apiVersion: v1\n"); err != nil {
				return 1
			}
		}
	case "noise":
		line := bytes.Repeat([]byte("noise\n"), 10000)
		for range 400 {
			os.Stderr.Write(line)
		}
		os.Stderr.WriteString("last words\n")
		io.Copy(os.Stdout, os.Stdin)
	case "deaf":
		os.Stdin.Close()
		fmt.Println("done")
	case "empty":
		io.Copy(io.Discard, os.Stdin)
	case "half":
		data, _ := io.ReadAll(os.Stdin)
		os.Stdout.Write(data[:len(data)/2])
	case "env":
		fmt.Println(strings.Join(os.Environ(), "\n"))
	case "fds":
		for fd := range 1024 {
			if to, err := os.Readlink(fmt.Sprint("/proc/self/fd/", fd)); err == nil {
				fmt.Println(fd, to)
			}
		}
	case "pwd":
		dir, err := os.Getwd()
		fmt.Println(dir, err)
	case "read":
		for _, path := range args {
			_, err := os.ReadFile(path)
			fmt.Println(err == nil, path)
		}
	case "write":
		for _, dir := range append(args, os.Getenv("HOME"), os.TempDir()) {
			err := os.WriteFile(filepath.Join(dir, "canary"), nil, 0o600)
			fmt.Println(err == nil, dir)
		}
	case "dial":
		for i, network := range []string{"tcp", "unix"} {
			conn, err := net.DialTimeout(network, args[i], time.Second)
			fmt.Println(network, err == nil)
			if err == nil {
				conn.Close()
			}
		}
		conn, err := net.Dial("udp", "127.0.0.1:9")
		if err == nil {
			_, err = conn.Write([]byte("x"))
		}
		fmt.Println("udp", err == nil)
	case "tty":
		_, err := os.Open("/dev/tty")
		fmt.Println(err == nil)
	case "privileges":
		fmt.Println(prctlNoNewPrivs())
	case "storm":
		n := 0
		for range 400 {
			if osexec.Command("/bin/sleep", "47.11").Start() != nil {
				break
			}
			n++
		}
		fmt.Println(n)
	case "hog":
		var all [][]byte
		for range 3 << 10 {
			b := make([]byte, 1<<20)
			for i := 0; i < len(b); i += 4096 {
				b[i] = 1
			}
			all = append(all, b)
		}
		fmt.Println(len(all))
	case "hoard":
		var max int64
		fmt.Sscan(args[1], &max)
		fmt.Println(hoard(args[0], max))
	case "kill":
		syscall.Kill(os.Getppid(), syscall.SIGKILL)
		time.Sleep(50 * time.Millisecond)
		fmt.Println("alive")
	default:
		return 99
	}
	return 0
}

// A rig is a root directory that contains the test program as "plugins/fn".
type rig struct {
	root   string
	digest krm.Digest
}

// self returns the shared rig of all tests.
func self(t testing.TB) rig {
	t.Helper()
	r, err := sharedRig()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var sharedRig = sync.OnceValues(func() (rig, error) {
	data, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return rig{}, err
	}
	r := rig{root: filepath.Join(os.TempDir(), "root"), digest: krm.DigestOf(data)}
	if err := os.MkdirAll(filepath.Join(r.root, "plugins"), 0o755); err != nil {
		return rig{}, err
	}
	return r, os.WriteFile(filepath.Join(r.root, "plugins/fn"), data, 0o755)
})

func (r rig) fn(args ...string) function.Function {
	return function.Function{
		Name: "example.com/v1 Fake/" + args[0], Node: "kustomization.yaml#transformers[0]", Runtime: function.RuntimeExec,
		Digest: r.digest, Program: filepath.Join(r.root, "plugins/fn"), Root: r.root, Dir: r.root,
		Args: append([]string{"fn"}, args...),
	}
}

// script makes a function from a text.
func (r rig) script(t testing.TB, name, text string) function.Function {
	t.Helper()
	path := filepath.Join(r.root, name)
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	f := r.fn("script")
	f.Program, f.Args, f.Digest = path, nil, krm.DigestOf([]byte(text))
	return f
}
