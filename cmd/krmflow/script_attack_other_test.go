//go:build !linux

package main

import "github.com/rogpeppe/go-internal/testscript"

var attackers map[string]func()

func private(ts *testscript.TestScript, _ []string) { ts.Fatalf("private is for linux") }
func nothingLeft(ts *testscript.TestScript, _ []string) {
	ts.Fatalf("nothingleft is for linux")
}
