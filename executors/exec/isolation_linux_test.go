package exec_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/krmflow/krmflow/executors"
	"github.com/krmflow/krmflow/executors/exec"
	"github.com/krmflow/krmflow/executors/executortest"
	"github.com/krmflow/krmflow/internal/dev/longtest"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
)

// Only isolation that refused an access when tested is relied on. The test simulates every kernel
// that is older than this one in some respect.
func TestIsolationIsVerifiedByTrying(t *testing.T) {
	here := exec.Probe()
	if !here.Enough() {
		executortest.Missing(t, "isolation is "+here.String())
	}
	for _, test := range []struct {
		exec.Isolation
		want   string
		enough bool
	}{
		{exec.Isolation{}, "", false},
		{exec.Isolation{Seccomp: true}, "metadata truncate connect signal", false},
		{exec.Isolation{UserNS: true, NetNS: true, Seccomp: true}, "metadata truncate connect signal", false},
		{exec.Isolation{UserNS: true, NetNS: true, MountNS: true, Seccomp: true}, "write metadata truncate connect signal", false},
		{exec.Isolation{Landlock: 1}, "read write", false},
		{exec.Isolation{Landlock: 2, UserNS: true, NetNS: true}, "read write signal", false},
		{exec.Isolation{Landlock: 3}, "read write truncate", false},
		{exec.Isolation{Landlock: 2, UserNS: true, NetNS: true, MountNS: true}, "read write metadata truncate signal", false},
		{exec.Isolation{Landlock: 1, Seccomp: true}, "read write metadata truncate connect signal", true},
		{exec.Isolation{Landlock: 1, UserNS: true, Seccomp: true}, "read write metadata truncate connect signal", true},
		{here, "read write metadata truncate connect signal", true},
	} {
		if test.Landlock > here.Landlock || test.MountNS && !here.MountNS || test.UserNS && !here.UserNS {
			continue
		}
		got := exec.Try(test.Isolation)
		if got.Refused != test.want || got.Enough() != test.enough {
			t.Errorf("%+v: refused %q, enough %v", test.Isolation, got.Refused, got.Enough())
		}
		if none := strings.HasPrefix(got.String(), "none ("); none == test.enough {
			t.Errorf("%+v: %s", test.Isolation, got)
		}
	}
}

// X22: memory is limited for one process, for several, and for memory that no process holds any
// more.
func TestMemoryLimitCoversAllMemory(t *testing.T) {
	r := self(t)
	const limit = 128 << 20
	both(t, func(t *testing.T, x *exec.Executor, set func(function.Function) function.Function) {
		for _, how := range []string{"private", "files", "memfd", "sysv", "shared", "zero"}[:longtest.Sample(2, 6, 6)] {
			f := set(r.fn("hoard", how, fmt.Sprint(4*limit)))
			if f.Unsandboxed || how == "files" && !x.Isolation().MountNS { // the files are on disk
				continue
			}
			f.Limits.Memory = limit
			out, err := x.Execute(t.Context(), f, yaml.Chunks{[]byte(input)})
			// The function was either killed or denied that much memory.
			var n int64
			if _, scan := fmt.Sscan(out.List.String(), &n); code(err) != executors.Limit && (err != nil || scan != nil || n > limit) {
				t.Errorf("%s: %q, %v", how, out.List, err)
			}
		}
	})
}

// The files of a function are private, limited, and removed with it. With a mount namespace they
// are never on a disk.
func TestOwnFiles(t *testing.T) {
	r := self(t)
	both(t, func(t *testing.T, x *exec.Executor, set func(function.Function) function.Function) {
		f := set(r.script(t, "files", "#!/bin/sh\nmkdir -p $HOME/a/b && echo x >$TMPDIR/x && mv $TMPDIR/x $HOME/a && cat $HOME/a/x\n"))
		out, err := x.Execute(t.Context(), f, yaml.Chunks{[]byte(input)})
		if err != nil || strings.TrimSpace(out.List.String()) != "x" {
			t.Errorf("%q, %v", out.List, err)
		}
	})
}

// The sandbox process runs the embedded program from sealed memory.
func TestEmbeddedProgramRuns(t *testing.T) {
	embed(t)
	iso := exec.Probe()
	if !iso.Enough() {
		executortest.Missing(t, "isolation is "+iso.String())
	}
	x := exec.NewWith(iso)
	defer x.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		defer cancel()
		for end := time.Now().Add(slack); time.Now().Before(end); time.Sleep(time.Millisecond) {
			if slices.Contains(childPrograms(), "/memfd:krmflow-program (deleted)") {
				return
			}
		}
		t.Errorf("children run %q", childPrograms())
	}()
	if _, err := x.Execute(ctx, self(t).fn("hang"), nil); code(err) != -1 {
		t.Error(err)
	}
}

// If the machine cannot run the embedded program, this binary is the sandbox process.
func TestEmbeddedProgramIsRefused(t *testing.T) {
	want := exec.Probe()
	exec.Embed(t, []byte("no program"))
	if got := exec.Probe(); got != want.Whole() {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// childPrograms returns the programs of the children of this process.
func childPrograms() (links []string) {
	lists, _ := filepath.Glob("/proc/self/task/*/children")
	for _, list := range lists {
		data, _ := os.ReadFile(list)
		for _, pid := range strings.Fields(string(data)) {
			if link, err := os.Readlink("/proc/" + pid + "/exe"); err == nil {
				links = append(links, link)
			}
		}
	}
	return links
}
