package probe

import (
	"bytes"
	"testing"
)

// The rights of a process are part of the machine's identity. Its memory use is not.
func TestRightsIdentifyMachine(t *testing.T) {
	const status = "Name:\tx\nUid:\t1000\t1000\nVmRSS:\t10 kB\nCapEff:\t0000\nNoNewPrivs:\t0\nSeccomp:\t0\nSeccomp_filters:\t0\nThreads:\t3\n"
	rights := func(old, new string) string {
		var b bytes.Buffer
		writeRights(&b, bytes.ReplaceAll([]byte(status), []byte(old), []byte(new)))
		return b.String()
	}
	for old, same := range map[string]bool{"10 kB": true, "Threads:\t3": true, "1000": false, "CapEff:\t0000": false,
		"NoNewPrivs:\t0": false, "Seccomp:\t0": false, "filters:\t0": false} {
		if got := rights(old, old+"1") == rights("", ""); got != same {
			t.Errorf("another %q: the same is %t", old, got)
		}
	}
	a, ok := Machine()
	if b, okay := Machine(); !ok || !okay || a != b {
		t.Errorf("%s and %s, %t, %t", a, b, ok, okay)
	}
}
