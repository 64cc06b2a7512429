// Package limits ends a run that takes more processor time than its user allows, or more memory
// than its input and output explain, and reports what the run was doing. It measures the whole
// process, so a process must do only one run at a time.
package limits

import (
	"cmp"
	"context"
	"math"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"time"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/loaders"
)

// DefaultCPU is the default limit for the processor time of a run. It is far more than any
// known tree takes: the limit is for small inputs that cause endless work. Each MiB of input
// adds cpuPerInput.
const (
	DefaultCPU  = 10 * time.Minute
	cpuPerInput = 4 * time.Second
)

// The memory limit of a run, derived from the size of its input and output. Typical trees use a
// few hundredths of it.
const (
	liveBase    = 128 << 20 // bytes of memory in any run
	livePerByte = 8         // bytes of memory per byte of input
	livePerMade = 4         // bytes of output per byte of memory
)

// Usage measures the resources of a run and holds its limits. Made may be updated concurrently.
// The other fields must not be changed after [Usage.Watch].
type Usage struct {
	Input *loaders.Budget
	Made  atomic.Int64 // bytes of final lists
	// CPU is the limit for processor time, 0 for no limit. With CPUGrows, it grows with the
	// input.
	CPU      time.Duration
	CPUGrows bool
	// Limit is the memory limit of the user in bytes, 0 for the limit derived from input and
	// output. With Lifts, Limit also applies if it is higher than that.
	Limit int64
	Lifts bool
	// Seen is called regularly with the bytes in use and the fraction of the jobs that may run.
	// It may be nil.
	Seen func(live uint64, part float64)

	crowded atomic.Uint64 // fraction of the jobs that may not run, as the bits of a float64
	before  time.Duration // processor time of the process when the run began

	collected uint64 // number of collections when the run began
}

// Parameters of the garbage collector. The heap may grow to 20 MB before the first collection,
// which most runs never reach. In a run that reaches it, collections become more frequent,
// because the peak memory of large runs matters more than the little time for collections.
//
// The soft memory limit covers the two cases in between: before the first collection is
// noticed, and near the limit of a run. There the collector runs often enough to detect a run
// that exceeds its limit, because only a collection shows how much memory is in use.
const (
	gcSeldom  = 500 // percent
	gcOften   = 100
	seldomMax = 64 << 20 // bytes
)

// Begin starts the measurement of a run in a process that has done other runs before.
func (u *Usage) Begin() {
	u.before = cpuTime()
	_, u.collected = heap()
	CollectSeldom()
}

// CollectSeldom makes garbage collections rare, until [Usage.Watch] detects the first one.
func CollectSeldom() { debug.SetGCPercent(gcSeldom) }

// Watch monitors the process until ctx ends, and calls stop if it exceeds a limit. It checks
// every 20 milliseconds, because memory can grow fast. The fields of u must not be changed
// afterwards.
func (u *Usage) Watch(ctx context.Context, stop context.CancelCauseFunc) {
	debug.SetMemoryLimit(u.within(seldomMax))
	go func() {
		seldom, aimed := true, int64(0)
		for range time.Tick(20 * time.Millisecond) {
			if ctx.Err() != nil {
				return
			}
			live, collections := heap()
			if seldom && collections > u.collected {
				debug.SetGCPercent(gcOften)
				seldom = false
			}
			if limit := u.memory(); !seldom && limit > aimed+aimed/8 {
				debug.SetMemoryLimit(u.within(limit + limit/4))
				aimed = limit
			}
			part := u.part(live)
			u.crowded.Store(math.Float64bits(1 - part))
			if u.Seen != nil {
				u.Seen(live, part)
			}
			if err := cmp.Or(u.checkCPU(), u.checkMemory(live)); err != nil {
				stop(err)
				return
			}
		}
	}()
}

// within returns n, but at most the limit of the user.
func (u *Usage) within(n int64) int64 {
	if u.Limit > 0 {
		return min(n, u.Limit)
	}
	return n
}

// part returns the fraction of the jobs that may run: all of them until half of the user's
// limit is in use, then fewer and fewer.
func (u *Usage) part(live uint64) float64 {
	if u.Limit <= 0 {
		return 1
	}
	return min(1, max(0, 2*(1-float64(live)/float64(u.Limit))))
}

// Jobs returns a function that returns how many of all steps or functions may run at the
// moment, for the Limit of [scheduler.Options]. It is nil if all may always run.
func (u *Usage) Jobs() func(all int) int {
	if u.Limit <= 0 {
		return nil
	}
	return func(all int) int {
		return max(1, int(float64(all)*(1-math.Float64frombits(u.crowded.Load()))))
	}
}

// heap returns the number of bytes that the last garbage collection found in use, and the
// number of collections.
func heap() (live, collections uint64) {
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/cycles/total:gc-cycles"}}
	metrics.Read(s)
	return s[0].Value.Uint64(), s[1].Value.Uint64()
}

// cpu returns the limit for processor time, 0 for no limit.
func (u *Usage) cpu() time.Duration {
	if u.CPU == 0 || !u.CPUGrows {
		return u.CPU
	}
	mib := float64(u.Input.Used()) / (1 << 20)
	return u.CPU + time.Duration(mib*float64(cpuPerInput)) // a product of integers would overflow
}

func (u *Usage) checkCPU() error {
	limit := u.cpu()
	if limit == 0 || cpuTime()-u.before <= limit {
		return nil
	}
	const tooLong = "stopped: the run took more than the %v of processor time that --max-cpu allows"
	if u.CPUGrows {
		limit = limit.Truncate(time.Second)
	}
	return diag.Limitf(tooLong, limit).With(diag.TooMuch).
		Hint(endless).Hint("to allow more time, set --max-cpu; 0 means no limit")
}

// memory returns the memory limit in bytes that follows from input and output.
func (u *Usage) memory() int64 {
	return liveBase + livePerByte*u.Input.Used() + u.Made.Load()/livePerMade
}

func (u *Usage) checkMemory(live uint64) error {
	limit := u.memory()
	switch {
	case u.Limit > 0 && live > uint64(u.Limit):
		return diag.Limitf("stopped: the run takes more than the %s of memory that --memory-limit allows, with one step at a time",
			diag.Size(u.Limit)).With(diag.TooMuch).
			Hint("its input has %s; render fewer roots at a time, or allow more", diag.Size(rounded(u.Input.Used())))
	case u.Limit > 0 && u.Lifts || live <= uint64(limit):
		return nil
	}
	return diag.Limitf("stopped: the run takes more than %s of memory, although its input has %s", diag.Size(limit>>20<<20),
		diag.Size(rounded(u.Input.Used()))).With(diag.TooMuch).
		Hint(endless).Hint("to allow more memory, set --memory-limit")
}

const endless = "this step, or one before it, copies, repeats or searches something very often"

// rounded returns n rounded up to full KiB, or from 1 MiB rounded down to full MiB.
func rounded(n int64) int64 {
	if n < 1<<20 {
		return (n + 1023) >> 10 << 10
	}
	return n >> 20 << 20
}
