package main

import (
	"encoding/binary"
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// An address is one of a socket.
type address struct {
	name   string
	family int
	raw    []byte
}

// unixAddress is that of a path, or of a name that begins with a zero.
func unixAddress(name, path string) address {
	raw := binary.NativeEndian.AppendUint16(nil, unix.AF_UNIX)
	return address{name, unix.AF_UNIX, append(raw, path...)}
}

func localhost(name string, port int) address {
	raw := binary.NativeEndian.AppendUint16(nil, unix.AF_INET)
	raw = binary.BigEndian.AppendUint16(raw, uint16(port))
	return address{name, unix.AF_INET, append(raw, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0)}
}

// A socket is one that the program got, with a pair's other end or without.
type socket struct {
	fd
	family int
	pair   bool
}

// sockets tries all families, and reaches out with the sockets that it gets.
func (s *sweep) sockets() {
	got := []socket{{fd{0, "no socket"}, unix.AF_UNIX, false}, {fd{0, "no socket"}, unix.AF_INET, false}}
	for family := range 46 {
		get := s.get
		if s.network && (family == unix.AF_INET || family == unix.AF_INET6 || family == unix.AF_NETLINK) {
			get = s.take
		}
		for kind := unix.SOCK_STREAM; kind <= unix.SOCK_SEQPACKET; kind++ {
			if n, ok := get("socket", family, kind|unix.SOCK_NONBLOCK, 0); ok {
				got = append(got, socket{fd{n, fmt.Sprintf("socket %d %d", family, kind)}, family, false})
			}
		}
	}
	for kind := unix.SOCK_STREAM; kind <= unix.SOCK_SEQPACKET; kind++ {
		get, usual := s.get, kind == unix.SOCK_STREAM || kind == unix.SOCK_SEQPACKET
		if usual {
			get = s.take
		}
		ends := new([2]int32)
		if _, ok := get("socketpair", unix.AF_UNIX, kind|unix.SOCK_NONBLOCK, 0, ends); ok {
			got = append(got, socket{fd{int(ends[0]), fmt.Sprint("end of a pair of kind ", kind)}, unix.AF_UNIX, usual})
		}
	}
	addresses := []address{localhost("TCP", s.tcp), localhost("UDP", s.udp)}
	for _, name := range []string{"stream", "datagram"} {
		addresses = append(addresses, unixAddress("TREE/"+name, filepath.Join(s.tree, name)),
			unixAddress("alias of TREE/"+name, filepath.Join(s.alias, name)), unixAddress("abstract "+name, "\x00"+s.abstract+"-"+name))
	}
	for _, sock := range got {
		for _, a := range addresses {
			if sock.family == a.family {
				s.reach(sock, a)
			}
		}
	}
	s.flush()
}

// reach sends something to an address.
func (s *sweep) reach(sock socket, a address) {
	connect, send := s.fail, s.fail
	if s.network && a.family == unix.AF_INET {
		connect, send = s.free, s.free
	}
	if sock.pair {
		send = s.free // it goes to the other end
	}
	data := []byte("hostile")
	iov := []unix.Iovec{{Base: &data[0], Len: uint64(len(data))}}
	msg := unix.Msghdr{Name: &a.raw[0], Namelen: uint32(len(a.raw)), Iov: &iov[0], Iovlen: 1}
	connect("connect", sock.fd, a, len(a.raw))
	send("sendto", sock.fd, data, len(data), unix.MSG_NOSIGNAL, a, len(a.raw))
	send("sendmsg", sock.fd, &msg, unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT)
	send("sendmmsg", sock.fd, &[2]unix.Msghdr{msg}, 1, unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT)
	connect("bind", sock.fd, a, len(a.raw))
	if a.family == unix.AF_UNIX {
		own := unixAddress("TREE/"+hostile, filepath.Join(s.tree, hostile+"-socket"))
		s.fail("bind", sock.fd, own, len(own.raw))
		own = unixAddress("abstract "+hostile, "\x00"+hostile)
		s.free("bind", sock.fd, own, len(own.raw))
	}
	s.free("listen", sock.fd, 5)
	s.free("accept4", sock.fd, nil, nil, unix.SOCK_NONBLOCK)
	s.free("recvmsg", sock.fd, new(unix.Msghdr), unix.MSG_DONTWAIT)
	s.free("setsockopt", sock.fd, unix.SOL_SOCKET, unix.SO_PASSCRED, data, 4)
}

// ipc attacks System V objects and POSIX message queues.
func (s *sweep) ipc() {
	const public = 0o666
	buf := make([]byte, 4096)
	s.fail("shmget", s.key, 0, 0)
	s.fail("shmat", s.shm, nil, 0)
	s.fail("shmat", s.shm, nil, unix.SHM_RDONLY)
	s.fail("msgget", s.key, 0)
	s.fail("msgsnd", s.msg, &[2]uint64{1, 1}, 8, unix.IPC_NOWAIT)
	s.fail("msgrcv", s.msg, buf, 64, 0, unix.IPC_NOWAIT)
	s.fail("semget", s.key, 0, 0)
	s.fail("semop", s.sem, &[3]int16{0, 1, unix.IPC_NOWAIT}, 1)
	s.fail("semtimedop", s.sem, &[3]int16{0, 1, unix.IPC_NOWAIT}, 1, nil)
	const setVal = 16
	s.fail("semctl", s.sem, 0, setVal, 7)
	for call, id := range map[string]int{"shmctl": s.shm, "msgctl": s.msg} {
		s.fail(call, id, unix.IPC_STAT, buf)
		s.fail(call, id, unix.IPC_SET, buf)
		s.fail(call, id, unix.IPC_RMID, nil)
	}
	s.fail("semctl", s.sem, 0, unix.IPC_STAT, buf)
	s.fail("semctl", s.sem, 0, unix.IPC_RMID, 0)
	s.free("shmget", s.key+1, 4096, unix.IPC_CREAT|public)
	s.free("msgget", s.key+1, unix.IPC_CREAT|public)
	s.free("semget", s.key+1, 1, unix.IPC_CREAT|public)
	s.free("shmdt", buf)
	if n, ok := s.get("mq_open", s.queue, unix.O_RDWR|unix.O_NONBLOCK, 0, nil); ok {
		q := fd{n, "queue"}
		s.fail("mq_timedsend", q, "hostile", 7, 0, nil)
		s.fail("mq_timedreceive", q, buf, len(buf), nil, nil)
		s.fail("mq_notify", q, nil)
		s.free("mq_getsetattr", q, new([8]uint64), nil)
	}
	s.fail("mq_unlink", s.queue)
	s.free("mq_open", hostile, unix.O_RDWR|unix.O_CREAT, public, nil)
	s.flush()
}
