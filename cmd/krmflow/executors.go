package main

import (
	"os"
	"time"

	"github.com/krmflow/krmflow/executors"
	"github.com/krmflow/krmflow/executors/container"
	"github.com/krmflow/krmflow/executors/exec"
	"github.com/krmflow/krmflow/executors/helm"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/spf13/cobra"
)

// runtimeVariable tells the executor of containers which runtime the user wants.
const runtimeVariable = "KRMFLOW_CONTAINER_RUNTIME"

// program returns the executor that runs the functions of a runtime: krmflow itself, unless the user names another one.
func (f *functionFlags) program(runtime function.Runtime) executors.Program {
	p, ok := f.thirdParty[runtime]
	if !ok {
		p.Kind = string(runtime)
	}
	if runtime == function.RuntimeContainer {
		p.Env = append(container.Environment(os.Environ()), runtimeVariable+"="+f.runtime)
		p.Linger = 5 * time.Second
	}
	return p
}

func executorCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{Use: "executor", Short: "Show the executors that run functions"}
	list := &cobra.Command{
		Use: "list", Short: "List the executors and what isolates functions on this machine", Args: atMost(0),
		RunE: func(*cobra.Command, []string) error {
			if err := a.parseExecutors(); err != nil {
				return err
			}
			return a.print(a.executorList())
		},
	}
	registerExecutors(list, &a.functionFlags)
	serve := &cobra.Command{
		Use: "exec", Hidden: true, Args: atMost(0),
		RunE: func(*cobra.Command, []string) error {
			a.serves.Store(true)
			x := exec.New()
			defer x.Close()
			executors.Serve("exec", x)
			return nil
		},
	}
	charts := &cobra.Command{
		Use: "helm", Hidden: true, Args: atMost(0),
		RunE: func(*cobra.Command, []string) error {
			a.serves.Store(true)
			x := helm.New()
			defer x.Close()
			executors.Serve("helm", x)
			return nil
		},
	}
	containers := &cobra.Command{
		Use: "container", Hidden: true, Args: atMost(0),
		RunE: func(*cobra.Command, []string) error {
			a.serves.Store(true)
			engine, err := container.Detect(os.Getenv(runtimeVariable))
			if err != nil {
				return err
			}
			x := container.New(container.Options{Engine: engine, Reaper: []string{"/proc/self/exe", "executor", "container-reaper"}})
			defer x.Close()
			executors.Serve("container", x)
			return nil
		},
	}
	reaper := &cobra.Command{
		Use: "container-reaper", Hidden: true, DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			a.serves.Store(true)
			return container.Reap(a.stdin, args)
		},
	}
	cmd.AddCommand(list, serve, charts, containers, reaper)
	return cmd
}
