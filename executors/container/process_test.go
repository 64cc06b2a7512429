package container

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/krmflow/krmflow/executors"
	"github.com/krmflow/krmflow/executors/executortest"
	"github.com/krmflow/krmflow/internal/dev/longtest"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
)

// serve runs the executor's process.
func serve() {
	engine, err := Detect(os.Getenv("KRMFLOW_TEST_ENGINE"))
	if err != nil {
		panic(err)
	}
	executors.Serve("container", New(Options{Engine: engine, Reaper: []string{"/proc/self/exe", "reap"}}))
}

// host is the process that starts the executor, runs a function twice, and prints the result of the
// second call.
func host(text string) {
	var f function.Function
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		panic(err)
	}
	x, err := executors.Start(context.Background(),
		executors.Program{Kind: "container", Env: Environment(os.Environ()), Linger: 5 * time.Second})
	if err != nil {
		panic(err)
	}
	defer x.Close()
	out, err := x.Execute(context.Background(), f, yaml.Chunks{[]byte("list")})
	fmt.Printf("%s %v\n", out.List, err)
	f.Config = []byte("hang")
	_, err = x.Execute(context.Background(), f, nil)
	var e *executors.Error
	fmt.Println(errors.As(err, &e) && e.Code == executors.Failed, err)
	bufio.NewReader(os.Stdin).ReadString('\n')
}

// behaviours are the behaviours that the conformance test needs, for the function in the images.
var behaviours = map[string]string{"copy": "cat", "deaf": "deaf done", "fail": "fail it is wrong", "hang": "hang", "flood": "flood"}

// The executor conforms, both as a value and as a process.
func TestExecutorConforms(t *testing.T) {
	longtest.OnlyAll(t)
	l := newLab(t)
	named := func(name string) function.Function { return l.function(behaviours[name]) }
	t.Run("direct", func(t *testing.T) { executortest.Run(t, l.executor(t), named) })
	t.Run("process", func(t *testing.T) {
		x, err := executors.Start(t.Context(),
			executors.Program{Kind: "container", Env: Environment(os.Environ()), Linger: 5 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		defer x.Close()
		executortest.Run(t, x, named)
	})
}

// Executors end in the same way in a separate process. Whichever process is killed, the container
// is removed.
func TestExecutorProcessLeavesNoContainer(t *testing.T) {
	longtest.Only(t)
	if _, err := os.Stat("/proc/self/cmdline"); err != nil {
		t.Skip("there is no /proc")
	}
	l := newLab(t)
	f, _ := json.Marshal(l.function("cat"))
	for _, victim := range []string{"host", "executor"} {
		cmd := osexec.Command(os.Args[0], "host", string(f))
		var stdout bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, os.Stderr
		stdin, _ := cmd.StdinPipe()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		await(t, "the container has not started", func() bool {
			return strings.Contains(l.containers(t), "Up") && strings.Contains(stdout.String(), "\n")
		})
		pid := executorOf(t, cmd.Process.Pid)
		if victim == "host" {
			pid = cmd.Process.Pid
		}
		p, err := os.FindProcess(pid)
		if err != nil {
			t.Fatal(err)
		}
		p.Kill()
		await(t, "the container is still there after the "+victim+" was killed", func() bool { return l.containers(t) == "" })
		stdin.Close()
		cmd.Wait()
		want := "list <nil>\n"
		if victim == "executor" {
			want += "true executor container crashed (signal: killed) while running example.com/v1 Fn/fn"
		}
		if got := stdout.String(); !strings.HasPrefix(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// executorOf returns the child process that serves as the executor.
func executorOf(t *testing.T, parent int) int {
	t.Helper()
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		if line, _ := os.ReadFile(file); string(line) != "krmflow\x00executor\x00container\x00" {
			continue
		}
		status, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "status"))
		if strings.Contains(string(status), fmt.Sprintf("\nPPid:\t%d\n", parent)) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			return pid
		}
	}
	t.Fatal("there is no executor")
	return 0
}
