package main

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	execfn "github.com/krmflow/krmflow/executors/exec"
	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "rewrite the expected output in testdata/script")

func TestMain(m *testing.M) {
	programs := map[string]func(){"krmflow": main, "bounded": bounded, "signalled": signalled, "within": endsWithin}
	maps.Copy(programs, attackers)
	testscript.Main(m, programs)
}

// TestScript runs the scripts in testdata/script against the real binary: one file per behaviour, named
// <command>_<behaviour>.txtar.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "../../testdata/script",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("NO_COLOR", "1")
			env.Setenv("BIN", filepath.SplitList(os.Getenv("PATH"))[0]) // for a PATH with krmflow and nothing else
			return nil
		},
		Condition: condition,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exitcode": exitcode, "repeat": generate, "catalog": writeCatalog, "gobuild": goBuild,
			"private": private, "nothingleft": nothingLeft, "image": image, "hostiletrees": writeHostileTrees,
		},
	})
}

// condition knows [sandbox], this machine isolates programs in every way that krmflow knows, [podman], and [root], the user may
// mount file systems and become another user.
func condition(name string) (bool, error) {
	switch name {
	case "sandbox":
		iso := execfn.Probe()
		return iso.Enough() && iso.UserNS && iso.MountNS && iso.NetNS, nil
	case "podman":
		return hasPodman()
	case "root":
		return os.Geteuid() == 0 && exec.Command("unshare", "-m", "true").Run() == nil, nil
	}
	return false, fmt.Errorf("unknown condition %s", name)
}

// exitcode runs krmflow and checks its exit code: exitcode 3 krmflow plan dir.
func exitcode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exitcode CODE PROGRAM [ARG...]")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	if err != nil {
		got = exitStatus(err)
	}
	if got != args[0] {
		ts.Fatalf("exit code %s, want %s", got, args[0])
	}
}

func exitStatus(err error) string {
	var ee *exec.ExitError
	if errors.As(err, &ee) {
		return strconv.Itoa(ee.ExitCode())
	}
	return err.Error()
}
