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
		Short: "Hold what is rendered to what you expect of it",
		Long: `Find the files called ` + Name + ` in the directories and below them, render the roots that they are about, and hold the results to what they
expect: fields, numbers of resources, golden files, warnings, or that a root must fail. All roots are rendered in parallel. Functions run as they do
for build. If a test fails, the exit code is 1, and each value that is not as expected is told with the file and line that it was written in.`,
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
			if _, all := report.Failed(); all == 0 {
				return diag.Arguments.Errorf("--run: no test is called %s", diag.OneLine(run))
			}
			return Write(a, report, form, junit)
		},
	}
	a.Flags.Register(cmd)
	a.Functions.Register(cmd)
	fs := cmd.Flags()
	fs.StringVarP(&form, "output", "o", "text", "form of the report: text, json or junit")
	fs.StringVar(&junit, "junit", "", "write the report as JUnit's XML to this `FILE`, too")
	fs.StringVar(&run, "run", "", "run the tests whose names match this regular expression")
	fs.BoolVar(&update, "update", false, "write what is rendered to the golden files")
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
