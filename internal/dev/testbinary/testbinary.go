// Package testbinary builds programs of this repository for tests, and writes scripts. The test
// binaries of a run are separate processes that need the same programs, and linking a program takes
// seconds, so they share one build. It is next to the build cache of Go and stays for the next run.
package testbinary

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/krmflow/krmflow/internal/sys/flock"
)

const module = "github.com/krmflow/krmflow/"

var (
	mu    sync.Mutex
	built = map[string]string{}
)

// Program returns the path of an up-to-date program, given by its directory in the repository. A
// test that needs the program in a directory of its own makes a link or a copy.
func Program(t testing.TB, dir string) string {
	t.Helper()
	mu.Lock()
	defer mu.Unlock()
	if built[dir] == "" {
		path, err := build(dir)
		if err != nil {
			t.Fatal(err)
		}
		built[dir] = path
	}
	return built[dir]
}

// build builds a program unless it is up to date, as the go command finds out by itself. Builds
// with other flags, and those of other copies of the repository, have other folders.
func build(dir string) (string, error) {
	out, err := exec.Command("go", "env", "GOCACHE", "GOMOD", "GOFLAGS", "CGO_ENABLED", "GOVERSION").Output()
	if err != nil {
		return "", fmt.Errorf("go env: %w", err)
	}
	cache, _, _ := strings.Cut(string(bytes.TrimSpace(out)), "\n")
	folder := filepath.Join(cache, fmt.Sprintf("krmflow-tests-%x", sha256.Sum256(out)))
	path := filepath.Join(folder, filepath.Base(dir))
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	lock, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", err
	}
	defer lock.Close()
	err = flock.Try(lock)
	for end := time.Now().Add(10 * time.Minute); errors.Is(err, flock.ErrBusy) && time.Now().Before(end); err = flock.Try(lock) {
		time.Sleep(50 * time.Millisecond)
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	if out, err := exec.Command("go", "build", "-o", path+".new", module+dir).CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build %s: %w\n%s", dir, err, out)
	}
	return path, update(path, path+".new")
}

// update makes path a copy of the program at from, unless their contents are equal. The go command
// changes the times of a program that is up to date, by which krmflow distinguishes programs: the
// tests of another process would not find the records that they have just stored.
func update(path, from string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, data) {
		return nil
	}
	return errors.Join(writeProgram(path+".tmp", data), os.Rename(path+".tmp", path))
}

// writeProgram writes an executable file. The lock prevents a concurrently started process from
// inheriting the open file. The kernel does not execute files that a process has open for writing.
func writeProgram(path string, data []byte) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, data, 0o700)
}

// Script writes an executable file.
func Script(t testing.TB, path, text string) {
	t.Helper()
	if err := writeProgram(path, []byte(text)); err != nil {
		t.Fatal(err)
	}
}
