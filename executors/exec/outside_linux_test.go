package exec_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	osexec "os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// hostile is the name of everything that testdata/syscalls tries to create.
const hostile = "krmflow-hostile"

// An outside contains everything that a function must not touch: files, sockets, System V objects,
// a message queue, a process.
type outside struct {
	tree, abstract, queue string
	tcp, udp              int
	key, shm, msg, sem    int
	memory                []byte // shared memory
	victim                *os.Process

	mu      sync.Mutex
	arrived map[string]int // socket -> connections and messages
}

// newOutside makes an outside for the test.
func newOutside(t *testing.T) *outside {
	o := &outside{arrived: map[string]int{}, key: 0x6b720000 + os.Getpid()<<4, shm: -1, msg: -1, sem: -1}
	o.plantFiles(t)
	o.sweepUp() // leftovers of a killed run
	t.Cleanup(o.sweepUp)
	o.abstract = "krmflow-" + filepath.Base(o.tree)
	o.plantSockets(t)
	o.plantIPC(t)
	o.plantVictim(t)
	return o
}

func (o *outside) plantFiles(t *testing.T) {
	dir, err := os.MkdirTemp("", "outside-")
	if err != nil {
		t.Fatal(err)
	}
	o.tree = dir
	t.Cleanup(func() { os.RemoveAll(dir) })
	in := func(name string) string { return filepath.Join(dir, name) }
	os.MkdirAll(in("dir/deep"), 0o755)
	os.Mkdir(in("empty"), 0o755)
	for name, mode := range map[string]fs.FileMode{
		"file": 0o644, "private": 0o600, "dir/deep/file": 0o444, "setuid": 0o755 | fs.ModeSetuid, "program": 0o755,
	} {
		os.WriteFile(in(name), []byte("#!/bin/sh\nexit 77\n"), 0o600)
		os.Chmod(in(name), mode)
		unix.Setxattr(in(name), "user.planted", []byte("yes"), 0)
	}
	os.Link(in("file"), in("hard"))
	os.Symlink("file", in("link"))
	os.Symlink("nowhere", in("dangling"))
	if err := unix.Mkfifo(in("fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// plantSockets listens on sockets and counts connections and messages.
func (o *outside) plantSockets(t *testing.T) {
	for _, s := range [][2]string{{"unix", o.tree + "/stream"}, {"unix", "@" + o.abstract + "-stream"}, {"tcp", "127.0.0.1:0"}} {
		l, err := net.Listen(s[0], s[1])
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		if addr, ok := l.Addr().(*net.TCPAddr); ok {
			o.tcp = addr.Port
		}
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				conn.Close()
				o.count(s[0] + " " + s[1])
			}
		}()
	}
	for _, s := range [][2]string{{"unixgram", o.tree + "/datagram"}, {"unixgram", "@" + o.abstract + "-datagram"},
		{"udp", "127.0.0.1:0"}} {
		l, err := net.ListenPacket(s[0], s[1])
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		if addr, ok := l.LocalAddr().(*net.UDPAddr); ok {
			o.udp = addr.Port
		}
		go func() {
			for buf := make([]byte, 64); ; {
				if _, _, err := l.ReadFrom(buf); err != nil {
					return
				}
				o.count(s[0] + " " + s[1])
			}
		}()
	}
}

func (o *outside) count(socket string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.arrived["socket "+socket]++
}

// call makes a system call for which x/sys has no function. It returns -1 for an error.
func call(nr uintptr, args ...uintptr) int {
	args = append(args, make([]uintptr, 6-len(args))...)
	r, _, errno := unix.Syscall6(nr, args[0], args[1], args[2], args[3], args[4], args[5])
	if errno != 0 {
		return -1
	}
	return int(r)
}

// plantIPC makes objects that are not files, as far as the kernel supports them.
func (o *outside) plantIPC(t *testing.T) {
	if id, err := unix.SysvShmGet(o.key, 4096, unix.IPC_CREAT|0o600); err == nil {
		o.shm = id
		if o.memory, err = unix.SysvShmAttach(id, 0, 0); err != nil {
			t.Fatal(err)
		}
		copy(o.memory, "planted")
	}
	o.msg = call(unix.SYS_MSGGET, uintptr(o.key), unix.IPC_CREAT|0o600)
	o.sem = call(unix.SYS_SEMGET, uintptr(o.key), 1, unix.IPC_CREAT|0o600)
	o.queue = "krmflow-planted-" + strconv.Itoa(os.Getpid())
	fd := openQueue(o.queue, unix.O_CREAT|unix.O_RDWR)
	unix.Close(fd)
	t.Cleanup(func() {
		unix.SysvShmDetach(o.memory)
		unlinkQueue(o.queue)
	})
}

func openQueue(name string, flags int) int {
	p, _ := unix.BytePtrFromString(name)
	return call(unix.SYS_MQ_OPEN, uintptr(unsafe.Pointer(p)), uintptr(flags), 0o600)
}

func unlinkQueue(name string) {
	p, _ := unix.BytePtrFromString(name)
	call(unix.SYS_MQ_UNLINK, uintptr(unsafe.Pointer(p)))
}

// plantVictim starts a sleeping process for which every signal stays pending, so that it is
// visible. A function in its own namespace does not soon get a process with the same number.
func (o *outside) plantVictim(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if unix.Gettid() == os.Getpid() {
		// An executor mistakes children of the main thread for orphans of its functions and kills
		// them. This goroutine therefore holds the main thread.
		planted := make(chan struct{})
		go func() {
			defer close(planted)
			o.plantVictim(t)
		}()
		if <-planted; t.Failed() {
			t.FailNow()
		}
		return
	}
	var all, before unix.Sigset_t
	for i := range all.Val {
		all.Val[i] = ^uint64(0)
	}
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &all, &before); err != nil {
		t.Fatal(err)
	}
	defer unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil)
	end := func() {
		o.victim.Kill()
		o.victim.Wait()
	}
	for o.victim == nil || o.victim.Pid < 1000 {
		if o.victim != nil {
			end()
		}
		cmd := osexec.Command("/bin/sleep", "600")
		cmd.Env = []string{"PLANTED=yes"}
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		o.victim = cmd.Process
	}
	t.Cleanup(end)
	for asleep := false; !asleep; {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", o.victim.Pid))
		if err != nil {
			t.Fatal(err)
		}
		asleep = bytes.Contains(stat, []byte("(sleep) S "))
	}
}

// address returns the address of the victim's environment in its memory.
func (o *outside) address() uint64 {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", o.victim.Pid))
	_, rest, _ := strings.Cut(string(data), ") ")
	if fields := strings.Fields(rest); len(fields) > 47 {
		n, _ := strconv.ParseUint(fields[47], 10, 64)
		return n
	}
	return 0
}

// args returns the command line of testdata/syscalls.
func (o *outside) args() []string {
	return []string{"-tree=" + o.tree, "-abstract=" + o.abstract, "-queue=" + o.queue, fmt.Sprint("-tcp=", o.tcp),
		fmt.Sprint("-udp=", o.udp),
		fmt.Sprint("-key=", o.key), fmt.Sprint("-shm=", o.shm), fmt.Sprint("-msg=", o.msg), fmt.Sprint("-sem=", o.sem),
		fmt.Sprint("-victim=", o.victim.Pid), fmt.Sprint("-executor=", os.Getpid()), fmt.Sprint("-address=", o.address())}
}

// look returns everything that a function must not change, by name.
func (o *outside) look(t *testing.T) map[string]string {
	seen := map[string]string{}
	filepath.WalkDir(o.tree, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			t.Error(err)
		}
		seen[strings.Replace(path, o.tree, "TREE", 1)] = describe(path)
		return nil
	})
	for _, path := range systemFiles {
		if info, err := os.Lstat(path); err == nil {
			var data []byte
			if info.Mode().IsRegular() {
				data, _ = os.ReadFile(path)
			}
			st := info.Sys().(*syscall.Stat_t)
			seen[path] = fmt.Sprintf("%v %d %d %x", info.Mode(), st.Uid, st.Gid, sha256.Sum256(data))
		}
	}
	for _, path := range droppings {
		if _, err := os.Lstat(path); err == nil {
			seen[path] = "exists"
		}
	}
	o.lookIPC(seen)
	lookProcess(seen, "victim", o.victim.Pid, victimStatus)
	lookProcess(seen, "executor", os.Getpid(), executorStatus)
	for file, word := range map[string]string{"/proc/self/mountinfo": o.tree, "/proc/keys": hostile, "/proc/swaps": o.tree} {
		data, _ := os.ReadFile(file)
		for line := range strings.Lines(string(data)) {
			if strings.Contains(line, word) {
				seen[file] += line
			}
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for socket, n := range o.arrived {
		seen[strings.Replace(socket, o.tree, "TREE", 1)] = fmt.Sprint(n, " arrived")
	}
	return seen
}

var (
	systemFiles = []string{"/", "/etc", "/etc/passwd", "/etc/shadow", "/etc/hosts", "/usr/bin/env", "/bin/sh", "/tmp", "/dev/null",
		"/dev/urandom",
		"/proc/sys/kernel/hostname", "/proc/sys/kernel/domainname", "/proc/sys/kernel/core_pattern", "/proc/sys/net/ipv4/ip_forward"}
	droppings = []string{"/sys/fs/cgroup/" + hostile, "/sys/fs/cgroup/pids/" + hostile, "/sys/fs/cgroup/memory/" + hostile,
		"/sys/fs/cgroup/unified/" + hostile, "/etc/" + hostile, "/usr/bin/" + hostile, "/var/tmp/" + hostile, "/run/" + hostile,
		"/" + hostile,
		"/dev/shm/" + hostile, "/dev/mqueue/" + hostile, "/tmp/" + hostile}
	victimStatus = []string{"Name", "Umask", "State", "TracerPid", "Uid", "Gid", "Groups", "SigPnd", "ShdPnd", "Cpus_allowed",
		"NoNewPrivs", "Seccomp"}
	executorStatus = []string{"Name", "Umask", "TracerPid", "Uid", "Gid", "Groups", "Cpus_allowed", "NoNewPrivs", "Seccomp"}
)

// describe returns all properties of a file except its access time.
func describe(path string) string {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return err.Error()
	}
	text := fmt.Sprintf("mode %o, owner %d:%d, %d links, %d bytes, device %x, modified %d.%09d, changed %d.%09d", st.Mode, st.Uid, st.Gid,
		st.Nlink,
		st.Size, st.Rdev, st.Mtim.Sec, st.Mtim.Nsec, st.Ctim.Sec, st.Ctim.Nsec)
	var stx unix.Statx_t
	unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BASIC_STATS|unix.STATX_MNT_ID, &stx)
	text += fmt.Sprintf(", flags %x, mount %d", stx.Attributes, stx.Mnt_id)
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		data, _ := os.ReadFile(path)
		text += fmt.Sprintf(", content %q", data)
	case unix.S_IFLNK:
		to, _ := os.Readlink(path)
		text += ", to " + to
	}
	names := make([]byte, 4096)
	n, _ := unix.Llistxattr(path, names)
	for name := range bytes.SplitSeq(bytes.TrimSuffix(names[:max(n, 0)], []byte{0}), []byte{0}) {
		value := make([]byte, 256)
		n, _ := unix.Lgetxattr(path, string(name), value)
		text += fmt.Sprintf(", %s=%q", name, value[:max(n, 0)])
	}
	return text
}

// lookIPC adds the objects with a key of the test.
func (o *outside) lookIPC(seen map[string]string) {
	for _, kind := range []string{"shm", "msg", "sem"} {
		volatile := map[string][]int{"shm": {5, 6, 11, 12}}[kind] // processes started by this one are also attached briefly
		data, _ := os.ReadFile("/proc/sysvipc/" + kind)
		for line := range strings.Lines(string(data)) {
			fields := strings.Fields(line)
			for _, i := range volatile {
				fields[i] = "-"
			}
			for i := range 2 {
				if len(fields) > 1 && fields[0] == strconv.Itoa(o.key+i) {
					seen[fmt.Sprint(kind, " ", i)] = strings.Join(fields, " ")
				}
			}
		}
	}
	const getVal = 12
	seen["shm content"] = fmt.Sprintf("%x", sha256.Sum256(o.memory))
	seen["sem value"] = fmt.Sprint(call(unix.SYS_SEMCTL, uintptr(o.sem), 0, getVal))
	for _, name := range []string{o.queue, hostile} {
		if fd := openQueue(name, unix.O_RDONLY); fd >= 0 {
			var attr [8]int64
			call(unix.SYS_MQ_GETSETATTR, uintptr(fd), 0, uintptr(unsafe.Pointer(&attr)))
			seen["queue "+name] = fmt.Sprint(attr)
			unix.Close(fd)
		}
	}
}

// lookProcess adds the state of a process that others can change.
func lookProcess(seen map[string]string, name string, pid int, status []string) {
	proc := fmt.Sprintf("/proc/%d/", pid)
	data, _ := os.ReadFile(proc + "status")
	for line := range strings.Lines(string(data)) {
		if key, value, _ := strings.Cut(line, ":"); slices.Contains(status, key) {
			seen[name+" "+key] = strings.TrimSpace(value)
		}
	}
	for _, file := range []string{"limits", "oom_score_adj", "coredump_filter", "timerslack_ns", "uid_map", "environ", "cgroup"} {
		data, _ := os.ReadFile(proc + file)
		seen[name+" "+file] = fmt.Sprintf("%q", data)
	}
	nice, _ := unix.Getpriority(unix.PRIO_PROCESS, pid)
	group, _ := unix.Getpgid(pid)
	session, _ := unix.Getsid(pid)
	policy, _ := unix.SchedGetAttr(pid, 0)
	seen[name+" priority"] = fmt.Sprintf("nice %d, io %d, scheduled %+v", nice, call(unix.SYS_IOPRIO_GET, 1, uintptr(pid)), policy)
	seen[name+" group"] = fmt.Sprint(group, session)
}

// differences compares two states.
func differences(before, now map[string]string) (list []string) {
	names := maps.Clone(before)
	maps.Copy(names, now)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if before[name] != now[name] {
			list = append(list, fmt.Sprintf("%s:\n  before %s\n  now    %s", name, before[name], now[name]))
		}
	}
	return list
}

// sweepUp removes everything that escaped.
func (o *outside) sweepUp() {
	for unix.Unmount(filepath.Join(o.tree, "dir"), unix.MNT_DETACH) == nil {
	}
	for _, path := range droppings {
		os.Remove(path)
	}
	unlinkQueue(hostile)
	if id, err := unix.KeyctlSearch(unix.KEY_SPEC_USER_KEYRING, "user", hostile, 0); err == nil {
		unix.KeyctlInt(unix.KEYCTL_UNLINK, id, unix.KEY_SPEC_USER_KEYRING, 0, 0)
	}
	for i := range 2 {
		key := uintptr(o.key + i)
		call(unix.SYS_SHMCTL, uintptr(call(unix.SYS_SHMGET, key, 0, 0)), unix.IPC_RMID, 0)
		call(unix.SYS_MSGCTL, uintptr(call(unix.SYS_MSGGET, key, 0)), unix.IPC_RMID, 0)
		call(unix.SYS_SEMCTL, uintptr(call(unix.SYS_SEMGET, key, 0, 0)), 0, unix.IPC_RMID, 0)
	}
}

// processesOf finds the processes with a variable in their environment.
func processesOf(variable string) (list []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		if data, _ := os.ReadFile(file); slices.Contains(strings.Split(string(data), "\x00"), variable) {
			name, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "stat"))
			list = append(list, strings.TrimSpace(string(name)))
		}
	}
	return list
}
