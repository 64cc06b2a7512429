// Package sharedtest runs bazel-remote to test shared caches with a real server.
package sharedtest

import (
	"bytes"
	"fmt"
	"net"
	"os/exec"
	"time"
)

// Program is the name of the server on PATH. make bazel-remote builds it in .tools.
const Program = "bazel-remote"

// A Server is a running bazel-remote.
type Server struct {
	// GRPC and HTTP are the host:port addresses it listens on.
	GRPC, HTTP string

	cmd   *exec.Cmd
	ended chan struct{}
}

// Start starts a server with its data in dir and returns when the server listens. The caller
// must call [Server.Kill].
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
		if attempt == 3 { // a different process may have taken a port
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
	s.cmd = exec.Command(Program, append([]string{"--dir", dir, "--max_size", "1", "--grpc_address", s.GRPC, "--http_address", s.HTTP},
		args...)...)
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

// Kill stops the server and waits for its end.
func (s *Server) Kill() {
	s.cmd.Process.Kill()
	<-s.ended
}

// listens waits until the server listens on an address. It returns false if the server exits
// first.
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

// FreeAddress returns a local address with a port that was free during the call.
func FreeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}
