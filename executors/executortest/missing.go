package executortest

import (
	"os"
	"testing"
)

// Missing ends a test that needs what this machine does not have: it is skipped, with the reason, and in CI (CI=true), where
// everything must be tested, it fails.
func Missing(t testing.TB, why string) {
	t.Helper()
	if MustTest() {
		t.Fatal(why + ": it must be tested here")
	}
	t.Skip(why)
}

// MustTest reports whether nothing may be left out because the machine does not have it.
func MustTest() bool { return os.Getenv("CI") == "true" }
