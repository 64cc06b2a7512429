package container

import (
	"bufio"
	"fmt"
	"io"
	"os"
	osexec "os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// A reaper is a process that knows the running containers and removes them after the end of this
// process, which it detects by the end of a pipe.
type reaper struct {
	command []string
	engine  Engine

	mu   sync.Mutex
	cmd  *osexec.Cmd
	pipe *os.File
}

// add registers a container. It must be called before the container is created.
func (r *reaper) add(name, dir string) error {
	if len(r.command) == 0 {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cmd == nil {
		if err := r.start(); err != nil {
			return fmt.Errorf("the process that removes containers could not be started: %w", err)
		}
	}
	if _, err := fmt.Fprintf(r.pipe, "+%s %s\n", name, dir); err != nil {
		return fmt.Errorf("the process that removes containers has ended: %w", err)
	}
	return nil
}

// done unregisters a container after it and its directory were removed.
func (r *reaper) done(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cmd != nil {
		fmt.Fprintf(r.pipe, "-%s\n", name)
	}
}

func (r *reaper) start() error {
	in, pipe, err := os.Pipe()
	if err != nil {
		return err
	}
	defer in.Close()
	cmd := osexec.Command(r.command[0], append(r.command[1:len(r.command):len(r.command)], r.engine.Name, r.engine.Path)...)
	cmd.Args[0] = "krmflow" // the path may be a placeholder for the running program
	cmd.Stdin = in
	cmd.Env = Environment(os.Environ())
	cmd.SysProcAttr = detached()
	if err := cmd.Start(); err != nil {
		pipe.Close()
		return err
	}
	r.cmd, r.pipe = cmd, pipe
	return nil
}

func (r *reaper) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cmd == nil {
		return nil
	}
	r.pipe.Close()
	err := r.cmd.Wait()
	r.cmd = nil
	return err
}

// Reap is the main function of the reaper process, which is started by the command in [Options]
// with the engine's arguments added. It reads the names of containers from in until EOF, when
// the executor has ended, and then removes the remaining ones. It ignores signals meant for the
// executor.
func Reap(in io.Reader, args []string) error {
	signal.Ignore(endings...)
	if len(args) != 2 {
		return fmt.Errorf("expected the name and the path of a container runtime")
	}
	engine := Engine{args[0], args[1]}
	left := map[string]string{}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		line := lines.Text()
		if line == "" {
			continue
		}
		name, dir, _ := strings.Cut(line[1:], " ")
		if !strings.HasPrefix(name, "krmflow-") {
			continue
		}
		if line[0] == '+' {
			left[name] = dir
		} else {
			delete(left, name)
		}
	}
	var wg sync.WaitGroup
	for name, dir := range left {
		wg.Go(func() {
			engine.remove(name)
			// The engine may still have been creating the container.
			for _, pause := range []time.Duration{retry, 2 * retry, 4 * retry, 8 * retry} {
				time.Sleep(pause)
				engine.remove(name)
			}
			if filepath.IsAbs(dir) && strings.HasPrefix(filepath.Base(dir), name) {
				os.RemoveAll(dir)
			}
		})
	}
	wg.Wait()
	return nil
}
