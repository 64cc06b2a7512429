// Package executor implements the executor command.
package executor

import (
	"os"
	"runtime/debug"

	"github.com/krmflow/krmflow/executors"
	"github.com/krmflow/krmflow/executors/container"
	"github.com/krmflow/krmflow/executors/exec"
	"github.com/krmflow/krmflow/executors/helm"
	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/cli/options"
	"github.com/spf13/cobra"
)

// Command returns the executor command.
func Command(a *cli.Invocation) *cobra.Command {
	cmd := &cobra.Command{Use: "executor", Short: "Show the executors that run functions"}
	list := &cobra.Command{
		Use: "list", Short: "List the executors and the isolation on this machine", Example: "  krmflow executor list",
		Args: options.AtMost(0),
		RunE: func(*cobra.Command, []string) error {
			if err := a.ParseExecutors(); err != nil {
				return err
			}
			return a.Print(a.ExecutorList())
		},
	}
	options.RegisterExecutors(list, &a.Functions)
	serve := &cobra.Command{
		Use: "exec", Hidden: true, Args: options.AtMost(0),
		RunE: func(*cobra.Command, []string) error {
			a.Serves.Store(true)
			forkOften()
			x := exec.New()
			x.Wrapper, _ = os.Executable() // without it, wrapped scripts do not work
			defer x.Close()
			executors.Serve("exec", x)
			return nil
		},
	}
	charts := &cobra.Command{
		Use: "helm", Hidden: true, Args: options.AtMost(0),
		RunE: func(*cobra.Command, []string) error {
			a.Serves.Store(true)
			forkOften()
			x := helm.NewHeld(os.Getenv(executors.HeldVariable))
			defer x.Close()
			executors.Serve("helm", x)
			return nil
		},
	}
	containers := &cobra.Command{
		Use: "container", Hidden: true, Args: options.AtMost(0),
		RunE: func(*cobra.Command, []string) error {
			a.Serves.Store(true)
			engine, err := container.Detect(os.Getenv(options.RuntimeVariable))
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
			a.Serves.Store(true)
			return container.Reap(a.Stdin, args)
		},
	}
	cmd.AddCommand(list, serve, charts, containers, reaper)
	return cmd
}

// forkOften makes the heap small. Each call of a function starts a process in new namespaces, for
// which the kernel copies the page tables of this process and then each page that it changes.
func forkOften() { debug.SetGCPercent(50) }
