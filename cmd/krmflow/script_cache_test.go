package main

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// damages are what can happen to a file of a cache: to one at a time, or to all of them.
var damages = []struct {
	name string
	one  bool
	do   func(path string) error
}{
	{"bit", true, flipBit},
	{"cut", true, func(path string) error { return os.Truncate(path, 10) }},
	{"folder", true, func(path string) error {
		return errors.Join(os.Remove(path), os.MkdirAll(filepath.Join(path, "x"), 0o700))
	}},
	{"link", true, func(path string) error { return errors.Join(os.Remove(path), os.Symlink("/dev/zero", path)) }},
	{"pipe", true, func(path string) error { return errors.Join(os.Remove(path), exec.Command("mkfifo", path).Run()) }},
	{"empty", false, func(path string) error { return os.Truncate(path, 0) }},
	{"longer", false, func(path string) error { return os.Truncate(path, 100_000) }},
	{"gone", false, os.Remove},
	{"unreadable", false, func(path string) error { return os.Chmod(path, 0) }},
	{"dead link", false, func(path string) error { return errors.Join(os.Remove(path), os.Symlink("gone", path)) }},
	{"1970", false, func(path string) error { return setYear(path, 1970) }},
	{"2099", false, func(path string) error { return setYear(path, 2099) }},
}

func flipBit(path string) error {
	data, err := os.ReadFile(path)
	if err == nil && len(data) > 0 {
		data[len(data)/2] ^= 1
		err = os.WriteFile(path, data, 0o600)
	}
	return err
}

func setYear(path string, year int) error {
	at := time.Date(year, 1, 2, 0, 0, 0, 0, time.UTC)
	return os.Chtimes(path, at, at)
}

// damageCache does to each file of a cache, whatever it is, all that can happen to it, and runs a program each time, which must end with 0 and print what
// FILE has: damagecache CACHE FILE PROGRAM [ARG...].
func damageCache(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: damagecache CACHE FILE PROGRAM [ARG...]")
	}
	dir, want := ts.MkAbs(args[0]), ts.ReadFile(args[1])
	whole := filepath.Join(filepath.Dir(dir), "whole-cache")
	ts.Check(os.CopyFS(whole, os.DirFS(dir)))
	ts.Check(privately(whole))
	var names []string
	ts.Check(filepath.WalkDir(whole, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			name, _ := filepath.Rel(whole, path) // it is below
			names = append(names, name)
		}
		return err
	}))
	if len(names) < 5 {
		ts.Fatalf("there are only %d files in the cache: %q", len(names), names)
	}
	try := func(how string, do func(string) error, names ...string) {
		ts.Check(errors.Join(os.RemoveAll(dir), os.CopyFS(dir, os.DirFS(whole)), privately(dir)))
		for _, name := range names {
			ts.Check(do(filepath.Join(dir, name)))
		}
		if err := ts.Exec(args[2], args[3:]...); err != nil {
			ts.Fatalf("%s, %s: %v", names, how, err)
		}
		if got := ts.ReadFile("stdout"); got != want {
			ts.Fatalf("%s, %s: it prints\n%s", names, how, got)
		}
	}
	for _, damage := range damages {
		if !damage.one {
			try(damage.name, damage.do, names...)
			continue
		}
		for _, name := range names {
			try(damage.name, damage.do, name)
		}
	}
	ts.Logf("%d files, %d ways", len(names), len(damages))
}

// privately gives everything below a folder the modes of a cache.
func privately(dir string) error {
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir():
			return os.Chmod(path, 0o700)
		}
		return os.Chmod(path, 0o600)
	})
}
