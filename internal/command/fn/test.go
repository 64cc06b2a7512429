package fn

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/edit/inplace"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/cli/options"
	"github.com/krmflow/krmflow/internal/command/test"
	"github.com/krmflow/krmflow/internal/engine"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/secret"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/output"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/scheduler"
	"github.com/spf13/cobra"
)

// A tester is the fn test command with its flags.
type tester struct {
	*cli.Invocation
	exec, image string
	form, junit string
	run         string
	update      bool
}

func testCommand(a *cli.Invocation) *cobra.Command {
	t := &tester{Invocation: a}
	cmd := &cobra.Command{
		Use:   "test DIR...",
		Short: "Run the golden cases of a function",
		Long: `Run each case in the directories and below: call the function with the input of the case and compare the result with the expected one. A case is a
directory with these files:

  input.yaml     the input: a ResourceList, or resources; also several files input*.yaml
  config.yaml    the function configuration, unless the ResourceList has a functionConfig
  expected.yaml  the expected result: a ResourceList, or resources
  errors.txt     for a call that must fail: one regular expression per line for its messages

The function is found as usual: by the configuration, or by its kind in a trusted catalog. --exec and --image name it instead. It needs the same trust
and has the same sandbox and limits. Resources are compared in order; formatting, comments and the order of fields do not matter. Results are compared if
expected.yaml has the field results. If a case fails, the exit code is 1.`,
		Example: `  krmflow fn test stamp --trusted-plugin-catalog=stamp/catalog.yaml
  krmflow fn test testdata --exec ./stamp.sh --enable-alpha-plugins --enable-exec
  krmflow fn test stamp --trusted-plugin-catalog=stamp/catalog.yaml --update
  krmflow fn test stamp --trusted-plugin-catalog=stamp/catalog.yaml --junit tests.xml`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return options.UsageError(diag.Arguments.Errorf("fn test needs a directory with cases"))
			}
			return nil
		},
		RunE: t.test,
	}
	a.Flags.Register(cmd)
	a.Functions.Register(cmd)
	fs := cmd.Flags()
	fs.StringVar(&t.exec, "exec", "", "test the program at this `PATH`")
	fs.StringVar(&t.image, "image", "", "test this `image`")
	fs.StringVarP(&t.form, "output", "o", "text", "output `format`: text, json or junit")
	fs.StringVar(&t.junit, "junit", "", "also write a JUnit report to this `FILE`")
	fs.StringVar(&t.run, "run", "", "run only cases whose name matches this `regexp`")
	fs.BoolVar(&t.update, "update", false, "write the results to expected.yaml, or the errors to errors.txt")
	return cmd
}

func (t *tester) test(cmd *cobra.Command, args []string) error {
	only, err := regexp.Compile(t.run)
	switch {
	case !slices.Contains([]string{"text", "json", "junit"}, t.form):
		return options.UsageError(diag.FlagValue.Errorf("illegal value --output %s; legal values: text, json, junit", diag.Redact(t.form)))
	case t.exec != "" && t.image != "":
		return options.UsageError(errors.New("--exec and --image cannot be combined"))
	case err != nil:
		return options.UsageError(fmt.Errorf("--run: %w", err))
	}
	if t.junit != "" {
		if err := output.CheckFile(t.junit); err != nil {
			return err
		}
	}
	if t.exec != "" {
		if info, err := os.Stat(t.exec); err != nil {
			return diag.NoSuchFile.Errorf("--exec %s: %w", t.exec, errors.Unwrap(err))
		} else if info.IsDir() {
			return diag.NotAFile.Errorf("--exec %s is a directory", t.exec)
		}
	}
	var dirs []string
	for _, dir := range args {
		if !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	cases, err := findCases(cmd.Context(), dirs, t.update)
	if err != nil {
		return err
	}
	cases = slices.DeleteFunc(cases, func(c *testCase) bool { return !only.MatchString(c.name) })
	if len(cases) == 0 {
		return diag.Arguments.Errorf("--run: no case is called %s", diag.OneLine(t.run))
	}
	outcomes, err := t.call(cmd, cases)
	if err != nil {
		return err
	}
	report := &test.Report{Name: "krmflow fn test"}
	for _, dir := range dirs {
		s := test.SuiteReport{Suite: &test.Suite{File: dir, Root: dir}}
		for _, c := range cases {
			if c.in == dir {
				s.Results = append(s.Results, c.check(outcomes[c.dir], t.update))
			}
		}
		if len(s.Results) > 0 {
			report.Suites = append(report.Suites, s)
		}
	}
	return errors.Join(test.Write(t.Invocation, report, t.form, t.junit), t.StrictError())
}

// An outcome is the result of a call.
type outcome struct {
	list    *krm.List // nil if the call failed
	errs    []error
	results []function.Result
	stderr  string
}

// call calls the functions of all cases in one plan, with one root per case. The error reports
// problems that do not belong to a single case.
func (t *tester) call(cmd *cobra.Command, cases []*testCase) (map[string]*outcome, error) {
	outcomes, dirs := map[string]*outcome{}, make([]string, len(cases))
	var files []*planner.Files
	for i, c := range cases {
		outcomes[c.dir], dirs[i] = &outcome{}, c.dir
		call, err := t.callOf(c)
		if err != nil {
			return nil, err
		}
		files = append(files, &planner.Files{Read: c, Calls: []planner.FileCall{call}})
	}
	run, err := t.Plan(cmd, engine.Request{Dirs: dirs, Files: files, KeepGoing: true}) // a case may expect a failure
	if err != nil {
		return nil, err
	}
	if err := run.Denied(); err != nil {
		return nil, err
	}
	plan := run.Plan()
	for _, f := range plan.Failed {
		outcomes[f.Dir].errs = f.Errs
	}
	of := map[string]*outcome{} // by node id
	for _, n := range plan.Graph.Nodes {
		for _, root := range plan.Graph.RootsThatNeed(map[string]bool{n.ID: true}) {
			of[n.ID] = outcomes[root.Dir]
		}
	}
	var mu sync.Mutex
	hooks := engine.Hooks{Call: func(r scheduler.CallReport) {
		mu.Lock()
		defer mu.Unlock()
		x := of[r.Node.ID]
		x.results, x.stderr = r.Results, string(r.Stderr)
	}}
	var failed error
	for result, err := range run.Results(cmd.Context(), hooks) {
		if err != nil {
			failed = err
			continue
		}
		mu.Lock()
		outcomes[result.Root.Dir].list = result.List
		mu.Unlock()
	}
	if cmd.Context().Err() != nil {
		return nil, context.Cause(cmd.Context())
	}
	var others []error
	for e := range diag.Each(failed) {
		var node *scheduler.NodeError
		if errors.As(e, &node) && of[node.Node.ID] != nil && hasRun(e) {
			x := of[node.Node.ID]
			x.errs = append(x.errs, e)
		} else if !slices.ContainsFunc(plan.Failed, func(f planner.RootError) bool {
			return slices.ContainsFunc(f.Errs, func(err error) bool { return err.Error() == e.Error() })
		}) {
			others = append(others, e)
		}
	}
	return outcomes, errors.Join(others...)
}

// hasRun reports whether err is a failure of the function itself. A function that cannot be run
// is not an outcome of a case, even of a case that expects errors.
func hasRun(err error) bool {
	var e *function.Error
	return !errors.As(err, &e) || e.Code == function.Failed || e.Code == function.Timeout || e.Code == function.LimitExceeded
}

// callOf returns the planned call of a case.
func (t *tester) callOf(c *testCase) (planner.FileCall, error) {
	call := planner.FileCall{File: c.file, Dir: c.dir, Config: c.config, Source: c.source, Files: c}
	if t.exec == "" && t.image == "" {
		if c.config == nil {
			e := diag.BadTest.Errorf("%s has no configuration to name its function", c.file)
			return call, diag.AsError(e).Hint("write %s, or name the function with --exec or --image", configFile)
		}
		src := c.source
		if src == nil {
			src = &yaml.Source{File: c.file, Data: c.input.data}
		}
		call.Origin, call.Name = graph.Origin{Source: src}, nameOf(c.config)
		return call, nil
	}
	config := yaml.MapOf(yaml.Field{Key: "apiVersion", Value: yaml.Str("v1")}, yaml.Field{Key: "kind", Value: yaml.Str("ConfigMap")},
		yaml.Field{Key: "metadata", Value: yaml.MapOf(yaml.Field{Key: "name", Value: yaml.Str("function-input")})})
	pos := diag.Pos{File: c.file}
	if c.config != nil {
		call.Name = nameOf(c.config)
		config, pos = c.config.Value(), c.config.Pos
	}
	for _, place := range []string{function.PlaceRuntime, function.PlaceProvider, function.PlaceAnnotation, function.PlaceAnnotation2,
		function.PlaceConfigFn, function.PlaceContainer} {
		config = function.Without(config, place) // the flag takes precedence
	}
	key, field, value := "exec", "path", "./"+filepath.Base(t.exec)
	if t.exec != "" {
		call.Dir = filepath.Dir(t.exec)
	} else {
		key, field, value = "container", "image", t.image
	}
	named := yaml.MapOf(yaml.Field{Key: field, Value: yaml.Str(value)})
	call.Config = krm.NewResource(config.With(function.PlaceRuntime, yaml.MapOf(yaml.Field{Key: key, Value: named})), nil)
	call.Config.Pos, call.Source, call.ByProgram = pos, nil, true
	call.Origin = graph.Origin{Source: &yaml.Source{File: c.file}}
	return call, nil
}

// nameOf returns the name of a configuration for messages.
func nameOf(config *krm.Resource) string {
	id := config.ID()
	return strings.TrimSuffix(id.Kind+"/"+id.Name, "/")
}

// Transform sets the input list of the function.
func (c *testCase) Transform(list *krm.List, _ diag.Warn) error {
	rs := make([]*krm.Resource, len(c.input.items))
	for i, v := range c.input.items {
		rs[i] = krm.NewResource(v, nil)
		rs[i].Pos = diag.Pos{File: c.input.file}
		rs[i].Origin = &krm.Origin{}
		c.comments[rs[i].Origin] = c.input.comments[i]
	}
	list.Replace(rs)
	return nil
}

// Of returns the whole list: the function under test receives all resources.
func (c *testCase) Of(list *krm.List) *krm.List { return list }

// After returns the output of the function.
func (c *testCase) Config(*krm.List) yaml.Value { return yaml.Value{} }

func (c *testCase) After(_, _, answer *krm.List) (*krm.List, error) { return answer, nil }

// Text returns a resource with its comments, as krmflow run passes it to functions.
func (c *testCase) Text(r *krm.Resource, v yaml.Value) []byte {
	if len(c.comments[r.Origin]) == 0 {
		return nil
	}
	text, _ := inplace.ForFunction(v, c.comments[r.Origin], secret.Fields)
	return text
}

// Answered ignores comments: only values are compared.
func (c *testCase) Answered(yaml.Chunks, []*krm.Resource) {}

// checkRegular returns an error if a file of a case is a link or otherwise not a regular file.
func checkRegular(file string) error {
	info, err := os.Lstat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return diag.NoSuchFile.Errorf("%w", err)
	case err != nil:
		return err
	case info.Mode()&fs.ModeSymlink != 0:
		return diag.BadTest.Errorf("%s is a symbolic link: the files of a case must be regular files", file)
	case !info.Mode().IsRegular():
		return diag.NotAFile.Errorf("%s is not a regular file", file)
	}
	return nil
}

// messages returns the messages of a failed call for matching patterns: errors, results and
// stderr.
func (o *outcome) messages() string {
	var b strings.Builder
	for _, err := range o.errs {
		b.WriteString(err.Error() + "\n")
	}
	for _, r := range o.results {
		b.WriteString(r.String() + "\n")
	}
	return strings.ReplaceAll(b.String()+o.stderr, "\r\n", "\n")
}
