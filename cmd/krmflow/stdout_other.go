//go:build !linux

package main

// stdoutClosed would report whether stdout was closed when krmflow started; these systems do not tell.
func stdoutClosed() bool { return false }
