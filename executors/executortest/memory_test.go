package executortest_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/krmflow/krmflow/executors"
	"github.com/krmflow/krmflow/executors/executortest"
	"github.com/krmflow/krmflow/internal/dev/longtest"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
)

// memory is a third-party executor whose programs are the words in a file. It implements only what
// every executor must have.
type memory struct{}

// load returns the verified program of f.
func (memory) load(f function.Function) (string, error) {
	data, err := os.ReadFile(f.Program)
	if err != nil {
		return "", &executors.Error{Code: executors.Invalid, Msg: fmt.Sprintf("%s: %v", f.Name, err)}
	}
	if got := krm.DigestOf(data); got != f.Digest {
		return "", (&executors.Error{Code: executors.Verification, Msg: f.Name + ": another program"}).
			Hint("want %s", f.Digest).Hint("got  %s", got)
	}
	return string(data), nil
}

func (m memory) Prepare(_ context.Context, f function.Function) error {
	_, err := m.load(f)
	return err
}

func (m memory) Execute(ctx context.Context, f function.Function, list yaml.Chunks) (out executors.Output, err error) {
	program, err := m.load(f)
	if err != nil {
		return out, err
	}
	limits := executors.Bounded(f.Limits)
	ctx, cancel := context.WithTimeoutCause(ctx, limits.Timeout,
		&executors.Error{Code: executors.Timeout, Msg: fmt.Sprintf("%s: still running after %v, stopped", f.Name, limits.Timeout)})
	defer cancel()
	switch program {
	case "copy":
		out.List = list
	case "deaf":
		out.List = yaml.Chunks{[]byte("done\n")}
	case "fail":
		out.List, out.Stderr = list, []byte("it is wrong\n")
		return out, &executors.Error{Code: executors.Failed, Msg: f.Name + ": exit code 3", Stderr: out.Stderr}
	case "hang":
		<-ctx.Done()
		return out, context.Cause(ctx)
	case "flood":
		for size := int64(0); size <= limits.Output; size += 1 << 20 {
			out.List = append(out.List, bytes.Repeat([]byte("\n"), 1<<20))
		}
	}
	if int64(out.List.Len()) > limits.Output {
		return executors.Output{}, &executors.Error{Code: executors.Limit,
			Msg: fmt.Sprintf("%s: it wrote more than %d MiB", f.Name, limits.Output>>20)}
	}
	return out, nil
}

// TestMain does what the main function of such an executor would do, if the test program was
// started as one.
func TestMain(m *testing.M) {
	if os.Getenv("KRMFLOW_EXECUTOR") != "" {
		executors.Serve("memory", memory{})
		return
	}
	os.Exit(m.Run())
}

// The executor is tested as a value and as a program that users name.
func TestMemoryExecutorConforms(t *testing.T) {
	longtest.Only(t)
	dir := t.TempDir()
	for _, name := range []string{"copy", "deaf", "fail", "hang", "flood"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	function := func(name string) function.Function {
		return function.Function{Name: "example.com/v1 Memory/" + name, Runtime: "memory", Program: filepath.Join(dir, name), Root: dir,
			Digest: krm.DigestOf([]byte(name))}
	}
	t.Run("direct", func(t *testing.T) { executortest.Run(t, memory{}, function) })
	t.Run("process", func(t *testing.T) {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(self)
		if err != nil {
			t.Fatal(err)
		}
		x, err := executors.Start(t.Context(), executors.Program{Kind: "memory", Path: self, Digest: krm.DigestOf(data)})
		if err != nil {
			t.Fatal(err)
		}
		defer x.Close()
		executortest.Run(t, x, function)
	})
}
