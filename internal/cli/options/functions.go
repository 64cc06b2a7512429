// Package options has the flags for trust and functions, and converts them to options of the
// planner.
package options

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/executors"
	"github.com/krmflow/krmflow/internal/cli/settings"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/planner"
	"github.com/krmflow/krmflow/trust"
	"github.com/spf13/cobra"
)

// Functions control which functions may run, and how.
type Functions struct {
	Trusted                              Catalogs
	alphaPlugins, enableExec             bool
	network, asCurrentUser               bool
	networkName                          string
	mounts, env, grants                  []string
	strictTrust, unverified, unsandboxed bool
	dev                                  []string
	checksums                            bool
	preferExec                           bool
	AllowErrorResults                    bool
	timeout                              time.Duration
	memory, output                       Size
	procs                                int
	Runtime, listVersion                 string
	executors                            []string
	// Parsed from executors.
	ThirdParty map[function.Runtime]ThirdParty
	helm       *executors.Held
}

// Register adds the flags to a command.
func (f *Functions) Register(cmd *cobra.Command) {
	fs := cmd.Flags()
	f.Trusted.Register(cmd)
	fs.BoolVar(&f.alphaPlugins, "enable-alpha-plugins", false, "allow functions that are not in a trusted catalog")
	fs.BoolVar(&f.enableExec, "enable-exec", false, "with --enable-alpha-plugins, also allow programs")
	fs.BoolVar(&f.network, "network", false, "give the network to uncatalogued functions that declare it")
	fs.StringVar(&f.networkName, "network-name", trust.DefaultNetwork, "`network` for containers that may use one")
	fs.Var((*Repeated)(&f.mounts), "mount", "`mount` for uncatalogued containers: type=bind,src=DIR,dst=DIR[,rw=true]")
	fs.VarP((*Repeated)(&f.env), "env", "e", "environment `variable` for uncatalogued functions: NAME or NAME=VALUE")
	fs.Var((*Repeated)(&f.grants), "grant", "give a catalog `FUNCTION=NAME,...` a variable, tree or network that it requires")
	fs.BoolVar(&f.asCurrentUser, "as-current-user", false, "run containers with your own user and group IDs")
	fs.BoolVar(&f.strictTrust, "strict-trust", false, "turn warnings about trust into denials")
	fs.BoolVar(&f.checksums, "require-catalog-checksums", false, "deny remote catalogs without a checksum or commit")
	fs.BoolVar(&f.unverified, "allow-unverified", false, "allow catalog entries without a digest")
	fs.Var((*Repeated)(&f.dev), "dev", "accept changed programs in the `DIR` of a function that you edit; not in CI")
	fs.BoolVar(&f.unsandboxed, "allow-unsandboxed", false, "run programs without a sandbox")
	fs.BoolVar(&f.AllowErrorResults, "allow-error-results", false, "accept error results of functions that exit 0")
	fs.BoolVar(&f.preferExec, "prefer-exec", false, "prefer programs to containers for catalog entries with both")
	fs.StringVar(&f.Runtime, "container-runtime", "", "`engine` that runs containers: podman, docker or a path (default: from PATH)")
	RegisterExecutors(cmd, f)
	fs.StringVar(&f.listVersion, "resource-list-version", "v1", "ResourceList `version` for functions: v1, v1beta1 or v1alpha1")
	fs.DurationVar(&f.timeout, "fn-timeout", 5*time.Minute, "timeout of one function call")
	f.memory, f.output = 2<<30, 256<<20
	fs.Var(&f.memory, "fn-memory", "memory limit of one function call")
	fs.Var(&f.output, "max-fn-output", "output limit of one function call")
	fs.IntVar(&f.procs, "fn-max-procs", 256, "process limit of one function call")
}

// Planner converts the flags to options of the planner.
func (f *Functions) Planner() (planner.Functions, error) {
	version, ok := map[string]string{"v1": "", "v1beta1": function.ResourceListV1beta1,
		"v1alpha1": function.ResourceListV1alpha1}[f.listVersion]
	if !ok {
		return planner.Functions{},
			UsageError(diag.FlagValue.Errorf("illegal value --resource-list-version %s; legal values: v1, v1beta1, v1alpha1",
				f.listVersion))
	}
	for _, l := range []struct {
		flag string
		ok   bool
	}{
		{"fn-timeout", f.timeout > 0}, {"fn-memory", f.memory > 0}, {"max-fn-output", f.output > 0}, {"fn-max-procs", f.procs > 0},
	} {
		if !l.ok {
			return planner.Functions{}, UsageError(fmt.Errorf("--%s must be more than 0", l.flag))
		}
	}
	sources, config, err := f.TrustedCatalogs()
	if err != nil {
		return planner.Functions{}, err
	}
	policy := trust.Policy{
		AllowUncatalogued: f.alphaPlugins, AllowExec: f.enableExec, Network: f.network, NetworkName: f.networkName,
		AsCurrentUser: f.asCurrentUser, AllowUnverified: f.unverified, AllowUnsandboxed: f.unsandboxed, Strict: f.strictTrust,
		RequireChecksums: f.checksums,
		Limits:           function.Limits{Timeout: f.timeout, Memory: int64(f.memory), Output: int64(f.output), Procs: f.procs},
	}
	if policy.Dev, err = f.developed(); err != nil {
		return planner.Functions{}, err
	}
	if f.preferExec {
		policy.Prefer = function.RuntimeExec
	}
	if err := f.ParseExecutors(); err != nil {
		return planner.Functions{}, err
	}
	policy.Executors = map[function.Runtime]trust.Executor{}
	for r, p := range f.ThirdParty {
		policy.Executors[r] = trust.Executor{Name: p.Path + " " + p.Digest.String(), Digest: p.Digest, Cached: p.Cached}
	}
	for _, text := range f.mounts {
		m, err := mount(text)
		if err != nil {
			return planner.Functions{}, UsageError(err)
		}
		policy.Mounts = append(policy.Mounts, m)
	}
	policy.Granted, policy.GrantsErr = config.Grants, config.Err
	policy.Variable, policy.Absolute = os.LookupEnv, absolute
	policy.Home, _ = os.UserHomeDir()
	for _, text := range f.grants {
		g, err := trust.ParseGrant(text)
		if err != nil {
			return planner.Functions{}, UsageError(fmt.Errorf("%s %w", trust.FlagGrant, err))
		}
		policy.Granted = append(policy.Granted, g)
	}
	for _, text := range f.env {
		if text == "" || text[0] == '=' {
			return planner.Functions{}, UsageError(errors.New("--env: the name is missing; expected NAME or NAME=VALUE"))
		}
		if !strings.Contains(text, "=") {
			text += "=" + os.Getenv(text)
		}
		policy.Env = append(policy.Env, text)
	}
	return planner.Functions{Trusted: sources, Publishers: config.Publishers, Policy: policy, PluginHome: PluginHome(),
		ListVersion: version}, nil
}

// absolute returns the absolute form of a path, relative to the working directory.
func absolute(path string) string {
	if full, err := filepath.Abs(path); err == nil {
		return full
	}
	return path
}

// developed returns the directories of --dev. In CI, where nobody edits a function, there are none.
func (f *Functions) developed() (dirs []trust.Developed, err error) {
	if len(f.dev) > 0 && settings.Locked() {
		return nil, ErrLocked()
	}
	for _, name := range f.dev {
		real, err := filepath.EvalSymlinks(name)
		if err == nil {
			real, err = filepath.Abs(real)
		}
		if err != nil {
			return nil, UsageError(diag.NoSuchFile.Errorf("%s %s: %w", trust.FlagDev, diag.OneLine(name), cmp.Or(errors.Unwrap(err), err)))
		}
		if info, err := os.Stat(real); err != nil || !info.IsDir() {
			return nil, UsageError(diag.BadValue.Errorf("%s %s is not a directory", trust.FlagDev, diag.OneLine(name)))
		}
		dirs = append(dirs, trust.Developed{Dir: real, Name: name})
	}
	if inCI() {
		return nil, nil
	}
	return dirs, nil
}

// inCI reports whether the variable CI is set, to a value other than false.
func inCI() bool {
	value := os.Getenv("CI")
	on, err := strconv.ParseBool(value)
	return value != "" && (on || err != nil)
}

// PluginHome returns the folder in which kustomize looks for legacy plugins.
func PluginHome() string {
	config := cmp.Or(os.Getenv("XDG_CONFIG_HOME"), filepath.Join(os.Getenv("HOME"), ".config"))
	return cmp.Or(os.Getenv("KUSTOMIZE_PLUGIN_HOME"), filepath.Join(config, "kustomize", "plugin"))
}

// mount parses a value of --mount. A relative source of a bind mount is relative to the working
// directory.
func mount(text string) (function.Mount, error) {
	m, err := function.ParseMount(text)
	if err == nil && m.Type == "bind" {
		m.Source, err = filepath.Abs(m.Source)
	}
	if err != nil {
		return m, fmt.Errorf("--mount %s: %w", text, err)
	}
	return m, nil
}

// Repeated is the value of a flag that may be repeated. pflag's own type encodes each default
// as CSV, and the buffer for that takes more time at startup than all other flags together.
type Repeated []string

// Set adds a value.
func (r *Repeated) Set(text string) error {
	*r = append(*r, text)
	return nil
}

// GetSlice returns the values.
func (r *Repeated) GetSlice() []string { return *r }

// String returns all values.
func (r *Repeated) String() string { return strings.Join(*r, " ") }

// Type returns the name of the value in help.
func (r *Repeated) Type() string { return "stringArray" }
