// Package longtest divides the tests by their time. Each change runs with small samples of slow
// tests. With KRMFLOW_LONG_TESTS they run in full, and make longtest also runs those that take
// minutes each.
package longtest

import (
	"os"
	"testing"
)

// Variable is the environment variable that enables long tests. Any non-empty value runs slow
// tests in full: attacks, kills at every system call, tables of thousands of cases. The value
// [Longest] also enables the tests that take minutes each, and more rounds of random tests.
const Variable = "KRMFLOW_LONG_TESTS"

// Longest is the value of [Variable] that enables all tests.
const Longest = "all"

// On reports whether slow tests run in full.
func On() bool { return os.Getenv(Variable) != "" }

// All reports whether all tests run.
func All() bool { return os.Getenv(Variable) == Longest }

// Only skips a test unless slow tests run in full.
func Only(t testing.TB) {
	t.Helper()
	if !On() {
		t.Skip("a long test: " + Variable + "=1 runs it")
	}
}

// OnlyAll skips a test unless all tests run.
func OnlyAll(t testing.TB) {
	t.Helper()
	if !All() {
		t.Skip("a long test: make longtest runs it")
	}
}

// Sample returns the number of cases of a table, or of repetitions of a randomized test: few for
// each change, some with long tests, and many with all tests.
func Sample(few, some, many int) int {
	switch {
	case All():
		return many
	case On():
		return some
	}
	return few
}
