package exec_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/krmflow/krmflow/executors"
	"github.com/krmflow/krmflow/executors/exec"
	"github.com/krmflow/krmflow/internal/dev/longtest"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
)

// isolations returns the isolation of this machine and weaker forms of it. With all tests these are
// each form without one part, and with several also those without more parts. Other long tests get
// the weakest form and the forms that are too weak, and each change only one that is too weak.
func isolations(several bool) []exec.Isolation {
	here := exec.Probe()
	list := []exec.Isolation{here}
	switch {
	case !longtest.On():
		return append(list, exec.Isolation{Seccomp: true})
	case !longtest.All():
		open, old := here, here
		open.Seccomp, old.Landlock = false, 0
		return append(list, exec.Isolation{Landlock: min(here.Landlock, 1), Seccomp: here.Seccomp}, open, old)
	}
	// Versions 1 and 2 do not support truncate. The others differ in points that a sandbox covers
	// in another way.
	for _, version := range []int{2, 1, 0} {
		older := here
		older.Landlock = min(older.Landlock, version)
		list = append(list, older)
	}
	for _, without := range []func(*exec.Isolation){
		func(i *exec.Isolation) { i.UserNS, i.MountNS, i.NetNS = false, false, false },
		func(i *exec.Isolation) { i.MountNS = false },
		func(i *exec.Isolation) { i.NetNS = false },
		func(i *exec.Isolation) { i.Seccomp = false },
	} {
		for _, iso := range slices.Clone(list) {
			if iso != here && !several {
				continue
			}
			without(&iso)
			if !slices.Contains(list, iso) {
				list = append(list, iso)
			}
		}
	}
	return list
}

// fallbacks runs a test with each of [isolations]. The executor must refuse the forms that are too
// weak.
func fallbacks(t *testing.T, several bool, test func(t *testing.T, iso exec.Isolation)) {
	for _, iso := range isolations(several) {
		iso = exec.Try(iso)
		t.Run(fmt.Sprintf("landlock=%d,userns=%v,mntns=%v,netns=%v,seccomp=%v", iso.Landlock, iso.UserNS, iso.MountNS, iso.NetNS,
			iso.Seccomp), func(t *testing.T) {
			if iso.Enough() {
				test(t, iso)
				return
			}
			x := exec.NewWith(iso)
			defer x.Close()
			if err := x.Prepare(t.Context(), self(t).fn("copy")); code(err) != executors.Denied {
				t.Errorf("%+v is too little, and not refused: %v", iso, err)
			}
		})
	}
}

// No system call changes anything outside of the sandbox, whatever its arguments.
func TestSyscallsCannotEscapeSandbox(t *testing.T) {
	f := self(t).program(t, "syscalls")
	fallbacks(t, true, func(t *testing.T, iso exec.Isolation) { sweep(t, iso, f) })
	t.Run("network", func(t *testing.T) {
		longtest.Only(t)
		f.Network = "host"
		if iso := exec.Probe(); iso.Enough() {
			sweep(t, iso, f)
		}
	})
}

// sweep runs testdata/syscalls as the function f and compares the outside before and after.
func sweep(t *testing.T, iso exec.Isolation, f function.Function) {
	x := exec.NewWith(iso)
	defer x.Close()
	o := newOutside(t)
	mark := "KRMFLOW_TEST=" + o.tree
	f.Limits.Timeout = 5 * time.Minute
	f.Args, f.Env = append(o.args(), fmt.Sprint("-network=", f.Network != ""), fmt.Sprint("-quick=", !longtest.On())), []string{mark}
	before := o.look(t)
	out, err := x.Execute(t.Context(), f, yaml.Chunks{[]byte(input)})
	if err != nil {
		var e *executors.Error
		errors.As(err, &e)
		t.Fatalf("%v\n%s", err, e.Stderr)
	}
	var list struct {
		Results []struct{ Message, Severity string }
	}
	if err := json.Unmarshal(out.List.Join(), &list); err != nil {
		t.Fatalf("%v: %s", err, out.List)
	}
	if len(list.Results) < 300 {
		t.Errorf("%d system calls were tried", len(list.Results))
	}
	for _, r := range list.Results {
		if r.Severity == "error" {
			t.Errorf("got through: %s", r.Message)
		} else {
			t.Log(r.Message)
		}
	}
	after := o.look(t)
	if f.Network != "" {
		delete(after, "socket tcp 127.0.0.1:0")
		delete(after, "socket udp 127.0.0.1:0")
	}
	for _, d := range differences(before, after) {
		t.Errorf("changed: %s", d)
	}
	if left := processesOf(mark); len(left) > 0 {
		t.Errorf("left: %s", left)
	}
	f.Args = nil
	if _, err := x.Execute(t.Context(), f, yaml.Chunks{[]byte(input)}); err == nil || !strings.Contains(err.Error(), "exit code 2") {
		t.Errorf("changed: the program is not what it was: %v", err)
	}
}

// built names the directory of the programs built by programs.
const built = "KRMFLOW_TEST_PROGRAMS"

// programs builds the functions that are separate programs, unless a parent process has done so.
// The program that tries all system calls gets their table from x/sys.
var programs = sync.OnceValues(func() (string, error) {
	if dir := os.Getenv(built); dir != "" {
		return dir, nil
	}
	sys, err := osexec.Command("go", "list", "-f", "{{.Dir}}", "golang.org/x/sys/unix").Output()
	if err != nil {
		return "", err
	}
	numbers, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(sys)), "zsysnum_linux_"+runtime.GOARCH+".go"))
	if err != nil {
		return "", err
	}
	var table []string
	for _, m := range regexp.MustCompile(`(?m)^\tSYS_(\w+) *= (\d+)`).FindAllStringSubmatch(string(numbers), -1) {
		table = append(table, strings.ToLower(m[1])+"="+m[2])
	}
	dir := filepath.Join(os.TempDir(), "programs")
	for name, pkg := range map[string]string{"syscalls": "./testdata/syscalls", "kyaml": "../../testdata/functions/kyaml"} {
		cmd := osexec.Command("go", "build", "-ldflags=-X main.table="+strings.Join(table, ","), "-o", filepath.Join(dir, name), pkg)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%w: %s", err, out)
		}
	}
	return dir, nil
})

// program makes a function from one of the programs.
func (r rig) program(t *testing.T, name string) function.Function {
	t.Helper()
	dir, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return r.script(t, name, string(data))
}

// The sandbox must hold for root and for every other user.
func TestAsNobody(t *testing.T) {
	longtest.OnlyAll(t)
	if os.Geteuid() != 0 {
		t.Skip("it takes root to become somebody else")
	}
	dir, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	home, err := os.MkdirTemp("/tmp", "krmflow-nobody-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(home)
	self, _ := os.Executable()
	for name, from := range map[string]string{"test": self, "syscalls": filepath.Join(dir, "syscalls"),
		"kyaml": filepath.Join(dir, "kyaml")} {
		data, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(filepath.Join(home, name), data, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	const nobody = 65534
	os.Chown(home, nobody, nobody)
	cmd := osexec.CommandContext(t.Context(), filepath.Join(home, "test"),
		"-test.run=^(TestSyscallsCannotEscapeSandbox|TestLanguagesRunInSandbox)$",
		fmt.Sprint("-test.v=", testing.Verbose()))
	cmd.Dir, cmd.Env = home, []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + home, "HOME=" + home, built + "=" + home}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil || testing.Verbose() {
		t.Logf("%s", out)
	}
	if err != nil {
		t.Error(err)
	}
}
