// Package longtest separates the tests that take minutes from those that a developer runs after
// each change. The long ones run with make longtest.
package longtest

import (
	"os"
	"testing"
)

// Variable is the environment variable that asks for the long tests, with any value.
const Variable = "KRMFLOW_LONG_TESTS"

// On reports whether the long tests are asked for.
func On() bool { return os.Getenv(Variable) != "" }

// Only skips a test unless the long tests are asked for.
func Only(t testing.TB) {
	t.Helper()
	if !On() {
		t.Skip("a long test: make longtest runs it")
	}
}

// Rounds returns how often a test repeats something random: few times, or many times in a long
// test.
func Rounds(few, many int) int {
	if On() {
		return many
	}
	return few
}
