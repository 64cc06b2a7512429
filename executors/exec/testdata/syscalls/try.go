package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A grade says what must not come of an attempt.
type grade int

const (
	free grade = iota // the call may succeed: a look at the outside tells whether it did harm
	fail              // the call must not succeed
	deny              // the call is wrong in itself, and must be refused for want of rights before that is noticed
)

// An attempt is a system call with hostile arguments, made in a process of its own: it may end that, or block it.
type attempt struct {
	grade  grade
	call   string
	nr     uintptr
	args   []any
	compat bool // by the entry for 32-bit programs

	pid, pipe int
}

// A sweep makes attempts, some at a time, and notes what came of them.
type sweep struct {
	target
	home, own, alias string // HOME, a file in it, and a link to the tree in it
	nr               map[string]uintptr
	running          []attempt
	used             map[string]bool           // calls that were tried by name
	attempts         map[string]int            // by name, but for those whose result is needed
	got              map[string]map[string]int // call -> outcome -> how often
	through          []string                  // what got through
}

const (
	together = 32 // attempts at a time
	// A call that must not succeed is refused at once. Others may block.
	patience, impatience = 3 * time.Second, 40 * time.Millisecond
)

// Arguments that are shown by a name.
type (
	fd struct {
		n    int
		name string
	}
	pid int
)

func (s *sweep) free(call string, args ...any) { s.sampled(free, call, args) }
func (s *sweep) fail(call string, args ...any) { s.sampled(fail, call, args) }
func (s *sweep) deny(call string, args ...any) { s.sampled(deny, call, args) }

// sampled tries a call, a quick sweep only twice.
func (s *sweep) sampled(g grade, call string, args []any) {
	if s.quick && s.attempts[call] == 2 {
		return
	}
	s.attempts[call]++
	s.named(g, call, args)
}

// named tries a call by its name. One that the architecture lacks is left out.
func (s *sweep) named(g grade, call string, args []any) {
	if nr, ok := s.nr[call]; ok {
		s.used[call] = true
		s.try(attempt{grade: g, call: call, nr: nr, args: args})
	}
}

// try starts an attempt; flush waits for it.
func (s *sweep) try(a attempt) {
	if len(s.running) == together {
		s.flush()
	}
	err := a.start()
	if err != nil {
		s.flush()
		err = a.start()
	}
	if err != nil {
		s.note(a, "not tried: "+err.Error(), true)
		return
	}
	s.running = append(s.running, a)
}

// get makes a call that must not succeed, and if it does, once more in this process for its result.
func (s *sweep) get(call string, args ...any) (int, bool) { return s.obtain(fail, call, args) }

// take is get for a call that may succeed.
func (s *sweep) take(call string, args ...any) (int, bool) { return s.obtain(free, call, args) }

func (s *sweep) obtain(g grade, call string, args []any) (int, bool) {
	s.flush()
	s.named(g, call, args)
	if !s.flush() {
		return 0, false
	}
	w := words(args)
	r, _, errno := unix.RawSyscall6(s.nr[call], w[0], w[1], w[2], w[3], w[4], w[5])
	return int(r), errno == 0
}

// emptyStack is the middle of some zeros.
var emptyStack = words([]any{make([]byte, 1<<16)})[0] + 1<<15

// start makes the call in a child, which inherits all of this process.
func (a *attempt) start() error {
	w := words(a.args)
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return err
	}
	pid, _, errno := unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if pid == 0 && errno == 0 {
		var answer [2]uintptr
		switch {
		case a.compat:
			answer[0], answer[1] = int80(a.nr, w[0], w[1], w[2])
		case a.call == "rt_sigreturn" || a.call == "vfork": // they use this program's stack
			answer[0] = bare(a.nr, emptyStack)
		default:
			r, _, errno := unix.RawSyscall6(a.nr, w[0], w[1], w[2], w[3], w[4], w[5])
			answer[0], answer[1] = r, uintptr(errno)
		}
		unix.RawSyscall(unix.SYS_WRITE, uintptr(p[1]), uintptr(unsafe.Pointer(&answer)), unsafe.Sizeof(answer))
		for { // it must not go on as the parent, even if it may not end
			unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
		}
	}
	unix.Close(p[1])
	a.pid, a.pipe = int(pid), p[0]
	if errno != 0 {
		unix.Close(p[0])
		return errno
	}
	return nil
}

// flush waits for all that was started. It reports whether the last attempt succeeded.
func (s *sweep) flush() (ok bool) {
	begin := time.Now()
	for _, a := range s.running {
		limit := patience
		if a.grade == free {
			limit = impatience
		}
		ok = s.await(a, max(0, limit-time.Since(begin)))
	}
	s.running = s.running[:0]
	return ok
}

// executed is the exit code of the program in the tree.
const executed = 77

// await notes what came of an attempt.
func (s *sweep) await(a attempt, limit time.Duration) (ok bool) {
	var answer [16]byte
	n := 0
	poll := []unix.PollFd{{Fd: int32(a.pipe), Events: unix.POLLIN}}
	ready, err := unix.Poll(poll, int(limit.Milliseconds()))
	for err == unix.EINTR {
		ready, err = unix.Poll(poll, int(limit.Milliseconds()))
	}
	if ready > 0 {
		n, _ = unix.Read(a.pipe, answer[:])
	}
	unix.Close(a.pipe)
	if unix.Kill(a.pid, unix.SIGKILL) != nil && ready == 0 { // some sandboxes refuse that: the end of this program is its end
		s.note(a, "did not return", a.grade != free)
		return false
	}
	var ws unix.WaitStatus
	unix.Wait4(a.pid, &ws, unix.WALL, nil)
	errno := unix.Errno(binary.NativeEndian.Uint64(answer[8:]))
	switch {
	case ready == 0:
		s.note(a, "did not return", a.grade != free)
	case n == len(answer) && errno == 0:
		s.note(a, "succeeded", a.grade != free)
		return true
	case n == len(answer):
		refused := slices.Contains([]unix.Errno{unix.EPERM, unix.EACCES, unix.ENOSYS, unix.EROFS}, errno)
		s.note(a, unix.ErrnoName(errno), a.grade == deny && !refused)
	case ws.Exited() && ws.ExitStatus() == executed:
		s.note(a, "succeeded", a.grade != free)
	case ws.Exited(): // as by exit
		s.note(a, fmt.Sprint("ended with ", ws.ExitStatus()), false)
	default:
		s.note(a, "ended by "+unix.SignalName(ws.Signal()), false)
	}
	return false
}

func (s *sweep) note(a attempt, outcome string, through bool) {
	if s.got[a.call] == nil {
		s.got[a.call] = map[string]int{}
	}
	s.got[a.call][outcome]++
	if !through {
		return
	}
	var args []string
	for _, arg := range a.args {
		args = append(args, s.show(arg))
	}
	s.through = append(s.through, fmt.Sprintf("%s(%s): %s", a.call, strings.Join(args, ", "), outcome))
}

// show prints an argument without the names that change from run to run.
func (s *sweep) show(arg any) string {
	switch arg := arg.(type) {
	case fd:
		return "[" + arg.name + "]"
	case pid:
		name, ok := map[pid]string{s.victim: "VICTIM", -s.victim: "-VICTIM", s.executor: "EXECUTOR", pid(os.Getppid()): "PARENT"}[arg]
		if !ok {
			name = strconv.Itoa(int(arg))
		}
		return name
	case int:
		if arg > -1000 && arg < 1000 {
			return strconv.Itoa(arg)
		}
		return fmt.Sprintf("%#x", uint(arg))
	case string:
		for _, r := range [][2]string{{s.tree, "TREE"}, {s.home, "HOME"}} {
			arg = strings.ReplaceAll(arg, r[0], r[1])
		}
		return strconv.Quote(arg)
	case address:
		return arg.name
	case nil:
		return "nil"
	}
	text := []rune(fmt.Sprint(arg))
	if len(text) > 40 {
		text = append(text[:40], '…')
	}
	return string(text)
}

// kept keeps what calls point to where it is.
var kept []any

// words makes arguments what the kernel takes: strings end with a zero, pointers and slices become addresses.
func words(args []any) (w [6]uintptr) {
	for i, arg := range args {
		switch arg := arg.(type) {
		case nil:
		case fd:
			w[i] = uintptr(arg.n)
		case int:
			w[i] = uintptr(arg)
		case pid:
			w[i] = uintptr(arg)
		case address:
			kept = append(kept, arg)
			w[i] = uintptr(unsafe.Pointer(&arg.raw[0]))
		case string:
			text := append([]byte(arg), 0)
			kept = append(kept, text)
			w[i] = uintptr(unsafe.Pointer(&text[0]))
		default:
			kept = append(kept, arg)
			w[i] = reflect.ValueOf(arg).Pointer()
		}
	}
	return w
}
