// Package sharedtest runs bazel-remote, for tests of shared caches against a real server.
package sharedtest

import (
	"bytes"
	"fmt"
	"net"
	"os/exec"
	"time"
)

// Program is what the server is called on PATH: make bazel-remote builds it into .tools.
const Program = "bazel-remote"

// A Server is a bazel-remote that runs.
type Server struct {
	// GRPC and HTTP are where it listens: hosts and ports.
	GRPC, HTTP string

	cmd   *exec.Cmd
	ended chan struct{}
}

// Start starts a server that keeps what it has in dir, and returns when it listens. The caller calls Kill.
func Start(dir string, args ...string) (*Server, error) {
	for attempt := 1; ; attempt++ {
		var said bytes.Buffer
		s, err := start(dir, &said, args)
		if err != nil {
			return nil, err
		}
		if s.listens(s.GRPC) && s.listens(s.HTTP) {
			return s, nil
		}
		s.Kill()
		if attempt == 3 { // somebody else may have taken a port
			return nil, fmt.Errorf("%s does not start:\n%s", Program, said.Bytes())
		}
	}
}

func start(dir string, said *bytes.Buffer, args []string) (s *Server, err error) {
	s = &Server{ended: make(chan struct{})}
	if s.GRPC, err = FreeAddress(); err != nil {
		return nil, err
	}
	if s.HTTP, err = FreeAddress(); err != nil {
		return nil, err
	}
	s.cmd = exec.Command(Program, append([]string{"--dir", dir, "--max_size", "1", "--grpc_address", s.GRPC, "--http_address", s.HTTP}, args...)...)
	s.cmd.Stdout, s.cmd.Stderr = said, said
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		s.cmd.Wait()
		close(s.ended)
	}()
	return s, nil
}

// Kill ends the server and returns when it is gone.
func (s *Server) Kill() {
	s.cmd.Process.Kill()
	<-s.ended
}

// listens waits until somebody listens at an address, and reports false if the server has ended before.
func (s *Server) listens(address string) bool {
	for {
		if c, err := net.Dial("tcp", address); err == nil {
			c.Close()
			return true
		}
		select {
		case <-s.ended:
			return false
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// FreeAddress returns an address of this machine that nobody listened at a moment ago.
func FreeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}
