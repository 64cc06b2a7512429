package sandbox

import (
	"errors"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// A Trial lists the targets of the operations that a sandbox attempts without a function. All of
// them belong to the user.
type Trial struct {
	Dir      string // directory that the function must not read or change
	Hidden   string // file in Dir
	Readable string // file in Dir that a rule allows to read
	Stream   string // Unix stream socket in Dir
	Datagram string // Unix datagram socket in Dir
	Pid      int    // process outside the sandbox
}

// Refused reports which forbidden operations outside the function's own files were denied in a
// trial.
type Refused struct {
	Read     bool // read files
	Write    bool // create and write files
	Metadata bool // change mode, owner, times and attributes
	Truncate bool // truncate files
	Connect  bool // connect to Unix sockets by path and to networks
	Signal   bool // signal processes
}

// try applies the restrictions and attempts the forbidden operations. It reports an operation as
// denied if the kernel lacks the call.
func (s *Spec) try() (r Refused, err error) {
	runtime.LockOSThread() // never unlocked: the thread stays restricted
	if err := s.restrict(); err != nil {
		return Refused{}, err
	}
	t := s.Try
	return Refused{
		Read:     !t.reads(),
		Write:    !t.writes(),
		Metadata: !t.changes(),
		Truncate: !t.truncates(),
		Connect:  !t.connects(),
		Signal:   s.Init || unix.Kill(t.Pid, 0) != nil,
	}, nil
}

// opens reports whether a file can be opened.
func opens(path string, flags int) bool {
	fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0o600)
	if err == nil {
		unix.Close(fd)
	}
	return err == nil
}

func (t *Trial) reads() bool {
	return opens(t.Hidden, unix.O_RDONLY) || opens(t.Dir, unix.O_RDONLY|unix.O_DIRECTORY)
}

func (t *Trial) writes() bool {
	return opens(t.Hidden, unix.O_WRONLY) || opens(t.Readable, unix.O_RDWR) ||
		opens(t.Hidden+".new", unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY) ||
		unix.Rename(t.Hidden, t.Hidden+".new") == nil || unix.Link(t.Readable, t.Hidden+".new") == nil
}

func (t *Trial) changes() bool {
	fd, err := unix.Open(t.Readable, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return true // the test is impossible
	}
	defer unix.Close(fd)
	flags, noFlags := unix.IoctlGetInt(fd, unix.FS_IOC_GETFLAGS)
	done := []error{
		unix.Chmod(t.Hidden, 0o640), unix.Fchmod(fd, 0o640), unix.Fchmodat(unix.AT_FDCWD, t.Readable, 0o640, 0),
		unix.Chown(t.Hidden, os.Getuid(), os.Getgid()), unix.Fchown(fd, os.Getuid(), os.Getgid()),
		unix.UtimesNanoAt(unix.AT_FDCWD, t.Hidden, make([]unix.Timespec, 2), 0),
		unix.Setxattr(t.Hidden, "user.krmflow", []byte("x"), 0), unix.Fsetxattr(fd, "user.krmflow", []byte("x"), 0),
	}
	if noFlags == nil {
		done = append(done, unix.IoctlSetPointerInt(fd, unix.FS_IOC_SETFLAGS, flags))
	}
	for _, err := range done {
		if err == nil {
			return true
		}
	}
	return false
}

func (t *Trial) truncates() bool {
	return unix.Truncate(t.Hidden, 0) == nil || unix.Truncate(t.Readable, 0) == nil || opens(t.Readable, unix.O_RDONLY|unix.O_TRUNC)
}

func (t *Trial) connects() bool {
	if fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err == nil {
		defer unix.Close(fd)
		if unix.Connect(fd, &unix.SockaddrUnix{Name: t.Stream}) == nil {
			return true
		}
	}
	if pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0); err == nil {
		defer unix.Close(pair[0])
		defer unix.Close(pair[1])
		if unix.Sendto(pair[0], []byte("x"), 0, &unix.SockaddrUnix{Name: t.Datagram}) == nil {
			return true
		}
	}
	return dials(unix.SOCK_STREAM) || dials(unix.SOCK_DGRAM)
}

// dials reports whether a network is reachable. No listener is needed.
func dials(kind int) bool {
	fd, err := unix.Socket(unix.AF_INET, kind|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	err = unix.Connect(fd, &unix.SockaddrInet4{Port: 9, Addr: [4]byte{127, 0, 0, 1}})
	return !errors.Is(err, unix.EACCES) && !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.ENETUNREACH)
}

// Words returns the names of the denied and of the possible operations: "read", "write",
// "metadata", "truncate", "connect", "signal".
func (r Refused) Words() (refused, open []string) {
	for _, w := range []struct {
		refused bool
		word    string
	}{{r.Read, "read"}, {r.Write, "write"}, {r.Metadata, "metadata"}, {r.Truncate, "truncate"}, {r.Connect, "connect"},
		{r.Signal, "signal"}} {
		if w.refused {
			refused = append(refused, w.word)
		} else {
			open = append(open, w.word)
		}
	}
	return refused, open
}
