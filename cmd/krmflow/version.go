package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/internal/settings"
	"github.com/krmflow/krmflow/planner"
	"github.com/spf13/cobra"
)

// version is the release that the next one will be.
const version = "v0.1.0-dev"

// moduleVersion returns the version of the module if it was built as one, and version if it was built from a working copy:
// what git knows of that must not show in what a build prints.
func moduleVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return version
	}
	return versionOf(info)
}

func versionOf(info *debug.BuildInfo) string {
	workingCopy := slices.ContainsFunc(info.Settings, func(s debug.BuildSetting) bool { return s.Key == "vcs" })
	if workingCopy || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return version
	}
	return info.Main.Version
}

// commit returns the line that says which commit this program was built from, empty if nobody knows: what "go install" gets from
// a module proxy has it in its version.
func commit(info *debug.BuildInfo) string {
	setting := map[string]string{}
	for _, s := range info.Settings {
		setting[s.Key] = s.Value
	}
	if setting["vcs.revision"] == "" {
		return ""
	}
	line := "commit " + setting["vcs.revision"] + " of " + setting["vcs.time"]
	if setting["vcs.modified"] == "true" {
		line += ", with changes"
	}
	return line + "\n"
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
			built := ""
			if info, ok := debug.ReadBuildInfo(); ok {
				built = commit(info)
			}
			var trusts strings.Builder
			for _, s := range settings.BuiltIn() {
				fmt.Fprintf(&trusts, "trusts %s, which is compiled in\n", s.Ref)
			}
			if settings.Locked() {
				trusts.WriteString("trusts nothing else\n")
			}
			return a.print(fmt.Sprintf("krmflow %s\n%srenders as kustomize %s\n%s%s %s/%s\n",
				moduleVersion(), built, planner.KustomizeVersion, trusts.String(), runtime.Version(), runtime.GOOS, runtime.GOARCH))
		},
	}
	cmd.Flags().BoolVar(&short, "short", false, "print the version number alone")
	return cmd
}
