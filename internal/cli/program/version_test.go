package program

import (
	"runtime/debug"
	"testing"
)

// A working copy has the same version with and without -buildvcs. A module has the module's
// version.
func TestVersionIgnoresBuildVCS(t *testing.T) {
	vcs := []debug.BuildSetting{{Key: "-compiler", Value: "gc"}, {Key: "vcs", Value: "git"}, {Key: "vcs.modified", Value: "true"}}
	for _, tc := range []struct {
		main     string
		settings []debug.BuildSetting
		want     string
	}{
		{"(devel)", nil, release},
		{"", nil, release},
		{"v0.0.0-20261121024502-dd964c7d1a2b+dirty", vcs, release},
		{"v1.2.3", vcs[:1], "v1.2.3"},
	} {
		info := &debug.BuildInfo{Main: debug.Module{Version: tc.main}, Settings: tc.settings}
		if got := versionOf(info); got != tc.want {
			t.Errorf("%q with %v: version %q, want %q", tc.main, tc.settings, got, tc.want)
		}
	}
}

func TestCommitMarksModifiedTrees(t *testing.T) {
	known := []debug.BuildSetting{{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: "0123abcd"},
		{Key: "vcs.time", Value: "2026-01-02T03:04:05Z"}}
	for _, tc := range []struct {
		settings       []debug.BuildSetting
		revision, time string
	}{
		{nil, "", ""},
		{known, "0123abcd", "2026-01-02T03:04:05Z"},
		{append(known[:3:3], debug.BuildSetting{Key: "vcs.modified", Value: "true"}), "0123abcd, with changes", "2026-01-02T03:04:05Z"},
	} {
		if revision, time := commit(&debug.BuildInfo{Settings: tc.settings}); revision != tc.revision || time != tc.time {
			t.Errorf("%v: commit %q of %q, want %q of %q", tc.settings, revision, time, tc.revision, tc.time)
		}
	}
}

func TestCalledAs(t *testing.T) {
	for arg0, want := range map[string]Name{
		"krmflow":                   {},
		"/usr/bin/krmflow.exe":      {},
		"./anything":                {},
		"":                          {},
		"/usr/local/bin/kustomize":  {"kustomize", true},
		"kustomize.exe":             {"kustomize", true},
		"/custom-tools/kustomize-5": {"kustomize", true},
		"kustomize_v5.8.2":          {"kustomize", true},
		"kustomize5":                {"kustomize", true},
		"kustomize.v5.8.2":          {"kustomize", true},
		"KUSTOMIZE.EXE":             {"kustomize", true},
		"kustomizer":                {},
		"kubectl-krmflow":           {"kubectl krmflow", false},
	} {
		if got := CalledAs(arg0); got != want {
			t.Errorf("%q: %+v, want %+v", arg0, got, want)
		}
	}
}

func TestExitStatus(t *testing.T) {
	for code, want := range map[int]int{0: 0, 1: 1, 3: 1, 74: 1, 130: 130} {
		if got := CalledAs("kustomize").ExitStatus(code); got != want {
			t.Errorf("kustomize ends with %d for %d, want %d", got, code, want)
		}
		if got := CalledAs("krmflow").ExitStatus(code); got != code {
			t.Errorf("krmflow ends with %d for %d", got, code)
		}
	}
}
