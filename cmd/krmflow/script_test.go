package main

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	execfn "github.com/krmflow/krmflow/executors/exec"
	"github.com/krmflow/krmflow/executors/executortest"
	"github.com/krmflow/krmflow/internal/dev/longtest"
	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "rewrite the expected output in testdata/script")

func TestMain(m *testing.M) {
	testscript.Main(m, programsOfScripts())
}

// programsOfScripts returns the programs for scripts, by name.
func programsOfScripts() map[string]func() {
	programs := map[string]func(){"krmflow": mainOrSession, "kustomize-5.8.2": main, "kubectl-krmflow": main, "config": main,
		"bounded": bounded, "signalled": signalled, "within": endsWithin}
	maps.Copy(programs, attackers)
	return programs
}

// mainOrSession is krmflow, or a session of it.
func mainOrSession() {
	if os.Getenv(inSession) != "" {
		serveSession()
		return
	}
	main()
}

// TestScript runs the scripts in testdata/script against the real binary: one file per behaviour,
// named <command>_<behaviour>.txtar.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "../../testdata/script",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("NO_COLOR", "1")
			env.Values[serversKey{}] = map[string]*scriptServer{}
			env.Values[killsKey{}] = map[string]func(){}
			caches := env.WorkDir + "-caches" // outside of the rendered directories: a cache in the same tree is not used
			env.Setenv("XDG_CACHE_HOME", caches)
			env.Setenv("CACHE", filepath.Join(caches, "krmflow"))
			env.Defer(func() { os.RemoveAll(caches) })
			env.Setenv("UNSHARE", unshareFlag())
			env.Setenv("REPO", sourceTree())
			env.Setenv("BIN", filepath.SplitList(os.Getenv("PATH"))[0]) // a PATH with krmflow only
			return nil
		},
		Condition: condition,
		Cmds:      commandsOfScripts(),
	})
}

// sourceTree returns the directory of this repository. Scripts run its examples.
func sourceTree() string {
	dir, err := filepath.Abs("../..")
	if err != nil {
		panic(err)
	}
	return dir
}

// condition evaluates the conditions in scriptConditions.
func condition(name string) (bool, error) {
	switch name {
	case "long":
		return longtest.On(), nil
	case "longest":
		return longtest.All(), nil
	case "sandbox":
		return hasSandbox(execfn.Probe())
	case "podman":
		return hasPodman()
	case "bazelremote":
		return hasBazelRemote()
	case "kptfunctions":
		return hasKptFunctions()
	case "netns":
		return hasNetNS()
	case "root":
		return os.Geteuid() == 0 && exec.Command("unshare", "-m", "true").Run() == nil, nil
	}
	return false, fmt.Errorf("unknown condition %s", name)
}

// unshareFlag returns the flag of unshare that makes a network namespace. Users other than root
// also need a user namespace.
func unshareFlag() string {
	if os.Geteuid() == 0 {
		return "-n"
	}
	return "-rn"
}

// hasNetNS reports whether a network namespace without any network can be made. In CI, where its
// tests must not be skipped, failure is an error.
func hasNetNS() (bool, error) {
	err := exec.Command("unshare", unshareFlag(), "true").Run()
	if err != nil && executortest.MustTest() {
		return false, fmt.Errorf("unshare %s: %w: runs without a network must be tested here", unshareFlag(), err)
	}
	return err == nil, nil
}

// hasSandbox reports whether programs are isolated in every way that krmflow knows. In CI, where
// its tests must not be skipped, missing isolation is an error.
func hasSandbox(iso execfn.Isolation) (bool, error) {
	ok := iso.Enough() && iso.UserNS && iso.MountNS && iso.NetNS
	if !ok && executortest.MustTest() {
		return false, fmt.Errorf("isolation is %s: the sandbox must be tested here", iso)
	}
	return ok, nil
}

// exitcode implements exitcode 3 krmflow plan dir. It runs krmflow and checks its exit code.
func exitcode(ts *testscript.TestScript, args []string) {
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

// A missing feature of this machine skips a script, with the name of the feature, and fails it in
// CI.
func TestSandboxIsTested(t *testing.T) {
	for _, ci := range []string{"", "true"} {
		t.Setenv("CI", ci)
		if ok, err := hasSandbox(execfn.Isolation{}); ok || (err != nil) != (ci == "true") {
			t.Errorf("CI=%s: %t, %v", ci, ok, err)
		}
	}
}

// The same applies to programs that scripts need. Outside of CI, such scripts are skipped without
// them.
func TestProgramsOfScripts(t *testing.T) {
	if os.Getenv("CI") != "true" {
		t.Skip("only CI must have them all")
	}
	files, err := filepath.Glob("../../testdata/script/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(len(files), err)
	}
	needed := regexp.MustCompile(`(?m)^\[!exec:(.+?)\] skip`)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range needed.FindAllSubmatch(data, -1) {
			if _, err := exec.LookPath(string(m[1])); err != nil {
				t.Errorf("%s is skipped: %v", filepath.Base(file), err)
			}
		}
	}
}
