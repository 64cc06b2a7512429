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

// release is the release that the next one will be. A release build sets it.
var release = "v0.1.0-dev"

// Version returns the version of krmflow: that of the module if it was built as one, and the next release if it was built from a
// working copy, because what git knows of that must not show in what a build prints.
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

// commit returns the commit that this program was built from and its time, empty if nobody knows: what "go install" gets from a module
// proxy has it in its version.
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

// A Provenance says where a program comes from, in the fields of kustomize version -o json.
type Provenance struct {
	Version   string `json:"version" yaml:"version"`
	GitCommit string `json:"gitCommit" yaml:"gitCommit"`
	BuildDate string `json:"buildDate" yaml:"buildDate"`
	GoOS      string `json:"goOs" yaml:"goOs"`
	GoArch    string `json:"goArch" yaml:"goArch"`
	GoVersion string `json:"goVersion" yaml:"goVersion"`
	Kustomize string `json:"kustomize,omitempty" yaml:"kustomize,omitempty"` // the release whose output krmflow prints
	Krmflow   string `json:"krmflow,omitempty" yaml:"krmflow,omitempty"`     // the version of krmflow, when Version is kustomize's
}

// unknown is what kustomize writes when a program does not know where it comes from.
const unknown = "unknown"

// Provenance returns where the program comes from. Under kustomize's name the version is kustomize, the release of it whose output
// krmflow prints: that is what programs which call it look for.
func (n Name) Provenance(kustomize string) Provenance {
	revision, time := commit(buildInfo())
	p := Provenance{Version: Version(), Kustomize: kustomize, GitCommit: cmp.Or(revision, unknown), BuildDate: cmp.Or(time, unknown),
		GoOS: runtime.GOOS, GoArch: runtime.GOARCH, GoVersion: runtime.Version()}
	if n.kustomize {
		p.Version, p.Kustomize, p.Krmflow = kustomize, "", p.Version
	}
	return p
}

// Short returns what version --short prints: the version, in the form that kustomize gives it under its name.
func (n Name) Short(p Provenance) string {
	if n.kustomize {
		return fmt.Sprintf("{%s  %s   }", p.Version, p.BuildDate)
	}
	return p.Version
}

// Text returns what version prints: the version alone under kustomize's name, and for people otherwise. trusts has a line for all that
// the program trusts because it was compiled in.
func (n Name) Text(p Provenance, trusts string) string {
	if n.kustomize {
		return p.Version + "\n"
	}
	built := ""
	if p.GitCommit != unknown {
		built = fmt.Sprintf("commit %s of %s\n", p.GitCommit, p.BuildDate)
	}
	return fmt.Sprintf("krmflow %s\n%srenders as kustomize %s\n%s%s %s/%s\n", p.Version, built, p.Kustomize, trusts, p.GoVersion, p.GoOS, p.GoArch)
}

// JSON returns p as JSON, as kustomize writes it.
func (p Provenance) JSON() string {
	text, _ := json.MarshalIndent(p, "", "  ") // strings always can be
	return string(text) + "\n"
}

// YAML returns p as YAML, as kustomize writes it: with an empty line at its end.
func (p Provenance) YAML() string {
	text, _ := yaml.Marshal(p)
	return string(text) + "\n"
}
