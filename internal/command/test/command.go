package test

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/cli/options"
	"github.com/krmflow/krmflow/output"
	"github.com/spf13/cobra"
)

// Command returns the test command.
func Command(a *cli.Invocation) *cobra.Command {
	var form, junit, run string
	var update bool
	cmd := &cobra.Command{
		Use:   "test [DIR...]",
		Short: "Compare rendered resources with expectations",
		Long: `Find all files named krmflow-test.yaml in the directories and below, render the roots that they name, and compare the results with the expectations:
fields, numbers of resources, golden files, warnings, or the failure of a root. All roots are rendered in parallel. Functions run as in
build.

If a test fails, the exit code is 1, and each unexpected value is reported with the file and line that set it.`,
		Example: `  krmflow test
  krmflow test overlays/prod --run replicas
  krmflow test --update
  krmflow test --junit tests.xml`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains([]string{"text", "json", "junit"}, form) {
				return options.UsageError(fmt.Errorf("illegal value --output %s; legal values: text, json, junit", diag.Redact(form)))
			}
			pattern, err := regexp.Compile(run)
			if err != nil {
				return options.UsageError(fmt.Errorf("--run: %w", err))
			}
			if junit != "" {
				if err := output.CheckFile(junit); err != nil {
					return err
				}
			}
			suites, err := readTests(args)
			if err != nil {
				return err
			}
			if suites, err = ofShard(cmd, a, suites); err != nil || len(suites) == 0 {
				return err
			}
			if a.Strict {
				strict(suites)
			}
			outcomes, err := renderTested(cmd, a, suites)
			if err != nil {
				return err
			}
			var write func(string, []byte) error
			if update {
				write = updating()
			}
			report := &Report{Name: "krmflow test"}
			for _, s := range suites {
				report.Suites = append(report.Suites, SuiteReport{Suite: s, Results: s.Check(outcomes[s.Root], pattern, write)})
			}
			if _, all := report.Failed(); all == 0 && !a.Sharded() {
				return diag.Arguments.Errorf("--run: no test is called %s", diag.OneLine(run))
			}
			return Write(a, report, form, junit)
		},
	}
	a.Flags.Register(cmd)
	a.Functions.Register(cmd)
	a.RegisterShard(cmd)
	fs := cmd.Flags()
	fs.StringVarP(&form, "output", "o", "text", "output `format`: text, json or junit")
	fs.StringVar(&junit, "junit", "", "also write a JUnit report to this `FILE`")
	fs.StringVar(&run, "run", "", "run only tests whose name matches this `regexp`")
	fs.BoolVar(&update, "update", false, "write the rendered resources to the golden files")
	return cmd
}

// strict makes every unexpected warning of a root a failure.
func strict(suites []*Suite) {
	for _, s := range suites {
		if s.Warnings == nil && s.Fails == nil {
			s.Warnings = []*regexp.Regexp{}
		}
	}
}

// updating returns a function that writes golden files. It returns an error if two tests write
// different content to the same file.
func updating() func(file string, data []byte) error {
	written := map[string][]byte{}
	return func(file string, data []byte) error {
		if had, ok := written[file]; ok && !bytes.Equal(had, data) {
			return fmt.Errorf("a different test wrote different resources to %s", file)
		}
		written[file] = data
		return output.WriteFileAtomic(file, data, 0o666)
	}
}
