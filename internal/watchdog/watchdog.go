// Package watchdog ends a run that takes more memory or processor time than what it reads and makes is worth, and says what the run
// was doing. It measures the whole process, so it is for a program that does one run.
package watchdog

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

// What a run may take, by the size of its input and of what it makes. Trees take some hundredths of it: the limits are for those
// that ask for endless work in few words, whatever these are.
const (
	cpuPerInput = 4 * time.Second        // of processor time for each MiB; for less than 1 MiB as for 1 MiB
	cpuPerMade  = 200 * time.Millisecond // for each MiB
	liveBase    = 128 << 20              // bytes of memory in use, besides
	livePerByte = 8                      // for each byte of input
	livePerMade = 4                      // bytes for which there is one
)

// Usage is what a run has taken in and made so far. It is safe for concurrent use.
type Usage struct {
	Input *loaders.Budget
	Made  atomic.Int64 // bytes of final lists
	// Limit is how many bytes of memory the user wants the run to take, 0 for as many as its input is worth.
	Limit int64
	// Seen is called now and then with the bytes in use and the part of the jobs that may run; it may be nil.
	Seen func(live uint64, part float64)

	crowded atomic.Uint64 // the part of the jobs that may not run, as the bits of a float64
	before  time.Duration // what the process had taken when the run began

	collected uint64 // how many collections there were before
}

// The heap may grow to 20 MB before anything is collected, which most runs never reach. In those that do, collections come
// earlier from then on: the peak of large runs counts more than the little time that they take. Before that is noticed, and near the
// limit of a run, they come as soon as it takes to tell one that goes too far.
const (
	gcSeldom  = 500 // per cent
	gcOften   = 100
	seldomMax = 64 << 20 // bytes
)

// Begin says that the run begins now, in a process that had others before.
func (u *Usage) Begin() {
	u.before = cpuTime()
	_, u.collected = heap()
	CollectSeldom()
}

// CollectSeldom makes collections of garbage rare, until [Usage.Watch] sees that there are some nevertheless.
func CollectSeldom() { debug.SetGCPercent(gcSeldom) }

// Watch ends the run with stop when this process takes more than the limits allow, until ctx ends. Memory grows fast, so it looks often. The fields
// of u do not change from then on.
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

// within returns n, or what the user wants at most.
func (u *Usage) within(n int64) int64 {
	if u.Limit > 0 {
		return min(n, u.Limit)
	}
	return n
}

// part returns which part of the jobs may run: all until half of the user's limit is in use, then fewer and fewer.
func (u *Usage) part(live uint64) float64 {
	if u.Limit <= 0 {
		return 1
	}
	return min(1, max(0, 2*(1-float64(live)/float64(u.Limit))))
}

// Jobs returns what tells how many of all jobs may run at the moment, for [scheduler.Options]; nil if they may always.
func (u *Usage) Jobs(all int) func() int {
	if u.Limit <= 0 {
		return nil
	}
	return func() int {
		return max(1, int(float64(all)*(1-math.Float64frombits(u.crowded.Load()))))
	}
}

// heap returns how many bytes the last garbage collection found in use, and how many collections there were.
func heap() (live, collections uint64) {
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/cycles/total:gc-cycles"}}
	metrics.Read(s)
	return s[0].Value.Uint64(), s[1].Value.Uint64()
}

func (u *Usage) checkCPU() error {
	input := u.Input.Used()
	limit := perMiB(max(1<<20, input), cpuPerInput) + perMiB(u.Made.Load(), cpuPerMade)
	if cpuTime()-u.before <= limit {
		return nil
	}
	return diag.Limitf("stopped: the run takes more than %v of processor time, although its input has %s", limit.Round(time.Second), diag.Size(rounded(input))).With(diag.TooMuch).
		Hint(endless)
}

// perMiB returns the time for n bytes, so much for each MiB. A product of integers would be too large for a few GiB.
func perMiB(n int64, each time.Duration) time.Duration {
	return time.Duration(float64(n) / (1 << 20) * float64(each))
}

// memory returns how many bytes may be in use.
func (u *Usage) memory() int64 {
	return liveBase + livePerByte*u.Input.Used() + u.Made.Load()/livePerMade
}

func (u *Usage) checkMemory(live uint64) error {
	limit := u.memory()
	switch {
	case u.Limit > 0 && live > uint64(u.Limit):
		return diag.Limitf("stopped: the run takes more than the %s of memory that --memory-limit allows, with one step at a time", diag.Size(u.Limit)).With(diag.TooMuch).
			Hint("its input has %s; render fewer roots at a time, or allow more", diag.Size(rounded(u.Input.Used())))
	case live <= uint64(limit):
		return nil
	}
	return diag.Limitf("stopped: the run takes more than %s of memory, although its input has %s", diag.Size(limit>>20<<20), diag.Size(rounded(u.Input.Used()))).With(diag.TooMuch).
		Hint(endless)
}

const endless = "this step, or one before it, copies, repeats or searches something very often"

// rounded returns n in full KiB, or MiB if it has one.
func rounded(n int64) int64 {
	if n < 1<<20 {
		return (n + 1023) >> 10 << 10
	}
	return n >> 20 << 20
}
