//go:build unix

package limits

import (
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/krmflow/krmflow/loaders"
)

// System time of a run, such as for writing files, is not limited.
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
	// Called first and last, so that the user time covers everything that is measured.
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

// TestCPULimit checks that a limit of the user is exact, that the default grows with the input, and
// that 0 sets no limit.
func TestCPULimit(t *testing.T) {
	for _, c := range []struct {
		name  string
		limit time.Duration
		grows bool
		input int64
		ends  bool
	}{
		{"below the limit", time.Minute, false, 0, false},
		{"above the limit", time.Second, false, 0, true},
		{"a limit of the user does not grow", time.Second, false, 100 << 20, true},
		{"the default does", time.Second, true, 100 << 20, false},
		{"no limit", 0, false, 0, false},
		{"no limit by default", 0, true, 100 << 20, false},
	} {
		u := Usage{Input: &loaders.Budget{Max: 1 << 30}, CPU: c.limit, CPUGrows: c.grows, before: cpuTime() - 5*time.Second}
		u.Input.Add(c.input)
		if err := u.checkCPU(); (err != nil) != c.ends {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
