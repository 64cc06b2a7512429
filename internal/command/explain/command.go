package explain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/cli/messages"
	"github.com/krmflow/krmflow/internal/cli/options"
	graphcmd "github.com/krmflow/krmflow/internal/command/graph"
	"github.com/krmflow/krmflow/internal/engine"
	"github.com/krmflow/krmflow/internal/planview"
	"github.com/krmflow/krmflow/internal/review/history"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/scheduler"
	"github.com/spf13/cobra"
)

// Command returns the explain command, which prints histories of resources and pages about
// messages.
func Command(a *cli.Invocation) *cobra.Command {
	var form string
	cmd := &cobra.Command{
		Use:   "explain [CODE...] | [DIR] KIND/NAME[:FIELD] | OUTPUT-FILE[:FIELD]",
		Short: "Show the origin of a resource or field, or a message",
		Long: `Print the history of a resource or one of its fields: each step that made or changed it, in order, with file and line, and the values before and
after. DIR is the directory to render, by default the working directory. Name the resource as in the output, or by an earlier name. KIND/NAMESPACE/NAME
and Ingress.networking.k8s.io distinguish resources with equal names and kinds. A field is a path such as spec.template.spec.containers[name=web].image
or metadata.labels.app.

A removed resource is explained up to the step that removed it, and a root that cannot be rendered up to the step that fails. Instead of a
directory and a resource, you can name a file that krmflow wrote to an output folder. Functions run as in build.

With codes, explain prints what the messages mean, why they happen and what to do, with an example. The first message of each kind ends with its
code, for example 'see krmflow explain KF0101'. Without arguments, explain lists all codes.`,
		Example: `  krmflow explain overlays/prod Deployment/web
  krmflow explain overlays/prod Deployment/web:spec.replicas
  krmflow explain out/prod/apps_v1_deployment_web.yaml:spec.replicas
  krmflow explain KF0101
  krmflow explain | grep patch`,
		Args: cobra.ArbitraryArgs,
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 1 && isDir(args[0]) {
				return resources(cmd, a, args[0]), cobra.ShellCompDirectiveNoFileComp
			}
			return messages.Codes(), cobra.ShellCompDirectiveDefault // and directories
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if form != "text" && form != "json" {
				return graphcmd.IllegalForm(cmd, form, "text", "json")
			}
			switch {
			case len(args) == 0:
				return a.Print(messages.List())
			case !slices.ContainsFunc(args, isSubject) && !(len(args) == 2 && isDir(args[0])):
				return explainCodes(a, args)
			case len(args) > 2:
				return options.UsageError(errors.New("explain takes a directory and a resource, or codes of messages"))
			}
			dir, what := ".", args[len(args)-1]
			if len(args) == 2 {
				dir = args[0]
			} else if root, subject, ok, err := InOutput(what); ok {
				if err != nil {
					return err
				}
				dir, what = root, subject
			}
			report, err := explained(cmd, a, dir, what)
			switch {
			case report == nil:
				return err
			case form == "json":
				e := json.NewEncoder(a.Stdout)
				e.SetIndent("", "  ")
				e.SetEscapeHTML(false)
				return errors.Join(e.Encode(report.JSON()), err, a.StrictError())
			}
			return errors.Join(report.WriteText(a.Stdout), err, a.StrictError())
		},
	}
	a.Flags.Register(cmd)
	a.Functions.Register(cmd)
	cmd.Flags().StringVarP(&form, "output", "o", "text", "output `format`: text or json")
	return cmd
}

// resources returns the names of the resources of a directory, for the completion of shells. It is
// empty if the directory needs functions or content that is not in the cache, because a completion
// must not run programs or wait for the network.
func resources(cmd *cobra.Command, a *cli.Invocation, dir string) (names []string) {
	a.Quiet = true
	if cmd.Flags().Set("offline", "true") != nil {
		return nil
	}
	run, err := a.Plan(cmd, engine.Request{Args: []string{dir}})
	if err != nil {
		return nil
	}
	for range run.Plan().Graph.Calls() {
		return nil
	}
	for r, err := range run.Results(cmd.Context(), engine.Hooks{}) {
		if err != nil {
			return nil
		}
		for _, x := range r.List.All() {
			names = append(names, nameOf(x.ID()))
		}
	}
	return names
}

func isDir(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// isSubject reports whether arg is a resource or a file, as opposed to the code of a message.
func isSubject(arg string) bool { return strings.ContainsAny(arg, "/:") }

// explained renders a root and returns the history of the given resource or field.
func explained(cmd *cobra.Command, a *cli.Invocation, dir, what string) (*Report, error) {
	run, err := a.Plan(cmd, engine.Request{Args: []string{dir}})
	if err != nil {
		return nil, err
	}
	plan := run.Plan()
	planview.HideSecrets(plan)
	var lists history.Recorder
	warnings, mu := Warnings{}, sync.Mutex{}
	hooks := engine.Hooks{
		KeepGoing: true, // so that the report does not depend on which step fails first
		Made: func(n *graph.Node, list *krm.List) {
			a.Used.Made.Add(history.Worth(list))
			lists.Made(n, list)
		},
		Warn: func(n *graph.Node, warning func() *diag.Error) {
			warning = sync.OnceValue(warning)
			a.Log.WarnNode(n, warning)
			mu.Lock()
			defer mu.Unlock()
			warnings[n.ID] = append(warnings[n.ID], warning())
		},
	}
	var ran error
	for _, err := range run.Results(cmd.Context(), hooks) {
		ran = errors.Join(ran, err)
	}
	failed := failedSteps(ran)
	if err := context.Cause(cmd.Context()); err != nil || ran != nil && len(failed) == 0 {
		return nil, errors.Join(ran, err)
	}
	if len(plan.Graph.Roots) != 1 {
		return nil, errors.Join(ran, fmt.Errorf("%s is no root", diag.Redact(dir)))
	}
	var report *Report
	h := lists.Of(plan.Graph, plan.Graph.Roots[0])
	if ran == nil {
		report, err = New(plan, h, dir, what, warnings)
	} else {
		report, err = NewPartial(plan, h, failed, dir, what, warnings)
	}
	if syntax := new(SyntaxError); errors.As(err, &syntax) {
		return nil, options.UsageError(err)
	}
	return report, errors.Join(ran, err)
}

// failedSteps returns the failed steps of the error of a run.
func failedSteps(err error) (failed []*graph.Node) {
	for e := range diag.Each(err) {
		var node *scheduler.NodeError
		if errors.As(e, &node) {
			failed = append(failed, node.Node)
		}
	}
	return failed
}

// explainCodes prints the pages of messages.
func explainCodes(a *cli.Invocation, codes []string) error {
	var pages []string
	var errs []error
	for _, code := range codes {
		if p := messages.Find(code); p != nil {
			pages = append(pages, p.String())
		} else {
			errs = append(errs, noSuchCode(code))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return a.Print(strings.Join(pages, "\n"))
}

func noSuchCode(code string) error {
	if !strings.HasPrefix(strings.ToUpper(code), "KF") {
		shown := diag.OneLine(code)
		e := diag.Errorf(diag.Pos{}, "", "%q is not the code of a message or the name of a resource", shown).With(diag.Arguments)
		return options.UsageError(e.Hint(
			"for a resource, write krmflow explain DIR KIND/NAME, for example krmflow explain overlays/prod %s/web", shown))
	}
	e := diag.Errorf(diag.Pos{}, "", "there is no message with the code %q", code).With(diag.Arguments)
	e.Hints = diag.DidYouMean(strings.ToUpper(code), messages.Codes())
	return options.UsageError(e.Hint("krmflow explain lists all codes"))
}
