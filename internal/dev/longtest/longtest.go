// Package longtest separates tests that take minutes from those that developers run after each
// change. Long tests run with make longtest.
package longtest

import (
	"os"
	"testing"
)

// Variable is the environment variable that enables long tests. Any non-empty value enables
// them.
const Variable = "KRMFLOW_LONG_TESTS"

// On reports whether long tests are enabled.
func On() bool { return os.Getenv(Variable) != "" }

// Only skips a test unless long tests are enabled.
func Only(t testing.TB) {
	t.Helper()
	if !On() {
		t.Skip("a long test: make longtest runs it")
	}
}

// Rounds returns the number of repetitions for a randomized test: many if long tests are
// enabled, else few.
func Rounds(few, many int) int {
	if On() {
		return many
	}
	return few
}
