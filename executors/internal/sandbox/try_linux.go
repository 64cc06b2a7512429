package sandbox

import (
	"errors"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// A Trial is what a sandbox without a function tries to do to the machine. All of it belongs to the user who asks.
type Trial struct {
	Dir      string // the function must neither read nor change what is in it
	Hidden   string // a file there
	Readable string // a file there that a rule lets the function read
	Stream   string // a Unix socket there that takes connections
	Datagram string // another, which takes datagrams
	Pid      int    // a process outside
}

// Refused says which of the things that a function must not do outside of its own files were refused when they were tried.
type Refused struct {
	Read     bool // content of files
	Write    bool // make files, write to them
	Metadata bool // change mode, owner, times and attributes
	Truncate bool // empty files
	Connect  bool // reach sockets: of the machine, by path, and of networks
	Signal   bool // signal processes
}

// try raises the walls and tries what they must refuse. A call that the machine lacks is refused.
func (s *Spec) try() (r Refused, err error) {
	runtime.LockOSThread() // it is of no use to anybody any more
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
	return opens(t.Hidden, unix.O_WRONLY) || opens(t.Readable, unix.O_RDWR) || opens(t.Hidden+".new", unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY) ||
		unix.Rename(t.Hidden, t.Hidden+".new") == nil || unix.Link(t.Readable, t.Hidden+".new") == nil
}

func (t *Trial) changes() bool {
	fd, err := unix.Open(t.Readable, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return true // it could not be tried
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

// dials reports whether there is a network: nobody needs to listen.
func dials(kind int) bool {
	fd, err := unix.Socket(unix.AF_INET, kind|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	err = unix.Connect(fd, &unix.SockaddrInet4{Port: 9, Addr: [4]byte{127, 0, 0, 1}})
	return !errors.Is(err, unix.EACCES) && !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.ENETUNREACH)
}

// Words lists what was refused, and what was not, for instance "read", "write", "metadata", "truncate", "connect", "signal".
func (r Refused) Words() (refused, open []string) {
	for _, w := range []struct {
		refused bool
		word    string
	}{{r.Read, "read"}, {r.Write, "write"}, {r.Metadata, "metadata"}, {r.Truncate, "truncate"}, {r.Connect, "connect"}, {r.Signal, "signal"}} {
		if w.refused {
			refused = append(refused, w.word)
		} else {
			open = append(open, w.word)
		}
	}
	return refused, open
}
