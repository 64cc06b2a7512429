package cli

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/gitops/search"
	"github.com/krmflow/krmflow/internal/cli/findings"
	"github.com/krmflow/krmflow/internal/cli/options"
	"github.com/krmflow/krmflow/internal/engine/limits"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/planner/helm"
	"github.com/krmflow/krmflow/scheduler"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Flags are the flags of every command that plans or renders. Where kustomize has the same
// flag, the name and the meaning are the same.
type Flags struct {
	loadRestrictor string
	reorder        string
	managedBy      bool
	// Strict turns warnings into errors.
	Strict bool
	// Jobs is the maximum number of nodes that run at the same time.
	Jobs int
	jobs *pflag.Flag
	// Quiet suppresses progress and warnings.
	Quiet    bool
	maxInput options.Size
	maxCPU   time.Duration
	// memory is the memory limit of the run in bytes, 0 if the user set none.
	memory options.Size
	SourceFlags
	RemoteCacheFlags
	logLevel string
	// levels, baseline and writeBaseline choose the findings to report: see rules.
	levels        []string
	baseline      string
	writeBaseline bool
	rules         *findings.Rules // nil before Validate
	// LogFormat is text or json.
	LogFormat string

	reports []string // values of --report

	cacheSecrets bool
	gitops       search.Options

	enableHelm bool
	// Helm has the options for rendering charts.
	Helm helm.Options
}

// RegisterReading adds the flags that control input and messages to a command.
func (f *Flags) RegisterReading(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.loadRestrictor, "load-restrictor", "LoadRestrictionsRootOnly",
		"`rule`: LoadRestrictionsNone lets layers read files anywhere")
	f.maxInput = 1 << 30
	fs.Var(&f.maxInput, "max-input", "maximum size of all files that a run reads")
	fs.DurationVar(&f.maxCPU, "max-cpu", limits.DefaultCPU, "processor time limit of the run, 0 for none; grows with large inputs")
	f.SourceFlags.registerLayers(cmd)
	fs.BoolVar(&f.Strict, "strict", false, "treat warnings as errors")
	fs.BoolVarP(&f.Quiet, "quiet", "q", false, "print neither progress nor warnings")
	fs.StringArrayVar(&f.levels, "level", nil, "`CODE=LEVEL` of findings: error, warning, info or off; repeatable")
	fs.StringVar(&f.baseline, "baseline", "", "do not report the findings in this `file`")
	fs.BoolVar(&f.writeBaseline, "write-baseline", false, "write all findings to the file of --baseline")
	fs.StringVar(&f.logLevel, "log-level", "", "minimum log `level`: debug, info, warn or error (default warn; json: info)")
	fs.StringVar(&f.LogFormat, "log-format", "text", "log `format` on stderr: text or json")
}

// Register adds all flags to a command.
func (f *Flags) Register(cmd *cobra.Command) {
	f.RegisterReading(cmd)
	f.RemoteCacheFlags.Register(cmd)
	fs := cmd.Flags()
	fs.StringVar(&f.reorder, "reorder", "legacy", "output `order`: legacy or none; sortOptions in a file takes precedence")
	fs.BoolVar(&f.managedBy, "enable-managedby-label", false, "label every resource with app.kubernetes.io/managed-by")
	fs.IntVarP(&f.Jobs, "jobs", "j", runtime.GOMAXPROCS(0), "number of steps to run in parallel (default: CPUs, and 8 functions)")
	f.jobs = fs.Lookup("jobs")
	f.jobs.DefValue = "0" // keeps the help independent of the machine
	fs.Var(&f.memory, "memory-limit", "memory limit of the run, such as 2GiB; functions have --fn-memory")

	fs.BoolVar(&f.cacheSecrets, "cache-secrets", false, "also cache results of functions that read or produce Secrets")
	fs.BoolVar(&f.enableHelm, "enable-helm", false, "render charts with your helm program")
	fs.StringVar(&f.Helm.Command, "helm-command", "helm", "helm `program`: a name on PATH, or a path")
	fs.Var((*options.Repeated)(&f.Helm.APIVersions), "helm-api-versions",
		"API `version` for charts that do not set apiVersions; may be repeated")
	fs.StringVar(&f.Helm.KubeVersion, "helm-kube-version", "", "Kubernetes `version` for charts that do not set kubeVersion")
	fs.Var(&sourceDirs{&f.gitops.Sources}, "source", "directory of a repository that GitOps objects name: `URL=DIR`; repeatable")
	fs.Var((*tracking)(&f.gitops.Tracking), "tracking", "mark resources of GitOps objects: `METHOD` annotation, label or annotation+label")
	fs.StringVar(&f.gitops.Clusters, "clusters", "", "`FILE` with the clusters of ApplicationSets")
	fs.BoolVar(&f.Helm.Debug, "helm-debug", false, "print helm's debug output for charts that fail")
}

// Calls returns the number of functions that may run at the same time: the value of --jobs if
// it is set, otherwise at least [scheduler.DefaultCalls].
func (f *Flags) Calls() int {
	if f.jobs != nil && f.jobs.Changed {
		return f.Jobs
	}
	return max(f.Jobs, scheduler.DefaultCalls)
}

// Validate checks constraints on values that the flag parser does not check.
func (f *Flags) Validate() error {
	for _, c := range []struct {
		name, value string
		legal       []string
	}{
		{"load-restrictor", f.loadRestrictor, []string{"LoadRestrictionsRootOnly", "LoadRestrictionsNone"}},
		{"reorder", f.reorder, []string{"legacy", "none"}},
		{"log-level", f.logLevel, []string{"debug", "info", "warn", "error"}},
		{"log-format", f.LogFormat, []string{"text", "json"}},
	} {
		if c.value != "" && !slices.Contains(c.legal, c.value) {
			return options.UsageError(diag.FlagValue.Errorf("illegal value --%s %s; legal values: %s", c.name,
				c.value, strings.Join(c.legal, ", ")))
		}
	}
	if f.maxInput < 1 {
		return options.UsageError(fmt.Errorf("--max-input must be more than 0"))
	}
	if f.maxCPU < 0 {
		return options.UsageError(fmt.Errorf("--max-cpu must not be negative; 0 is no limit"))
	}
	if f.Jobs < 1 {
		return options.UsageError(fmt.Errorf("--jobs must be at least 1"))
	}
	if f.memory != 0 && f.memory < leastMemory {
		return options.UsageError(fmt.Errorf("--memory-limit must be at least %s", diag.Size(leastMemory)))
	}
	return cmp.Or(f.SourceFlags.Validate(), f.RemoteCacheFlags.Validate(), f.chooseFindings())
}

// Levels returns the levels of findings that differ from the defaults: see
// [diag.Code.DefaultLevel]. It must be called after Validate.
func (f *Flags) Levels() map[diag.Code]diag.Level {
	if f.rules == nil {
		return nil
	}
	return f.rules.Levels
}

// Reported returns the warnings in list that are reported, once for each place where this is
// enough.
func (f *Flags) Reported(list []planner.Warning) (reported []planner.Warning) {
	told := map[string]bool{}
	for _, w := range list {
		place := string(w.Code) + " " + w.Pos.String() + " " + w.Field
		if f.rules != nil && !f.rules.Wants(w.Message()) || w.Code.ByPlace() && told[place] {
			continue
		}
		told[place] = true
		reported = append(reported, w)
	}
	return reported
}

// Findings returns a text that is equal for runs that report the same findings.
func (f *Flags) Findings() string { return f.rules.String() }

// chooseFindings sets the rules that decide which findings are reported.
func (f *Flags) chooseFindings() (err error) {
	rules := new(findings.Rules)
	if rules.Levels, err = findings.ParseLevels(f.levels); err != nil {
		return options.UsageError(err)
	}
	switch {
	case f.writeBaseline && f.baseline == "":
		return options.UsageError(diag.FlagValue.Errorf("--write-baseline needs --baseline, which names the file"))
	case f.baseline != "" && !f.writeBaseline:
		if rules.Known, err = findings.ReadBaseline(f.baseline); err != nil {
			return err
		}
	}
	f.rules = rules
	return nil
}

// leastMemory is the smallest valid memory limit, slightly more than an idle run needs.
const leastMemory = 16 << 20

// MaxInput returns the maximum size in bytes of the files that a run may read.
func (f *Flags) MaxInput() int64 { return int64(f.maxInput) }
