package main

import (
	"os"
	"regexp"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// awaits implements awaits FILE REGEXP. It waits until a file matches a regular expression. With !
// it waits until the file does not exist.
func awaits(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 && !(neg && len(args) == 1) {
		ts.Fatalf("usage: awaits FILE REGEXP, or ! awaits FILE")
	}
	var data []byte
	for range 6000 {
		var err error
		data, err = os.ReadFile(ts.MkAbs(args[0]))
		switch {
		case neg && os.IsNotExist(err):
			return
		case !neg && err == nil && regexp.MustCompile("(?m)"+args[1]).Match(data):
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	ts.Fatalf("%s is still\n%s", args[0], data)
}
