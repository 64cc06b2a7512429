package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// damages are the possible kinds of damage to the files of a cache, one at a time or all of them.
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

// damageCache implements damagecache CACHE FILE PROGRAM [ARG...]. It damages each file of a cache
// in every way and runs a program each time. The program must exit with 0 and print the content of
// FILE.
func damageCache(ts *testscript.TestScript, args []string) {
	dir, want := ts.MkAbs(args[0]), ts.ReadFile(args[1])
	whole := filepath.Join(filepath.Dir(dir), "whole-cache")
	ts.Check(os.CopyFS(whole, os.DirFS(dir)))
	ts.Check(privately(whole))
	var names []string
	ts.Check(filepath.WalkDir(whole, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			name, _ := filepath.Rel(whole, path) // always below whole
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

// privately sets the file modes of a cache on everything below a folder.
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

// poisonCache implements poisoncache CACHE OLD NEW. It changes cache entries as an attacker would
// who can write to the cache and knows how entries are sealed. It fails if no output of a root
// contains the text OLD.
func poisonCache(ts *testscript.TestScript, args []string) {
	kept := filepath.Join(ts.MkAbs(args[0]), "v1", "kept")
	sums := resealKept(ts, kept, "texts1", map[string]string{args[1]: args[2]})
	if len(sums) == 0 || len(resealKept(ts, kept, "roots4", sums)) == 0 {
		ts.Fatalf("the cache keeps no text with %q", args[1])
	}
}

// resealKept replaces texts in all kept entries of a kind and seals the entries again. It returns
// the new seals by old seal.
func resealKept(ts *testscript.TestScript, kept, kind string, texts map[string]string) map[string]string {
	sums := map[string]string{}
	files, err := os.ReadDir(filepath.Join(kept, kind))
	ts.Check(err)
	for _, e := range files {
		path := filepath.Join(kept, kind, e.Name())
		key, err := hex.DecodeString(e.Name())
		ts.Check(err)
		text, err := os.ReadFile(path)
		ts.Check(err)
		const header = len("krmflow kept 2\n")
		data, old := text[header:len(text)-sha256.Size], text[len(text)-sha256.Size:]
		changed := data
		for from, to := range texts {
			changed = bytes.ReplaceAll(changed, []byte(from), []byte(to))
		}
		if bytes.Equal(changed, data) {
			continue
		}
		sum := sha256.Sum256(slices.Concat([]byte(kind+"\x00"), key, changed))
		ts.Check(os.WriteFile(path, slices.Concat(text[:header], changed, sum[:]), 0o600))
		sums[string(old)] = string(sum[:])
	}
	return sums
}

// changeUnnoticed implements unnoticed CACHE FILE. It makes a cache remember different content of a
// file with the same metadata, as if a program had changed the file through a shared memory map.
func changeUnnoticed(ts *testscript.TestScript, args []string) {
	sum, other := sha256.Sum256([]byte(ts.ReadFile(args[1]))), sha256.Sum256(nil)
	kept := filepath.Join(ts.MkAbs(args[0]), "v1", "kept")
	if len(resealKept(ts, kept, "roots4", map[string]string{string(sum[:]): string(other[:])})) == 0 {
		ts.Fatalf("no root is made from %s", args[1])
	}
}
