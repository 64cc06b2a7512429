package program

import (
	"cmp"
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"

	"go.yaml.in/yaml/v3"
)

// release is the next release. Release builds set it to the version being released.
var release = "v0.1.0-dev"

// Version returns the version of krmflow. A build of the module has the module's version. A
// build of a working copy has the next release instead of git's description, so that the output
// of builds does not depend on the state of the working copy.
func Version() string { return versionOf(buildInfo()) }

func buildInfo() *debug.BuildInfo {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info
	}
	return &debug.BuildInfo{}
}

func versionOf(info *debug.BuildInfo) string {
	workingCopy := slices.ContainsFunc(info.Settings, func(s debug.BuildSetting) bool { return s.Key == "vcs" })
	if workingCopy || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return release
	}
	return info.Main.Version
}

// commit returns the commit that this program was built from and its time. Both are empty if
// they are unknown: a program installed with "go install" from a module proxy has the commit in
// its version.
func commit(info *debug.BuildInfo) (revision, time string) {
	setting := map[string]string{}
	for _, s := range info.Settings {
		setting[s.Key] = s.Value
	}
	revision, time = setting["vcs.revision"], setting["vcs.time"]
	if revision != "" && setting["vcs.modified"] == "true" {
		revision += ", with changes"
	}
	return revision, time
}

// A Provenance describes the origin of a program, in the fields of kustomize version -o json.
type Provenance struct {
	Version   string `json:"version" yaml:"version"`
	GitCommit string `json:"gitCommit" yaml:"gitCommit"`
	BuildDate string `json:"buildDate" yaml:"buildDate"`
	GoOS      string `json:"goOs" yaml:"goOs"`
	GoArch    string `json:"goArch" yaml:"goArch"`
	GoVersion string `json:"goVersion" yaml:"goVersion"`
	// The kustomize release with the same output.
	Kustomize string `json:"kustomize,omitempty" yaml:"kustomize,omitempty"`
	// The version of krmflow if Version is kustomize's.
	Krmflow string `json:"krmflow,omitempty" yaml:"krmflow,omitempty"`
}

// unknown is kustomize's value for missing provenance.
const unknown = "unknown"

// Provenance returns the origin of the program. Under the name kustomize, its version is the
// argument kustomize, the release with the same output, because programs that call kustomize
// check that version.
func (n Name) Provenance(kustomize string) Provenance {
	revision, time := commit(buildInfo())
	p := Provenance{Version: Version(), Kustomize: kustomize, GitCommit: cmp.Or(revision, unknown), BuildDate: cmp.Or(time, unknown),
		GoOS: runtime.GOOS, GoArch: runtime.GOARCH, GoVersion: runtime.Version()}
	if n.kustomize {
		p.Version, p.Kustomize, p.Krmflow = kustomize, "", p.Version
	}
	return p
}

// Short returns the output of version --short. Under the name kustomize it has the format of
// kustomize.
func (n Name) Short(p Provenance) string {
	if n.kustomize {
		return fmt.Sprintf("{%s  %s   }", p.Version, p.BuildDate)
	}
	return p.Version
}

// Text returns the output of version: only the version under the name kustomize, otherwise a
// description. trusts has a line for each catalog that is trusted because it is compiled in.
func (n Name) Text(p Provenance, trusts string) string {
	if n.kustomize {
		return p.Version + "\n"
	}
	built := ""
	if p.GitCommit != unknown {
		built = fmt.Sprintf("commit %s of %s\n", p.GitCommit, p.BuildDate)
	}
	return fmt.Sprintf("krmflow %s\n%srenders as kustomize %s\n%s%s %s/%s\n", p.Version, built, p.Kustomize, trusts, p.GoVersion, p.GoOS,
		p.GoArch)
}

// JSON returns p as JSON in the format of kustomize.
func (p Provenance) JSON() string {
	text, _ := json.MarshalIndent(p, "", "  ") // cannot fail for strings
	return string(text) + "\n"
}

// YAML returns p as YAML in the format of kustomize, with an empty line at the end.
func (p Provenance) YAML() string {
	text, _ := yaml.Marshal(p)
	return string(text) + "\n"
}
