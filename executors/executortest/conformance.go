// Package executortest tests the requirements for every executor. The author of an executor
// calls [Run] with the Executor value and with the process returned by [executors.Start].
// docs/executors.md describes the contract, and the test of this package is an example.
package executortest

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/krmflow/krmflow/executors"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
)

const list = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n"

// Run tests an executor. named returns a function of the executor's kind with one of these
// behaviors:
//
//	copy   writes its input
//	deaf   reads nothing and writes "done\n"
//	fail   writes its input, and "it is wrong\n" to stderr, and exits with 3
//	hang   does not end
//	flood  writes without end
//
// named is called concurrently. Error messages must start with the name of the function, a colon
// and a space. The errors or their hints must contain the texts that the tests look for: both
// digests after want and got, "exit code 3", "still running after 1s", "more than 5 MiB".
func Run(t *testing.T, ex executors.Executor, named func(name string) function.Function) {
	execute := func(name string, limits function.Limits, input []byte) (executors.Output, error) {
		f := named(name)
		f.Limits = limits
		return ex.Execute(t.Context(), f, yaml.Chunks{input})
	}
	fails := func(t *testing.T, err error, code executors.Code, name, text string) *executors.Error {
		t.Helper()
		var e *executors.Error
		if !errors.As(err, &e) {
			t.Fatalf("error %v", err)
		}
		if e.Code != code || !strings.HasPrefix(e.Msg, named(name).Name+": ") || !strings.Contains(e.Error(), text) {
			t.Errorf("error of code %d: %s", e.Code, e)
		}
		return e
	}
	t.Run("prepare", func(t *testing.T) {
		for range 2 {
			if err := ex.Prepare(t.Context(), named("copy")); err != nil {
				t.Error(err)
			}
		}
		changed := named("copy")
		changed.Digest[0] ^= 1
		fails(t, ex.Prepare(t.Context(), changed), executors.Verification, "copy", "want "+changed.Digest.String())
		_, err := ex.Execute(t.Context(), changed, nil)
		fails(t, err, executors.Verification, "copy", "want "+changed.Digest.String())
	})
	t.Run("copy", func(t *testing.T) {
		for _, input := range []string{list, "", strings.Repeat(list, 1<<20/len(list)+1)} {
			if out, err := execute("copy", function.Limits{}, []byte(input)); err != nil || out.List.String() != input {
				t.Errorf("%d bytes became %d, %v", len(input), out.List.Len(), err)
			}
		}
	})
	t.Run("large", func(t *testing.T) {
		input := bytes.Repeat([]byte(list), 64<<20/len(list))
		if out, err := execute("copy", function.Limits{}, input); err != nil || out.List.String() != string(input) {
			t.Errorf("%d bytes became %d, %v", len(input), out.List.Len(), err)
		}
		if out, err := execute("deaf", function.Limits{}, input); err != nil || out.List.String() != "done\n" {
			t.Errorf("deaf: %q, %v", out.List, err)
		}
	})
	t.Run("fail", func(t *testing.T) {
		out, err := execute("fail", function.Limits{}, []byte(list))
		if e := fails(t, err, executors.Failed, "fail", "exit code 3"); string(e.Stderr) != "it is wrong\n" {
			t.Errorf("stderr %q", e.Stderr)
		}
		if out.List.String() != list {
			t.Errorf("its output is lost: %q", out.List)
		}
	})
	t.Run("limits", func(t *testing.T) {
		_, err := execute("hang", function.Limits{Timeout: time.Second}, []byte(list))
		fails(t, err, executors.Timeout, "hang", "still running after 1s")
		_, err = execute("flood", function.Limits{Output: 5 << 20}, []byte(list))
		fails(t, err, executors.Limit, "flood", "more than 5 MiB")
	})
	t.Run("cancel", func(t *testing.T) {
		cause := errors.New("no longer wanted")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(300*time.Millisecond, func() { cancel(cause) })
		start := time.Now()
		_, err := ex.Execute(ctx, named("hang"), yaml.Chunks{[]byte(list)})
		if !errors.Is(err, cause) || time.Since(start) > 3*time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
	t.Run("parallel", func(t *testing.T) {
		var calls sync.WaitGroup
		for range 8 {
			calls.Go(func() {
				if out, err := execute("copy", function.Limits{}, []byte(list)); err != nil || out.List.String() != list {
					t.Errorf("%q, %v", out.List, err)
				}
			})
		}
		calls.Wait()
	})
}
