//go:build unix

package watchdog

import (
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/krmflow/krmflow/loaders"
)

// What the system does for a run, such as to write files, does not count.
func TestTimeOfSystem(t *testing.T) {
	times := func() (user, system time.Duration) {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			t.Fatal(err)
		}
		return time.Duration(u.Utime.Nano()), time.Duration(u.Stime.Nano())
	}
	zero, err := os.Open("/dev/zero")
	if err != nil {
		t.Fatal(err)
	}
	defer zero.Close()
	// Asked for first and last, so that the user's part covers all that counts.
	user, system := times()
	before := cpuTime()
	buf := make([]byte, 1<<20)
	for now := system; now < system+100*time.Millisecond; _, now = times() {
		if _, err := zero.Read(buf); err != nil {
			t.Fatal(err)
		}
	}
	counted := cpuTime() - before
	if after, _ := times(); counted > after-user {
		t.Errorf("%v count, and the user's part is %v", counted, after-user)
	}
}

// What is made allows a run to take more time.
func TestTimeForWhatIsMade(t *testing.T) {
	u := Usage{Input: &loaders.Budget{Max: 1 << 30}, before: cpuTime() - 5*time.Second}
	if u.checkCPU() == nil {
		t.Error("5s are not too much for nothing")
	}
	u.Made.Add(10 << 20)
	if err := u.checkCPU(); err != nil {
		t.Error(err)
	}
}
