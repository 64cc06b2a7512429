package krmflow_test

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"

	"github.com/krmflow/krmflow/internal/dev/testbinary"
)

// TestPackagesStartCheaply checks that packages allocate little before main, because every run pays
// for it. A large regular expression in a package variable is an example.
func TestPackagesStartCheaply(t *testing.T) {
	const most = 64 << 10
	cmd := exec.Command(testbinary.Program(t, "cmd/krmflow"), "version", "--short")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	found := initialised.FindAllSubmatch(out, -1)
	if len(found) == 0 {
		t.Fatalf("no package of this module in the trace:\n%s", out)
	}
	for _, m := range found {
		if n, err := strconv.Atoi(string(m[2])); err != nil || n > most {
			t.Errorf("package %s allocates %s bytes before main, more than %d: make what it has when it is needed", m[1], m[2], most)
		}
	}
}

var initialised = regexp.MustCompile(`(?m)^init (` + regexp.QuoteMeta(module) + `\S*) @.* (\d+) bytes`)
