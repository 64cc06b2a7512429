package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

const cwd = unix.AT_FDCWD

// Structures that x/sys does not have.
type (
	xattrArgs struct {
		value       uint64
		size, flags uint32
	}
	fileAttr struct {
		xflags                     uint64
		extsize, nextents          uint32
		projid, cowextsize, unused uint32
	}
)

// ways returns names of a file of the tree: directly, by links, and by way of other processes, which may live in other mounts.
func (s *sweep) ways(name string) []string {
	path := filepath.Join(s.tree, name)
	list := []string{path, filepath.Join(s.alias, name), "/proc/self/root" + path}
	for _, p := range []pid{1, pid(os.Getppid()), s.victim, s.executor} {
		list = append(list, fmt.Sprintf("/proc/%d/root%s", p, path))
	}
	if n, ok := s.take("openat", cwd, path, unix.O_PATH, 0); ok {
		list = append(list, fmt.Sprintf("/proc/self/fd/%d", n))
	}
	return list
}

// files attacks the tree by names.
func (s *sweep) files() {
	watch, _ := s.take("inotify_init1", 0)
	for _, path := range s.ways("file") {
		s.contents(path)
		s.attributes(path)
		s.free("statx", cwd, path, 0, unix.STATX_ALL, new(unix.Statx_t))
		s.free("inotify_add_watch", watch, path, unix.IN_ALL_EVENTS)
		s.free("name_to_handle_at", cwd, path, new([64]byte), new(int32), 0)
		s.free("faccessat2", cwd, path, unix.W_OK, unix.AT_EACCESS)
	}
	for _, name := range []string{"dir", "setuid", "fifo", "link", "dangling", "private", "stream"} {
		s.attributes(filepath.Join(s.tree, name))
	}
	for _, path := range []string{filepath.Join(s.tree, "private"), filepath.Join(s.tree, "dir/deep/file"),
		filepath.Join(s.tree, "stream")} {
		s.contents(path)
	}
	for _, path := range s.ways("program") {
		s.fail("execve", path, nil, nil)
		s.fail("execveat", cwd, path, nil, nil, 0)
	}
	for _, dir := range s.ways(".") {
		s.names(dir)
	}
	s.flush()
}

// contents reads and writes a file.
func (s *sweep) contents(path string) {
	const nonblock = unix.O_NONBLOCK | unix.O_NOCTTY
	for _, flags := range []int{unix.O_RDONLY, unix.O_WRONLY, unix.O_RDWR, unix.O_WRONLY | unix.O_APPEND, unix.O_RDWR | unix.O_CREAT,
		unix.O_WRONLY | unix.O_TRUNC, unix.O_RDONLY | unix.O_TRUNC} {
		s.fail("open", path, flags|nonblock, 0o666)
		s.fail("openat", cwd, path, flags|nonblock, 0o666)
		s.fail("openat2", cwd, path, &unix.OpenHow{Flags: uint64(flags &^ unix.O_CREAT)}, unix.SizeofOpenHow)
	}
	s.fail("creat", path, 0o666)
	s.fail("truncate", path, 0)
	s.fail("truncate", path, 1<<20)
	s.free("uselib", path)
}

// attributes changes what is known of a file.
func (s *sweep) attributes(path string) {
	zero := new([2]unix.Timespec)
	nofollow := unix.AT_SYMLINK_NOFOLLOW
	s.fail("chmod", path, 0o4777)
	s.fail("fchmodat", cwd, path, 0o666)
	s.fail("fchmodat2", cwd, path, 0o666, 0)
	s.fail("fchmodat2", cwd, path, 0o6777, nofollow)
	for _, id := range []int{-1, os.Getuid(), 12345} {
		s.fail("chown", path, id, id)
		s.fail("lchown", path, id, id)
		s.fail("fchownat", cwd, path, id, id, 0)
		s.fail("fchownat", cwd, path, id, id, nofollow)
	}
	s.fail("utime", path, nil)
	s.fail("utime", path, zero)
	s.fail("utimes", path, nil)
	s.fail("utimes", path, zero)
	s.fail("futimesat", cwd, path, zero)
	s.fail("utimensat", cwd, path, nil, 0)
	s.fail("utimensat", cwd, path, zero, 0)
	s.fail("utimensat", cwd, path, zero, nofollow)
	for _, name := range []string{"user.hostile", "user.planted", "trusted.hostile", "security.capability", "system.posix_acl_access"} {
		value := []byte("hostile")
		if name == "security.capability" { // version 2, all
			value = []byte{1, 0, 0, 2, 255, 255, 255, 255, 0, 0, 0, 0, 255, 255, 255, 255, 0, 0, 0, 0}
		}
		kept = append(kept, value)
		args := &xattrArgs{value: uint64(words([]any{value})[0]), size: uint32(len(value))}
		s.fail("setxattr", path, name, value, len(value), 0)
		s.fail("lsetxattr", path, name, value, len(value), 0)
		s.fail("setxattrat", cwd, path, 0, name, args, 16)
		s.fail("removexattr", path, name)
		s.fail("lremovexattr", path, name)
		s.fail("removexattrat", cwd, path, 0, name)
	}
	s.fail("file_setattr", cwd, path, &fileAttr{xflags: 1 << 7}, 24, 0) // no dump
}

// names makes, moves and removes files of a directory.
func (s *sweep) names(dir string) {
	in := func(name string) string { return filepath.Join(dir, name) }
	n := 0
	fresh := func(where string) string { n++; return filepath.Join(where, fmt.Sprint(hostile, n)) }
	s.fail("open", fresh(dir), unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY, 0o666)
	s.fail("openat", cwd, dir, unix.O_TMPFILE|unix.O_RDWR, 0o666)
	s.fail("openat2", cwd, fresh(dir), &unix.OpenHow{Flags: unix.O_CREAT | unix.O_WRONLY}, unix.SizeofOpenHow)
	s.fail("creat", fresh(dir), 0o666)
	s.fail("mkdir", fresh(dir), 0o777)
	s.fail("mkdirat", cwd, fresh(dir), 0o777)
	for _, mode := range []int{unix.S_IFREG, unix.S_IFIFO, unix.S_IFSOCK, unix.S_IFCHR} {
		s.fail("mknod", fresh(dir), mode|0o666, 0)
		s.fail("mknodat", cwd, fresh(dir), mode|0o666, 0)
	}
	s.fail("symlink", "/", fresh(dir))
	s.fail("symlinkat", "/", cwd, fresh(dir))
	s.fail("link", in("file"), fresh(dir))
	s.fail("linkat", cwd, in("file"), cwd, fresh(dir), 0)
	s.fail("link", in("file"), fresh(s.home)) // what it may change there, it changes here
	s.fail("linkat", cwd, in("file"), cwd, fresh(s.home), unix.AT_SYMLINK_FOLLOW)
	s.fail("link", s.own, fresh(dir))
	s.fail("rename", in("file"), fresh(dir))
	s.fail("rename", in("file"), fresh(s.home))
	s.fail("rename", s.own, in("file"))
	s.fail("rename", s.own, fresh(dir))
	s.fail("renameat", cwd, in("file"), cwd, fresh(dir))
	s.fail("renameat2", cwd, in("file"), cwd, in("program"), unix.RENAME_EXCHANGE)
	s.fail("renameat2", cwd, in("file"), cwd, s.own, unix.RENAME_EXCHANGE)
	s.fail("renameat2", cwd, in("file"), cwd, fresh(dir), unix.RENAME_WHITEOUT)
	s.fail("unlink", in("file"))
	s.fail("unlinkat", cwd, in("link"), 0)
	s.fail("unlinkat", cwd, in("empty"), unix.AT_REMOVEDIR)
	s.fail("rmdir", in("empty"))
}

// descriptors attacks the tree by descriptors.
func (s *sweep) descriptors() {
	file := filepath.Join(s.tree, "file")
	own, _ := s.take("openat", cwd, s.own, unix.O_RDWR, 0)
	for _, o := range []struct {
		name, path string
		flags      int
	}{
		{"read and write", file, unix.O_RDWR}, {"write", file, unix.O_WRONLY}, {"read", file, unix.O_RDONLY},
		{"directory", s.tree, unix.O_RDONLY | unix.O_DIRECTORY}, {"fifo", s.tree + "/fifo", unix.O_RDWR | unix.O_NONBLOCK},
	} {
		if n, ok := s.get("openat", cwd, o.path, o.flags, 0); ok {
			s.descriptor(fd{n, o.name}, own)
		}
	}
	for _, path := range []string{file, s.tree, filepath.Join(s.tree, "link"), filepath.Join(s.tree, "stream")} {
		if n, ok := s.take("openat", cwd, path, unix.O_PATH|unix.O_NOFOLLOW, 0); ok {
			s.descriptor(fd{n, "path of " + strings.Replace(path, s.tree, "TREE", 1)}, own)
		}
	}
	s.flush()
}

// descriptor attacks what f is, with a file of the program's own.
func (s *sweep) descriptor(f fd, own int) {
	zero := new([2]unix.Timespec)
	data, buf := []byte("hostile"), make([]byte, 4096)
	iov := []unix.Iovec{{Base: &data[0], Len: uint64(len(data))}}
	kept = append(kept, data)
	s.fail("fchmod", f, 0o4777)
	s.fail("fchmodat2", f, "", 0o4777, unix.AT_EMPTY_PATH)
	s.fail("fchown", f, -1, -1)
	s.fail("fchownat", f, "", -1, -1, unix.AT_EMPTY_PATH)
	s.fail("utimensat", f, nil, zero, 0)
	s.fail("utimensat", f, "", zero, unix.AT_EMPTY_PATH)
	s.fail("futimesat", f, nil, zero)
	s.fail("fsetxattr", f, "user.hostile", data, len(data), 0)
	s.fail("fremovexattr", f, "user.planted")
	s.fail("setxattrat", f, "", unix.AT_EMPTY_PATH, "user.hostile", &xattrArgs{value: uint64(words([]any{data})[0]), size: 7}, 16)
	s.fail("removexattrat", f, "", unix.AT_EMPTY_PATH, "user.planted")
	s.fail("file_setattr", f, "", &fileAttr{xflags: 1 << 7}, 24, unix.AT_EMPTY_PATH)
	s.fail("ftruncate", f, 0)
	s.fail("fallocate", f, 0, 0, 1<<16)
	s.fail("fallocate", f, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, 4)
	s.fail("write", f, data, len(data))
	s.fail("pwrite64", f, data, len(data), 0)
	s.fail("writev", f, iov, 1)
	s.fail("pwritev", f, iov, 1, 0, 0)
	s.fail("pwritev2", f, iov, 1, 0, 0, 0)
	s.fail("sendfile", f, own, nil, 4)
	s.fail("copy_file_range", own, nil, f, nil, 4, 0)
	s.fail("splice", 0, nil, f, nil, 4, unix.SPLICE_F_NONBLOCK)
	s.fail("vmsplice", f, iov, 1, unix.SPLICE_F_NONBLOCK)
	s.fail("tee", 0, f, 4, unix.SPLICE_F_NONBLOCK)
	s.fail("mmap", nil, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED, f, 0)
	s.fail("mmap", nil, 4096, unix.PROT_READ, unix.MAP_SHARED, f, 0)
	s.fail("read", f, buf, 4)
	s.fail("getdents64", f, buf, len(buf))
	s.fail("flock", f, unix.LOCK_EX|unix.LOCK_NB)
	s.fail("fcntl", f, unix.F_SETLEASE, unix.F_RDLCK)
	s.fail("fcntl", f, unix.F_NOTIFY, 2)
	s.fail("fcntl", f, unix.F_SETOWN, s.victim)
	s.fail("fcntl", f, unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_RDLCK})
	const fsSetXattr, fiClone, fioNBIO, fioASYNC = 0x401c5820, 0x40049409, 0x5421, 0x5452
	flags := 0x40 // no dump
	for _, request := range []int{unix.FS_IOC_SETFLAGS, fsSetXattr, unix.TIOCSTI, unix.TIOCSCTTY, fioNBIO, fioASYNC} {
		s.fail("ioctl", f, request, &flags)
	}
	s.fail("ioctl", f, fiClone, own)
	s.fail("open_by_handle_at", f, &[4]uint32{8, 1, 2, 0}, unix.O_RDONLY)
	s.free("fchdir", f)
	s.free("fsync", f)
	s.free("dup", f)
	for _, name := range []string{"file", hostile + "-at"} {
		s.fail("openat", f, name, unix.O_RDWR|unix.O_CREAT, 0o666)
		s.fail("openat2", f, name, &unix.OpenHow{Flags: unix.O_RDWR, Resolve: unix.RESOLVE_BENEATH}, unix.SizeofOpenHow)
		s.fail("mkdirat", f, name, 0o777)
		s.fail("mknodat", f, name, unix.S_IFIFO|0o666, 0)
		s.fail("symlinkat", "/", f, name)
		s.fail("fchmodat", f, name, 0o4777)
		s.fail("fchownat", f, name, -1, -1, 0)
		s.fail("utimensat", f, name, zero, 0)
		s.fail("linkat", f, name, cwd, filepath.Join(s.home, "linked"), 0)
		s.fail("renameat", f, name, f, hostile+"-moved")
		s.fail("unlinkat", f, name, 0)
	}
	s.fail("linkat", f, "", cwd, filepath.Join(s.home, "linked"), unix.AT_EMPTY_PATH)
}
