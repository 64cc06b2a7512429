package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// rights takes rights that the function was not given.
func (s *sweep) rights() {
	const other = 12345
	for _, call := range []string{"setuid", "setgid"} {
		s.fail(call, other)
	}
	for _, call := range []string{"setreuid", "setregid", "setresuid", "setresgid"} {
		s.fail(call, other, other, other)
	}
	for _, call := range []string{"setfsuid", "setfsgid"} { // answers with what was
		s.free(call, other)
	}
	s.fail("setgroups", 1, &[1]uint32{other})
	s.fail("setgroups", 0, nil)
	all := &[2]unix.CapUserData{{Effective: 1<<32 - 1, Permitted: 1<<32 - 1}, {Effective: 0x1ff, Permitted: 0x1ff}}
	s.fail("capset", &unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, all)
	for _, c := range []int{unix.CAP_DAC_OVERRIDE, unix.CAP_SYS_ADMIN, unix.CAP_KILL, unix.CAP_MKNOD} {
		one := new([2]unix.CapUserData)
		one[0].Effective, one[0].Permitted = 1<<c, 1<<c
		s.fail("capset", &unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, one)
	}
	s.fail("prctl", unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_RAISE, unix.CAP_SYS_ADMIN, 0, 0)
	s.fail("prctl", unix.PR_SET_SECUREBITS, 1)
	s.fail("prctl", unix.PR_SET_MM, unix.PR_SET_MM_BRK, 0, 0, 0)
	s.fail("prctl", unix.PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0)
	s.fail("prctl", unix.PR_SET_SECCOMP, 0, 0)
	s.fail("prctl", unix.PR_SCHED_CORE, 2, s.victim, 0, 0) // share to
	for option := range 80 {
		s.free("prctl", option, 1, 0, 0, 0)
	}
	// More than the limits that it has.
	for _, resource := range []int{unix.RLIMIT_NOFILE, unix.RLIMIT_NPROC, unix.RLIMIT_FSIZE, unix.RLIMIT_DATA, unix.RLIMIT_CORE} {
		var now unix.Rlimit
		if unix.Getrlimit(resource, &now) != nil || now.Max == unix.RLIM_INFINITY {
			continue
		}
		more := &unix.Rlimit{Cur: now.Max, Max: now.Max + 1}
		s.fail("setrlimit", resource, more)
		s.fail("prlimit64", 0, resource, more, nil)
	}
	s.fail("setpriority", unix.PRIO_PROCESS, 0, -5)
	s.fail("sched_setscheduler", 0, unix.SCHED_FIFO, &[1]int32{1})
	s.fail("sched_setattr", 0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_DEADLINE, Runtime: 1 << 20, Deadline: 1 << 24,
		Period: 1 << 24}, 0)
	s.fail("ioprio_set", 1, 0, 1<<13)
	s.free("setpgid", 0, 0)
	s.free("setsid")
	s.flush()
}

// processes attacks others by their number. The executor and the function's parent must live on, so that they only have done to
// them what changes nothing.
func (s *sweep) processes() {
	const group = 2
	usr1 := int(unix.SIGUSR1)
	v, parent := s.victim, pid(os.Getppid())
	info := new([32]int32) // a signal by sigqueue
	info[0], info[2] = int32(usr1), -1
	s.fail("kill", v, usr1)
	s.fail("kill", -v, usr1)
	s.fail("kill", v, int(unix.SIGSTOP))
	s.fail("kill", s.executor, 0)
	s.fail("tkill", v, usr1)
	s.fail("tgkill", v, v, usr1)
	s.fail("rt_sigqueueinfo", v, usr1, info)
	s.fail("rt_tgsigqueueinfo", v, v, usr1, info)
	if n, ok := s.take("pidfd_open", v, 0); ok {
		pidfd := fd{n, "victim"}
		s.fail("pidfd_send_signal", pidfd, usr1, nil, 0)
		s.fail("pidfd_getfd", pidfd, 0, 0)
		s.fail("process_madvise", pidfd, &[2]uint64{s.address &^ 4095, 4096}, 1, unix.MADV_PAGEOUT, 0)
		s.fail("process_mrelease", pidfd, 0)
	}
	s.fail("pidfd_send_signal", 0, usr1, nil, 0)
	s.fail("process_madvise", 0, nil, 0, 0, 0)
	s.fail("process_mrelease", 0, 0)
	if n, ok := s.take("pidfd_open", parent, 0); ok {
		s.fail("pidfd_getfd", fd{n, "parent"}, 0, 0)
		s.fail("pidfd_getfd", fd{n, "parent"}, 3, 0)
	}
	for _, p := range []pid{v, s.executor, parent, 1} {
		s.fail("ptrace", unix.PTRACE_SEIZE, p, 0, 0)
		s.fail("process_vm_readv", p, &[2]uint64{}, 1, &[2]uint64{4096, 1}, 1, 0)
		s.fail("kcmp", p, os.Getpid(), 1, 0, 0)
		s.fail("perf_event_open", &[16]uint64{1 | 128<<32}, p, -1, -1, 0)
		s.fail("move_pages", p, 0, nil, nil, nil, 0)
		s.free("prlimit64", p, unix.RLIMIT_CORE, nil, new(unix.Rlimit))
		s.free("get_robust_list", p, new(uint64), new(uint64))
	}
	s.fail("prlimit64", s.executor, unix.RLIMIT_CORE, new(unix.Rlimit), nil)
	s.fail("prlimit64", parent, unix.RLIMIT_CORE, new(unix.Rlimit), nil)
	word := []byte("hostile!")
	local, remote := &[2]uint64{uint64(words([]any{word})[0]), 8}, &[2]uint64{s.address, 8}
	s.fail("process_vm_readv", v, local, 1, remote, 1, 0)
	s.fail("process_vm_writev", v, local, 1, remote, 1, 0)
	s.fail("prlimit64", v, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 77, Max: 77}, nil)
	s.fail("setpriority", unix.PRIO_PROCESS, v, 5)
	s.fail("setpriority", unix.PRIO_PGRP, v, 6)
	s.fail("setpriority", unix.PRIO_PROCESS, parent, 1)
	s.fail("sched_setaffinity", v, 8, &[1]uint64{1})
	s.fail("sched_setscheduler", v, unix.SCHED_BATCH, &[1]int32{0})
	s.fail("sched_setparam", v, &[1]int32{0})
	s.fail("sched_setattr", v, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}, 0)
	s.fail("ioprio_set", 1, v, 2<<13|7)
	s.fail("ioprio_set", group, v, 2<<13|7)
	user := s.deny
	if parent == 1 {
		user = s.free // a user's processes are those that can be seen
	}
	user("setpriority", unix.PRIO_USER, 4242424, 0)
	user("ioprio_set", 3, 4242424, 2<<13)
	s.fail("migrate_pages", v, 64, &[1]uint64{1}, &[1]uint64{1})
	s.fail("setpgid", v, 0)
	s.owner()
	s.flush()
}

// owner has the kernel send the victim a signal when a pipe can be read.
func (s *sweep) owner() {
	p := new([2]int32)
	if _, ok := s.take("pipe2", p, unix.O_NONBLOCK); !ok {
		return
	}
	r := fd{int(p[0]), "pipe"}
	s.take("fcntl", r, unix.F_SETOWN, s.victim)
	s.take("fcntl", r, unix.F_SETSIG, int(unix.SIGUSR2))
	s.take("fcntl", r, unix.F_SETFL, unix.O_ASYNC|unix.O_NONBLOCK)
	s.free("write", int(p[1]), "x", 1)
}
