package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/krmflow/krmflow/planner"
	"github.com/spf13/cobra"
)

// version is the release; a build of a tagged module overrides it.
var version = "v0.1.0-dev"

func moduleVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return version
}

func versionCommand(a *app) *cobra.Command {
	var short bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  atMost(0),
		RunE: func(*cobra.Command, []string) error {
			if short {
				return a.print(moduleVersion() + "\n")
			}
			return a.print(fmt.Sprintf("krmflow %s\nrenders as kustomize %s\n%s %s/%s\n",
				moduleVersion(), planner.KustomizeVersion, runtime.Version(), runtime.GOOS, runtime.GOARCH))
		},
	}
	cmd.Flags().BoolVar(&short, "short", false, "print the version number alone")
	return cmd
}
