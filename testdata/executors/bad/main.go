// Bad is an executor that does what its name says, for tests: panics in a call, crashes in another goroutine, leaves a daemon
// behind, or listens and never answers.
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/krmflow/krmflow/executors"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
)

type bad string

func (bad) Prepare(context.Context, function.Function) error { return nil }

func (b bad) Execute(_ context.Context, _ function.Function, list yaml.Chunks) (executors.Output, error) {
	switch b {
	case "panics":
		panic(list.String())
	case "crashes":
		go panic(list.String())
		time.Sleep(time.Minute)
	case "leaves":
		err := exec.Command("/bin/sh", "-c",
			"PATH=/usr/bin:/bin; export PATH; setsid sh -c 'sleep 71.05 & sleep 71.05' >/dev/null 2>&1 </dev/null & exit 0").Run()
		return executors.Output{List: list}, err
	}
	return executors.Output{List: list}, nil
}

func main() {
	b := bad(filepath.Base(os.Args[0]))
	if b == "deaf" {
		fmt.Fprintln(os.Stderr, "I hear nothing")
		l, err := net.Listen("unix", filepath.Join(os.Getenv("TMPDIR"), "deaf"))
		if err != nil {
			panic(err)
		}
		fmt.Println("1|1|unix|" + l.Addr().String() + "|grpc|")
		time.Sleep(time.Minute)
	}
	executors.Serve(string(b), b)
}
