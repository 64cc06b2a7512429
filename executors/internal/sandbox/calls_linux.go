//go:build amd64 || arm64

package sandbox

import "golang.org/x/sys/unix"

const all = ^uint32(0)

// newest is the last system call reviewed for these lists. Later calls fail with ENOSYS, as on a
// kernel without them.
const newest = unix.SYS_MSEAL

// allowed lists the system calls that every function may use on every machine. They affect only
// the function's own processes, its descriptors and the files that Landlock lets it open.
var allowed = []uint32{
	// Descriptors and their content.
	unix.SYS_READ, unix.SYS_WRITE, unix.SYS_READV, unix.SYS_WRITEV, unix.SYS_PREAD64, unix.SYS_PWRITE64, unix.SYS_PREADV,
	unix.SYS_PWRITEV, unix.SYS_PREADV2, unix.SYS_PWRITEV2, unix.SYS_LSEEK, unix.SYS_CLOSE, unix.SYS_CLOSE_RANGE, unix.SYS_DUP,
	unix.SYS_DUP3, unix.SYS_FLOCK, unix.SYS_FSYNC, unix.SYS_FDATASYNC, unix.SYS_SYNC_FILE_RANGE, unix.SYS_FTRUNCATE,
	unix.SYS_FALLOCATE, unix.SYS_FADVISE64, unix.SYS_READAHEAD, unix.SYS_CACHESTAT, unix.SYS_SENDFILE, unix.SYS_SPLICE,
	unix.SYS_TEE, unix.SYS_VMSPLICE, unix.SYS_COPY_FILE_RANGE, unix.SYS_PIPE2, unix.SYS_EVENTFD2, unix.SYS_SIGNALFD4,
	unix.SYS_TIMERFD_CREATE, unix.SYS_TIMERFD_SETTIME, unix.SYS_TIMERFD_GETTIME, unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL,
	unix.SYS_EPOLL_PWAIT, unix.SYS_EPOLL_PWAIT2, unix.SYS_PPOLL, unix.SYS_PSELECT6,
	// Files.
	unix.SYS_STATX, unix.SYS_NEWFSTATAT, unix.SYS_FSTAT, unix.SYS_STATFS, unix.SYS_FSTATFS, unix.SYS_FACCESSAT, unix.SYS_FACCESSAT2,
	unix.SYS_READLINKAT, unix.SYS_GETDENTS64, unix.SYS_GETCWD, unix.SYS_CHDIR, unix.SYS_FCHDIR, unix.SYS_UMASK, unix.SYS_MKDIRAT,
	unix.SYS_MKNODAT, unix.SYS_UNLINKAT, unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2, unix.SYS_LINKAT, unix.SYS_SYMLINKAT,
	unix.SYS_GETXATTR, unix.SYS_LGETXATTR, unix.SYS_FGETXATTR, unix.SYS_LISTXATTR, unix.SYS_LLISTXATTR, unix.SYS_FLISTXATTR,
	// Memory.
	unix.SYS_MUNMAP, unix.SYS_MREMAP, unix.SYS_MPROTECT, unix.SYS_MADVISE, unix.SYS_MINCORE, unix.SYS_MSYNC, unix.SYS_MLOCK,
	unix.SYS_MLOCK2, unix.SYS_MUNLOCK, unix.SYS_MLOCKALL, unix.SYS_MUNLOCKALL, unix.SYS_BRK, unix.SYS_GET_MEMPOLICY,
	unix.SYS_PKEY_ALLOC, unix.SYS_PKEY_FREE, unix.SYS_PKEY_MPROTECT, unix.SYS_MEMBARRIER, unix.SYS_MSEAL, unix.SYS_MAP_SHADOW_STACK,
	// The function's own processes.
	unix.SYS_EXECVE, unix.SYS_EXECVEAT, unix.SYS_EXIT, unix.SYS_EXIT_GROUP, unix.SYS_WAIT4, unix.SYS_WAITID, unix.SYS_PIDFD_OPEN,
	unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGPENDING, unix.SYS_RT_SIGTIMEDWAIT, unix.SYS_RT_SIGSUSPEND,
	unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK, unix.SYS_RESTART_SYSCALL, unix.SYS_GETPID,
	unix.SYS_GETPPID, unix.SYS_GETTID, unix.SYS_GETPGID, unix.SYS_SETPGID, unix.SYS_GETSID, unix.SYS_SETSID, unix.SYS_GETUID,
	unix.SYS_GETEUID, unix.SYS_GETGID, unix.SYS_GETEGID, unix.SYS_GETRESUID, unix.SYS_GETRESGID, unix.SYS_GETGROUPS,
	unix.SYS_SETUID, unix.SYS_SETGID, unix.SYS_SETREUID, unix.SYS_SETREGID, unix.SYS_SETRESUID, unix.SYS_SETRESGID,
	unix.SYS_SETFSUID, unix.SYS_SETFSGID, unix.SYS_CAPGET, unix.SYS_CAPSET, unix.SYS_PRCTL, unix.SYS_SECCOMP,
	unix.SYS_LANDLOCK_CREATE_RULESET, unix.SYS_LANDLOCK_ADD_RULE, unix.SYS_LANDLOCK_RESTRICT_SELF,
	// Threads, clocks and the scheduler: queries and changes that concern the caller.
	unix.SYS_SET_TID_ADDRESS, unix.SYS_SET_ROBUST_LIST, unix.SYS_GET_ROBUST_LIST, unix.SYS_FUTEX, unix.SYS_FUTEX_WAITV,
	unix.SYS_FUTEX_WAKE, unix.SYS_FUTEX_WAIT, unix.SYS_FUTEX_REQUEUE, unix.SYS_RSEQ, unix.SYS_GETCPU, unix.SYS_SCHED_YIELD,
	unix.SYS_SCHED_GETAFFINITY, unix.SYS_SCHED_GETPARAM, unix.SYS_SCHED_GETSCHEDULER, unix.SYS_SCHED_GETATTR,
	unix.SYS_SCHED_GET_PRIORITY_MAX, unix.SYS_SCHED_GET_PRIORITY_MIN, unix.SYS_SCHED_RR_GET_INTERVAL, unix.SYS_GETPRIORITY,
	unix.SYS_IOPRIO_GET, unix.SYS_GETRLIMIT, unix.SYS_SETRLIMIT, unix.SYS_GETRUSAGE, unix.SYS_TIMES, unix.SYS_NANOSLEEP,
	unix.SYS_CLOCK_NANOSLEEP, unix.SYS_CLOCK_GETTIME, unix.SYS_CLOCK_GETRES, unix.SYS_GETTIMEOFDAY, unix.SYS_TIMER_CREATE,
	unix.SYS_TIMER_SETTIME, unix.SYS_TIMER_GETTIME, unix.SYS_TIMER_GETOVERRUN, unix.SYS_TIMER_DELETE, unix.SYS_GETITIMER,
	unix.SYS_SETITIMER, unix.SYS_SYSINFO, unix.SYS_UNAME, unix.SYS_GETRANDOM,
	// Sockets that the function was given or created as a pair.
	unix.SYS_SENDTO, unix.SYS_RECVFROM, unix.SYS_SENDMSG, unix.SYS_RECVMSG, unix.SYS_SENDMMSG, unix.SYS_RECVMMSG, unix.SYS_SHUTDOWN,
	unix.SYS_GETSOCKOPT, unix.SYS_SETSOCKOPT, unix.SYS_GETSOCKNAME, unix.SYS_GETPEERNAME,
}

// signals lists the calls that signal a process by its id. Without a PID namespace, or a
// Landlock version that restricts signals, that may be any process of the user.
var signals = []uint32{
	unix.SYS_KILL, unix.SYS_TKILL, unix.SYS_TGKILL, unix.SYS_PIDFD_SEND_SIGNAL, unix.SYS_RT_SIGQUEUEINFO, unix.SYS_RT_TGSIGQUEUEINFO,
}

// ownSignals allows a process to signal its own process group, which belongs to the function.
var ownSignals = exception{unix.SYS_KILL, unix.EPERM, []test{{0, all, []uint32{0}}}}

// metadata lists the calls that change a file without opening it for writing. Landlock does not
// restrict them.
var metadata = []uint32{
	unix.SYS_FCHMOD, unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWN, unix.SYS_FCHOWNAT, unix.SYS_UTIMENSAT, unix.SYS_TRUNCATE,
	unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR,
}

// network lists the additional calls of a function with network access, besides [internet].
var network = []uint32{
	unix.SYS_BIND, unix.SYS_LISTEN, unix.SYS_CONNECT, unix.SYS_ACCEPT, unix.SYS_ACCEPT4,
}

// absent lists calls that fail as on an old kernel, so that programs use older calls that the
// filter can check. clone3 takes its flags by pointer, which a filter cannot follow, and
// io_uring performs operations that a filter never sees.
var absent = []uint32{unix.SYS_CLONE3, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER}

// exceptions lists calls that are allowed only with some arguments.
var exceptions = []exception{
	{unix.SYS_CLONE, unix.EPERM, []test{{0, unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
		unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP, []uint32{0}}}},
	// A datagram socket of a pair can send to every datagram socket with a path on the machine.
	{unix.SYS_SOCKETPAIR, unix.EPERM, []test{{0, all, []uint32{unix.AF_UNIX}}, {1, 0xf, []uint32{unix.SOCK_STREAM, unix.SOCK_SEQPACKET}}}},
	// Leases, notifications and signals of a descriptor affect other users of the file.
	{unix.SYS_FCNTL, unix.EPERM, []test{{1, all, []uint32{unix.F_DUPFD, unix.F_GETFD, unix.F_SETFD, unix.F_GETFL, unix.F_SETFL,
		unix.F_GETLK, unix.F_SETLK, unix.F_SETLKW, unix.F_OFD_GETLK, unix.F_OFD_SETLK, unix.F_OFD_SETLKW, unix.F_DUPFD_CLOEXEC,
		unix.F_SETPIPE_SZ, unix.F_GETPIPE_SZ, unix.F_ADD_SEALS, unix.F_GET_SEALS}}}},
	// No devices are accessible. Other ioctls on files, such as changing attributes, are not
	// restricted by Landlock or mounts.
	{unix.SYS_IOCTL, unix.ENOTTY, []test{{1, all, []uint32{unix.TCGETS, unix.TIOCGWINSZ, fionread, fioclex, fionclex, fionbio}}}},
	// Priorities, processors and limits can be changed only for the caller.
	{unix.SYS_SETPRIORITY, unix.EPERM, []test{{0, all, []uint32{unix.PRIO_PROCESS}}, {1, all, []uint32{0}}}},
	{unix.SYS_IOPRIO_SET, unix.EPERM, []test{{0, all, []uint32{ioprioProcess}}, {1, all, []uint32{0}}}},
	{unix.SYS_SCHED_SETAFFINITY, unix.EPERM, []test{{0, all, []uint32{0}}}},
	{unix.SYS_SCHED_SETSCHEDULER, unix.EPERM, []test{{0, all, []uint32{0}}}},
	{unix.SYS_SCHED_SETPARAM, unix.EPERM, []test{{0, all, []uint32{0}}}},
	{unix.SYS_SCHED_SETATTR, unix.EPERM, []test{{0, all, []uint32{0}}}},
	{unix.SYS_PRLIMIT64, unix.EPERM, []test{{0, all, []uint32{0}}}},
}

// internet allows Internet sockets and the kernel's routing and address tables, which resolvers
// read.
var internet = exception{unix.SYS_SOCKET, unix.EPERM, []test{
	{0, all, []uint32{unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}},
	{2, all, []uint32{unix.NETLINK_ROUTE, unix.IPPROTO_ICMP, unix.IPPROTO_TCP, unix.IPPROTO_UDP, unix.IPPROTO_ICMPV6}},
}}

// Package unix lacks these.
const (
	fionread, fionbio, fionclex, fioclex = 0x541b, 0x5421, 0x5450, 0x5451
	ioprioProcess                        = 1
)

// truncating is the mask of the open flags that determine whether a file is truncated.
// notEmptied lists all its values except the one that truncates a file opened for reading.
const truncating = unix.O_ACCMODE | unix.O_TRUNC

var notEmptied = []uint32{0, 1, 2, 3, unix.O_TRUNC | 1, unix.O_TRUNC | 2, unix.O_TRUNC | 3}

// ownMemory lists all kinds of mappings except shared anonymous memory, which may remain in use
// after it is unmapped.
var ownMemory = []uint32{
	unix.MAP_SHARED, unix.MAP_PRIVATE, unix.MAP_SHARED_VALIDATE, unix.MAP_PRIVATE | unix.MAP_ANONYMOUS,
}
