package terminal

import (
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
)

// Pager returns the command of the user's pager: the variable KRMFLOW_PAGER, else PAGER, else
// less. It is empty if the user wants none, by an empty variable or the pager cat.
func Pager() string {
	for _, name := range []string{"KRMFLOW_PAGER", "PAGER"} {
		if command, set := os.LookupEnv(name); set {
			if command = strings.TrimSpace(command); command == "cat" {
				return ""
			}
			return command
		}
	}
	return "less"
}

// A pager is a running pager process.
type pager struct {
	mu    sync.Mutex // for the order of writes
	in    io.WriteCloser
	cmd   *exec.Cmd
	left  atomic.Bool // the user has left it, so that it reads no more
	ended atomic.Bool
}

// startPager starts a pager. It returns nil if that is not possible; the output is then printed
// without one.
func startPager(command string) *pager {
	cmd := pagerCommand(command)
	if cmd == nil {
		return nil
	}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Env = os.Environ()
	// The defaults of git: less quits if the text fits, passes colors on, and leaves the text on
	// the screen.
	for _, v := range []struct{ name, value string }{{"LESS", "FRX"}, {"LV", "-c"}} {
		if _, set := os.LookupEnv(v.name); !set {
			cmd.Env = append(cmd.Env, v.name+"="+v.value)
		}
	}
	in, err := cmd.StdinPipe()
	if err != nil || cmd.Start() != nil {
		return nil
	}
	return &pager{in: in, cmd: cmd}
}

// pagerCommand returns the process of a pager, or nil if the program does not exist. As in git, a
// shell runs only commands that need one, because a missing program would then lose the output.
func pagerCommand(command string) *exec.Cmd {
	if strings.ContainsAny(command, "|&;<>()$`\\\"'*?[#~=%\n") {
		if shell, err := exec.LookPath("sh"); err == nil {
			return exec.Command(shell, "-c", command)
		}
		return nil
	}
	words := strings.Fields(command)
	program, err := exec.LookPath(words[0])
	if err != nil {
		return nil
	}
	return exec.Command(program, words[1:]...)
}

// write passes text to the pager. It returns false if the user has left the pager.
func (p *pager) write(text []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.send(text)
	return !p.left.Load()
}

// send is write for a caller that holds p.mu.
func (p *pager) send(text []byte) {
	if p.left.Load() {
		return
	}
	if _, err := p.in.Write(text); err != nil {
		p.left.Store(true)
	}
}

// close ends the input of the pager and waits until the user leaves it. A write that is blocked
// fails. The exit code of the pager says nothing about the command.
func (p *pager) close() {
	_ = p.in.Close()
	_ = p.cmd.Wait()
	p.ended.Store(true)
}

// terminate asks the pager to restore the terminal and exit.
func (p *pager) terminate() { _ = p.cmd.Process.Signal(syscall.SIGTERM) }
