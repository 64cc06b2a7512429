package inputs

import (
	"path/filepath"
	"slices"

	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/engine"
)

// Planned returns the inputs of the planned roots of a run with [engine.Request.Observe].
func Planned(a *cli.Invocation, run *engine.Run) []Root {
	return Of(run.Plan(), run.Scope().Dirs, SettingOf(a, run))
}

// SettingOf returns the setting for the plan of a run.
func SettingOf(a *cli.Invocation, run *engine.Run) Setting {
	o := run.Scope()
	s := Setting{Cwd: RealDir(o.Plan.Cwd), Functions: o.Plan.Functions, LockFile: a.LockFile, Vendor: cli.VendorName}
	if sources := o.Sources; sources != nil && sources.Vendor != "" {
		s.Vendor = sources.Vendor
	}
	return s
}

// NamingOf returns the form of paths that messages use: absolute if all dirs are absolute, and
// otherwise relative to the working directory cwd.
func NamingOf(cwd string, dirs []string) Naming {
	if len(dirs) > 0 && !slices.ContainsFunc(dirs, func(dir string) bool { return !filepath.IsAbs(dir) }) {
		return Naming{}
	}
	return Naming{RealDir(cwd)}
}

// RealDir returns a directory with symbolic links resolved, or dir itself if that fails.
func RealDir(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return dir
}
