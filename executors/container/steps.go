package container

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/krmflow/krmflow/executors"
	"github.com/krmflow/krmflow/executors/internal/sources"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
)

// An engine opens the source of a mount by its path, which may lead to a different file than
// when krmflow checked it. To detect this, krmflow keeps the checked files open and compares:
// before the function starts if the engine supports it, see [call.runInSteps], and otherwise
// afterwards, see [call.unchanged].

// A source is the source of a bind mount.
type source struct {
	*os.File
	mount function.Mount
}

// openSources opens the sources of the bind mounts.
func (c *call) openSources() error {
	for _, m := range c.function.Mounts {
		if m.Type != "bind" {
			continue
		}
		f, err := openSource(m.Source, c.function.Root)
		if err != nil {
			return fail(c.function, executors.Denied, "mount %s: %v", m.Dest, err)
		}
		c.sources = append(c.sources, source{f, m})
	}
	return nil
}

func (c *call) closeSources() {
	for _, s := range c.sources {
		s.Close()
	}
}

// replaced returns the error for a source whose path now leads to a different file.
func (c *call) replaced(s source, then string) error {
	return fail(c.function, executors.Verification, "mount %s: the source %s was replaced after it was checked; %s", s.mount.Dest,
		s.mount.Source, then)
}

// unchanged returns an error if the path of a source now leads to a different file.
func (c *call) unchanged() error {
	for _, s := range c.sources {
		f, err := sources.Open(s.mount.Source)
		same := err == nil && sameFile(s.File, f)
		if err == nil {
			f.Close()
		}
		if !same {
			return c.replaced(s, "the output of the function is discarded")
		}
	}
	return nil
}

func sameFile(a, b *os.File) bool {
	x, errX := a.Stat()
	y, errY := b.Stat()
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// inSteps reports whether the container is created first and started after a check of its
// mounts.
func (c *call) inSteps() bool { return len(c.sources) > 0 && c.can.pass }

// An exitCode is the nonzero exit code of a function.
type exitCode int

func (e exitCode) Error() string { return fmt.Sprintf("exit status %d", int(e)) }
func (e exitCode) ExitCode() int { return int(e) }

// runInSteps runs the container and returns after the function has ended. Before it starts the
// function, it checks that the engine has mounted the checked sources.
func (c *call) runInSteps(ctx context.Context, list yaml.Chunks, stdout, stderr io.Writer) error {
	create := c.command(c.args()...)
	create.Stderr = stderr
	if err := c.wait(ctx, create); err != nil {
		return err
	}
	pipes, err := openPipes()
	if err != nil {
		return err
	}
	defer pipes.close()
	// The container inherits the streams of the process that initializes it.
	pipes.carry(list, stdout, stderr, c.name)
	initialise := c.command("init", c.name)
	initialise.Stdin, initialise.Stdout, initialise.Stderr = pipes.theirs[0], pipes.theirs[1], pipes.theirs[2]
	err = c.wait(ctx, initialise)
	pipes.closeTheirs()
	if err == nil {
		err = c.start(ctx)
	}
	var code bytes.Buffer
	if err == nil {
		wait := c.command("wait", "--interval", "50ms", c.name)
		wait.Stdout = &code
		err = c.wait(ctx, wait)
	}
	if err != nil {
		c.engine.remove(c.name)
	}
	pipes.settle()
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(strings.TrimSpace(code.String()))
	if err == nil && n != 0 {
		err = exitCode(n)
	}
	return err
}

// start checks the mounts of a created container and starts the function in it.
func (c *call) start(ctx context.Context) error {
	text, err := c.engine.output(ctx, "inspect", "--format", "{{.State.Pid}}", c.name)
	if err == nil {
		err = c.examine(strings.TrimSpace(text))
	}
	if err == nil {
		_, err = c.engine.output(ctx, "start", c.name)
	}
	var known *executors.Error
	if err != nil && !errors.As(err, &known) {
		err = fail(c.function, executors.Failed, "the container could not be started: %v", err)
	}
	return err
}

// examine compares the mounts as seen by the container's first process with the sources.
func (c *call) examine(process string) error {
	pid, err := strconv.Atoi(process)
	if err != nil || pid <= 0 {
		return errors.New("the container has no process, so its mounts cannot be checked")
	}
	for _, s := range c.sources {
		f, err := openIn(pid, s.mount.Dest)
		if err != nil {
			return fmt.Errorf("the mount %s cannot be checked: %w", s.mount.Dest, err)
		}
		same := sameFile(s.File, f)
		f.Close()
		if !same {
			return c.replaced(s, "the function was not run")
		}
	}
	return nil
}

// pipes contains the standard streams of a container.
type pipes struct {
	ours, theirs [3]*os.File
	reading      sync.WaitGroup
}

func openPipes() (p *pipes, err error) {
	p = &pipes{}
	pipe := func() (r, w *os.File) {
		if err == nil {
			r, w, err = os.Pipe()
		}
		return r, w
	}
	p.theirs[0], p.ours[0] = pipe()
	p.ours[1], p.theirs[1] = pipe()
	p.ours[2], p.theirs[2] = pipe()
	if err != nil {
		p.close()
	}
	return p, err
}

// carry starts copying input and output. It skips the first line of output if it is name or an
// id, which the engine prints.
func (p *pipes) carry(list yaml.Chunks, stdout, stderr io.Writer, name string) {
	go func() {
		chunks := net.Buffers(slices.Clone(list))
		chunks.WriteTo(p.ours[0]) // a function need not read all of its input
		p.ours[0].Close()
	}()
	p.reading.Go(func() {
		r := bufio.NewReader(p.ours[1])
		line, _ := r.ReadSlice('\n')
		first := strings.TrimSpace(string(line))
		if _, err := krm.ParseDigest(first); first != name && err != nil {
			stdout.Write(line)
		}
		io.Copy(stdout, r)
	})
	p.reading.Go(func() { io.Copy(stderr, p.ours[2]) })
}

// settle waits for the rest of the output. All writers should have ended.
func (p *pipes) settle() {
	late := time.AfterFunc(2*time.Second, func() {
		p.ours[1].SetReadDeadline(time.Now())
		p.ours[2].SetReadDeadline(time.Now())
	})
	p.reading.Wait()
	late.Stop()
}

func (p *pipes) closeTheirs() {
	for i, f := range p.theirs {
		f.Close()
		p.theirs[i] = nil
	}
}

func (p *pipes) close() {
	for _, f := range append(p.theirs[:], p.ours[:]...) {
		if f != nil {
			f.Close()
		}
	}
}
