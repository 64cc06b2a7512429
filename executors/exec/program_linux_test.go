package exec_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/krmflow/krmflow/executors"
	"github.com/krmflow/krmflow/executors/exec"
	"github.com/krmflow/krmflow/internal/dev/longtest"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
)

func TestScriptsRunAsPrograms(t *testing.T) {
	r := self(t)
	both(t, func(t *testing.T, x *exec.Executor, set func(function.Function) function.Function) {
		for name, text := range map[string]string{
			"sh":  "#!/bin/sh\necho \"$1 $(basename $0)\"; cat\n",
			"env": "#!/usr/bin/env sh\necho \"$1 $(basename $0)\"; cat\n",
		} {
			f := set(r.script(t, "fn-"+name, text))
			f.Args = []string{"one two"}
			out, err := x.Execute(t.Context(), f, yaml.Chunks{[]byte(input)})
			if err != nil || out.List.String() != "one two fn-"+name+"\n"+input {
				t.Errorf("%s: %q, %v", name, out.List, err)
			}
		}
		crash := set(r.script(t, "crash", "#!/bin/sh\nkill -SEGV 0\nsleep 60\n"))
		if _, err := x.Execute(t.Context(), crash, nil); err == nil || !strings.Contains(err.Error(), "signal 11") {
			t.Errorf("crash: %v", err)
		}
	})
}

// A program that cannot run is detected before any program runs.
func TestPrepareRefuses(t *testing.T) {
	r := self(t)
	x := exec.New()
	defer x.Close()
	dir := r.root
	write := func(name string, mode os.FileMode, data []byte) string {
		path := filepath.Join(dir, name)
		os.Remove(path)
		if err := os.WriteFile(path, data, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	elf, _ := os.ReadFile("/proc/self/exe")
	foreign := bytes.Clone(elf[:1<<16])
	foreign[18], foreign[19] = 243, 0 // riscv64
	if runtime.GOARCH == "riscv64" {
		foreign[18] = 62
	}
	os.MkdirAll(filepath.Join(dir, "folder"), 0o755)
	syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o755)
	os.Symlink("/bin/sh", filepath.Join(dir, "link"))
	os.Symlink("/bin", filepath.Join(dir, "bin"))
	script := []byte("#!/bin/sh\ncat\n")
	for _, test := range []struct {
		path string
		code executors.Code
		want string
	}{
		{write("plain", 0o644, script), executors.Invalid, "is not executable (mode 0644)\n  make it executable with chmod +x"},
		{write("nothing", 0o755, nil), executors.Invalid, "is empty"},
		{filepath.Join(dir, "folder"), executors.Invalid, "is a directory"},
		{filepath.Join(dir, "fifo"), executors.Invalid, "is not a regular file"},
		{filepath.Join(dir, "missing"), executors.Invalid, "no such file"},
		{filepath.Join(dir, "link"), executors.Invalid, "became a symbolic link"},
		{filepath.Join(dir, "bin/sh"), executors.Invalid, "escapes"},
		{"/bin/sh", executors.Invalid, "is not below"},
		{write("text", 0o755, []byte("echo hello\n")), executors.Invalid, `neither a program nor a script that begins with "#!"`},
		{write("nointerp", 0o755, []byte("#!/opt/none/python\n")), executors.Invalid,
			"needs the interpreter /opt/none/python, which is not on this machine"},
		{write("noenv", 0o755, []byte("#!/usr/bin/env -S nosuchthing -u\n")), executors.Invalid,
			"needs the interpreter nosuchthing, which is not"},
		{write("crlf", 0o755, []byte("#!/bin/sh\r\ncat\r\n")), executors.Invalid, "ends with a carriage return"},
		{write("foreign", 0o755, foreign), executors.Invalid, "is a program for riscv64, but this machine is " + runtime.GOARCH},
		{write("cut", 0o755, elf[:40]), executors.Invalid, "is truncated"},
		{write("windows", 0o755, []byte("MZ\x90")), executors.Invalid, "is a program for windows"},
	} {
		f := r.fn("copy")
		f.Program, f.Unverified, f.Digest = test.path, true, krm.Digest{}
		err := x.Prepare(t.Context(), f)
		if code(err) != test.code || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), f.Name+": "+test.path) {
			t.Errorf("%s: %v", test.path, err)
		}
	}
	changed := r.script(t, "changed", string(script))
	changed.Digest[31]++
	err := x.Prepare(t.Context(), changed)
	want := fmt.Sprintf("%s: %s does not match its digest; it was not run\n  want %s\n  got  %s", changed.Name, changed.Program,
		changed.Digest, krm.DigestOf(script))
	if code(err) != executors.Verification || err.Error() != want {
		t.Errorf("other digest: %v", err)
	}
	if _, err := x.Execute(t.Context(), changed, nil); code(err) != executors.Verification {
		t.Errorf("other digest, executed: %v", err)
	}
	changed.Digest = krm.Digest{}
	if err := x.Prepare(t.Context(), changed); code(err) != executors.Denied {
		t.Errorf("no digest: %v", err)
	}
}

// While the program is constantly replaced, only the verified program runs, or nothing does.
func TestFlipFlop(t *testing.T) {
	r := self(t)
	dir := filepath.Join(r.root, "flip")
	os.MkdirAll(dir, 0o755)
	good, evil := "#!/bin/sh\necho good\n", "#!/bin/sh\necho evil\n"
	f := r.script(t, "flip/fn", good)
	f.Unsandboxed = true
	stop := make(chan struct{})
	var flipping sync.WaitGroup
	flipping.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			os.WriteFile(filepath.Join(dir, "next"), []byte([]string{evil, good}[i%2]), 0o755)
			os.Rename(filepath.Join(dir, "next"), f.Program)
		}
	})
	ran, refused := 0, 0
	for begin := time.Now(); (ran < longtest.Sample(20, 200, 200) || refused < 20) && time.Since(begin) < 10*time.Second; {
		x := exec.New()
		for range 2 {
			out, err := x.Execute(t.Context(), f, nil)
			switch {
			case err == nil && out.List.String() == "good\n":
				ran++
			case code(err) == executors.Verification || code(err) == executors.Invalid:
				refused++
			default:
				t.Errorf("%q, %v", out.List, err)
			}
		}
		x.Close()
	}
	close(stop)
	flipping.Wait()
	if ran < 20 || refused < 20 {
		t.Errorf("ran %d times, refused %d times", ran, refused)
	}
	t.Log(ran, "ran,", refused, "refused")
}
