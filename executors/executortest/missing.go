package executortest

import (
	"os"
	"testing"
)

// Missing skips a test that needs a feature missing on this machine, with why as the reason. In
// CI (CI=true) every test must run, so there it fails the test instead.
func Missing(t testing.TB, why string) {
	t.Helper()
	if MustTest() {
		t.Fatal(why + ": it must be tested here")
	}
	t.Skip(why)
}

// MustTest reports whether tests must not be skipped.
func MustTest() bool { return os.Getenv("CI") == "true" }
