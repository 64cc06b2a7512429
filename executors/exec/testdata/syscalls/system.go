package main

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// system opens files of the machine, writes nothing to them, and changes attributes to what they are.
func (s *sweep) system() {
	write := []string{"/etc/passwd", "/etc/shadow", "/etc/hosts", "/etc/ld.so.cache", "/usr/bin/env", "/bin/sh",
		"/proc/self/exe", "/proc/self/mem", "/proc/self/oom_score_adj", "/proc/self/uid_map", "/proc/self/setgroups",
		"/proc/self/attr/current",
		"/proc/self/coredump_filter", "/proc/self/clear_refs", "/proc/sysrq-trigger", "/proc/sys/kernel/hostname",
		"/proc/sys/kernel/core_pattern",
		"/proc/sys/kernel/ns_last_pid", "/proc/sys/vm/drop_caches", "/proc/sys/net/ipv4/ip_forward", "/proc/sys/user/max_user_namespaces",
		"/proc/sys/fs/mqueue/msg_max", "/proc/irq/default_smp_affinity", "/proc/mtrr",
		"/sys/power/state", "/sys/kernel/mm/ksm/run", "/sys/kernel/uevent_helper", "/sys/devices/system/cpu/cpu1/online",
		"/sys/module/printk/parameters/time",
		"/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/pids/cgroup.procs", "/sys/fs/cgroup/memory/cgroup.procs",
		"/sys/fs/cgroup/unified/cgroup.procs",
		"/dev/kmsg", "/dev/tty", "/dev/console", "/dev/tty0", "/dev/ptmx", "/dev/pts/0", "/dev/fuse", "/dev/kvm", "/dev/net/tun",
		"/dev/loop-control", "/dev/loop0", "/dev/mapper/control", "/dev/vsock", "/dev/userfaultfd", "/dev/uinput", "/dev/input/event0"}
	read := []string{"/etc/passwd", "/etc/shadow", "/root", "/proc/kcore", "/proc/kmsg", "/proc/mounts/../1/environ",
		"/dev/mem", "/dev/port", "/dev/sda", "/dev/vda", "/dev/nvme0n1", "/dev/rtc0", "/dev/kmsg", "/dev/shm", "/dev/mqueue", "/run",
		"/var/log", "/sys/kernel/debug"}
	for _, p := range []pid{1, pid(os.Getppid()), s.victim, s.executor} {
		proc := fmt.Sprintf("/proc/%d/", p)
		for _, name := range []string{"mem", "oom_score_adj", "comm", "uid_map", "setgroups", "coredump_filter", "clear_refs",
			"timerslack_ns", "fd/0", "fd/1", "fd/2"} {
			write = append(write, proc+name)
		}
		for _, name := range []string{"environ", "maps", "auxv", "mem", "root", "cwd", "exe", "fd", "fd/0", "fd/3", "ns/mnt", "ns/user",
			"ns/pid", "ns/net", "ns/ipc"} {
			read = append(read, proc+name)
		}
	}
	for _, path := range write {
		s.fail("openat", cwd, path, unix.O_WRONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
		s.fail("openat", cwd, path, unix.O_RDWR|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	}
	for _, path := range read {
		s.fail("openat", cwd, path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	}
	for _, path := range []string{"/", "/etc", "/etc/passwd", "/etc/shadow", "/usr/bin/env", "/proc", "/proc/sys/kernel/hostname", "/sys",
		"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx"} {
		s.unchanged(path)
	}
	// The file that the program was started from is also that of the next call.
	s.fail("chmod", "/proc/self/exe", 0)
	s.fail("truncate", "/proc/self/exe", 0)
	for _, dir := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/pids", "/sys/fs/cgroup/memory", "/sys/fs/cgroup/unified", "/etc",
		"/usr/bin", "/var/tmp", "/run", "/"} {
		s.fail("mkdir", filepath.Join(dir, hostile), 0o777)
	}
	for _, dir := range []string{"/dev/shm", "/dev/mqueue", "/tmp"} { // may be the function's own
		s.free("mkdir", filepath.Join(dir, hostile), 0o777)
	}
	for _, mode := range []int{unix.S_IFCHR, unix.S_IFBLK} {
		s.fail("mknod", filepath.Join(s.home, "device"), mode|0o666, int(unix.Mkdev(7, 200)))
		s.fail("mknodat", cwd, filepath.Join(s.home, "device"), mode|0o666, int(unix.Mkdev(7, 200)))
	}
	s.flush()
}

// unchanged sets the attributes of a file to what they are, and has a device do what it must not.
func (s *sweep) unchanged(path string) {
	var st unix.Stat_t
	if unix.Stat(path, &st) != nil {
		return
	}
	mode, times := int(st.Mode&0o7777), &[2]unix.Timespec{st.Atim, st.Mtim}
	s.fail("chmod", path, mode)
	s.fail("fchmodat", cwd, path, mode)
	s.fail("chown", path, -1, -1)
	s.fail("fchownat", cwd, path, -1, -1, 0)
	s.fail("utimensat", cwd, path, times, 0)
	s.fail("link", path, filepath.Join(s.home, "linked"))
	n, ok := s.take("openat", cwd, path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if !ok {
		return
	}
	f := fd{n, path}
	s.fail("fchmod", f, mode)
	s.fail("fchown", f, -1, -1)
	s.fail("utimensat", f, nil, times, 0)
	const linux, addEntropy = 0x541c, 0x40045201
	for _, request := range []int{unix.TIOCSTI, unix.TIOCSCTTY, linux, addEntropy, unix.BLKRRPART} {
		s.fail("ioctl", f, request, new([64]byte))
	}
	flags := new(int64) // some of them say how the content is kept
	if _, ok := s.take("ioctl", f, unix.FS_IOC_GETFLAGS, flags); ok {
		s.fail("ioctl", f, unix.FS_IOC_SETFLAGS, flags)
	}
	s.free("flock", f, unix.LOCK_EX|unix.LOCK_NB)
	s.free("fcntl", f, unix.F_SETLEASE, unix.F_RDLCK)
}

// kernel asks for what concerns the whole machine.
func (s *sweep) kernel() {
	name := utsname()
	path, none := filepath.Join(s.tree, "dir"), filepath.Join(s.tree, "none")
	buf := make([]byte, 4096)
	s.deny("reboot", 0, 0, 0)
	s.deny("kexec_load", 0, 0, nil, 0xdead)
	s.deny("kexec_file_load", -1, -1, 0, nil, 0xdead)
	s.deny("init_module", buf, 64, "")
	s.deny("finit_module", 0, "", 0)
	s.deny("delete_module", hostile, unix.O_NONBLOCK)
	s.deny("acct", none)
	s.deny("swapon", none, 0)
	s.deny("swapoff", none)
	s.fail("sethostname", name.Nodename[:], length(name.Nodename[:]))
	s.fail("setdomainname", name.Domainname[:], length(name.Domainname[:]))
	s.fail("settimeofday", nil, nil)
	s.fail("clock_settime", unix.CLOCK_REALTIME, nil)
	s.fail("adjtimex", &unix.Timex{Modes: unix.ADJ_SETOFFSET})
	s.fail("clock_adjtime", unix.CLOCK_REALTIME, &unix.Timex{Modes: unix.ADJ_SETOFFSET})
	s.fail("syslog", 3, buf, len(buf))
	s.fail("syslog", 10, nil, 0)
	s.fail("vhangup")
	s.fail("quotactl", 0x800001<<8, "/dev/"+hostile, 0, nil)
	s.fail("quotactl_fd", 0, 0x800007<<8, 0, buf)
	s.fail("iopl", 3)
	s.fail("ioperm", 0x80, 1, 1)
	s.fail("nfsservctl", 0, nil, nil)
	s.fail("lookup_dcookie", 0, 0, buf, len(buf))
	s.fail("bpf", 0, &[12]uint32{2, 4, 8, 1}, 48)
	s.fail("perf_event_open", &[16]uint64{1 | 128<<32}, 0, -1, -1, 0)
	s.fail("perf_event_open", &[16]uint64{1 | 128<<32}, s.victim, -1, -1, 0)
	s.fail("userfaultfd", 0)
	s.fail("userfaultfd", unix.O_CLOEXEC|1)
	s.fail("io_uring_setup", 4, new([120]byte))
	s.fail("memfd_secret", 0)
	s.fail("fanotify_init", 0, 0)
	if n, ok := s.get("fanotify_init", unix.FAN_REPORT_FID, 0); ok {
		s.fail("fanotify_mark", fd{n, "fanotify"}, unix.FAN_MARK_ADD, unix.FAN_MODIFY, cwd, path)
	}
	s.fail("add_key", "user", hostile, "x", 1, unix.KEY_SPEC_USER_KEYRING)
	s.fail("request_key", "user", hostile, nil, unix.KEY_SPEC_USER_KEYRING)
	s.fail("keyctl", unix.KEYCTL_GET_KEYRING_ID, unix.KEY_SPEC_USER_KEYRING, 1)
	s.fail("keyctl", unix.KEYCTL_JOIN_SESSION_KEYRING, hostile)
	s.free("memfd_create", hostile, 0)
	s.free("landlock_create_ruleset", &[3]uint64{1}, 8, 0)
	s.free("landlock_add_rule", 0, 1, buf, 0)
	s.free("landlock_restrict_self", -1, 0)
	s.free("seccomp", 0, 0, nil)
	s.free("seccomp", 1, 1<<3, &unix.SockFprog{})
	s.free("personality", 0x0040000)
	s.free("getrandom", buf, 16, 0)
	s.free("sync")
	s.flush()
}

// namespaces leaves the function's own surroundings for others, or brings others in.
func (s *sweep) namespaces() {
	dir := filepath.Join(s.tree, "dir")
	for _, flag := range []int{unix.CLONE_NEWUSER, unix.CLONE_NEWNS, unix.CLONE_NEWPID, unix.CLONE_NEWNET, unix.CLONE_NEWIPC,
		unix.CLONE_NEWUTS, unix.CLONE_NEWCGROUP, unix.CLONE_NEWTIME, unix.CLONE_NEWUSER | unix.CLONE_NEWNS} {
		s.fail("unshare", flag)
		if flag != unix.CLONE_NEWTIME { // a signal's place in the flags of clone
			s.fail("clone", flag|int(unix.SIGCHLD), 0, 0, 0, 0)
		}
		s.fail("clone3", &[11]uint64{0: uint64(flag), 4: uint64(unix.SIGCHLD)}, 88)
	}
	s.free("unshare", unix.CLONE_FILES)
	s.free("clone", int(unix.SIGCHLD), 0, 0, 0, 0)
	s.free("clone3", &[11]uint64{4: uint64(unix.SIGCHLD)}, 88)
	s.free("fork")
	s.free("vfork")
	s.free("rt_sigreturn")
	for _, p := range []pid{1, pid(os.Getppid()), s.victim, s.executor} {
		for _, ns := range []string{"user", "mnt", "pid", "net", "ipc"} {
			if n, ok := s.get("openat", cwd, fmt.Sprintf("/proc/%d/ns/%s", p, ns), unix.O_RDONLY, 0); ok {
				s.fail("setns", fd{n, ns}, 0)
			}
		}
	}
	if n, ok := s.take("pidfd_open", s.victim, 0); ok {
		s.fail("setns", fd{n, "victim"}, unix.CLONE_NEWNS)
	}
	s.fail("setns", 0, 0)
	s.fail("chroot", s.tree)
	s.fail("chroot", "/")
	s.fail("chroot", s.home)
	s.fail("pivot_root", dir, dir)
	for _, on := range []string{dir, s.home} {
		s.fail("mount", "none", on, "tmpfs", 0, nil)
		s.fail("mount", s.tree, on, nil, unix.MS_BIND|unix.MS_REC, nil)
		s.fail("mount", "none", on, "proc", 0, nil)
		s.fail("mount", nil, on, nil, unix.MS_REMOUNT|unix.MS_BIND, nil)
		s.fail("umount2", on, unix.MNT_DETACH)
		s.fail("mount_setattr", cwd, on, 0, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY}, 32)
	}
	s.fail("mount_setattr", cwd, "/", 0, new(unix.MountAttr), 32)
	for _, call := range []string{"open_tree", "open_tree_attr"} {
		if n, ok := s.get(call, cwd, s.tree, unix.OPEN_TREE_CLONE, nil, 0); ok {
			s.fail("move_mount", fd{n, "copy of the tree"}, "", cwd, dir, unix.MOVE_MOUNT_F_EMPTY_PATH)
		}
	}
	s.fail("move_mount", cwd, s.tree, cwd, dir, 0)
	s.get("fspick", cwd, "/", 0)
	if n, ok := s.get("fsopen", "tmpfs", 0); ok {
		s.get("fsconfig", fd{n, "tmpfs"}, unix.FSCONFIG_CMD_CREATE, nil, nil, 0)
		if n, ok := s.get("fsmount", fd{n, "tmpfs"}, 0, 0); ok {
			s.fail("move_mount", fd{n, "tmpfs"}, "", cwd, dir, unix.MOVE_MOUNT_F_EMPTY_PATH)
		}
	}
	s.fail("fsconfig", 0, unix.FSCONFIG_CMD_CREATE, nil, nil, 0)
	s.fail("fsmount", 0, 0, 0)
	s.free("statmount", new([4]uint64), make([]byte, 4096), 4096, 0)
	s.free("listmount", new([4]uint64), make([]byte, 4096), 16, 0)
	s.free("listns", new([4]uint64), make([]byte, 4096), 16, 0)
	s.flush()
}

func utsname() (name unix.Utsname) {
	unix.Uname(&name)
	return name
}

// length is that of the text in a name of the kernel's.
func length(name []byte) int {
	for i, c := range name {
		if c == 0 {
			return i
		}
	}
	return len(name)
}
