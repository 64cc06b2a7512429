package main

import (
	"runtime/debug"
	"testing"
)

// The version of a working copy is the same with and without -buildvcs; that of a module is the module's.
func TestVersion(t *testing.T) {
	vcs := []debug.BuildSetting{{Key: "-compiler", Value: "gc"}, {Key: "vcs", Value: "git"}, {Key: "vcs.modified", Value: "true"}}
	for _, tc := range []struct {
		main     string
		settings []debug.BuildSetting
		want     string
	}{
		{"(devel)", nil, version},
		{"", nil, version},
		{"v0.0.0-20261121024502-dd964c7d1a2b+dirty", vcs, version},
		{"v1.2.3", vcs[:1], "v1.2.3"},
	} {
		info := &debug.BuildInfo{Main: debug.Module{Version: tc.main}, Settings: tc.settings}
		if got := versionOf(info); got != tc.want {
			t.Errorf("%q with %v: version %q, want %q", tc.main, tc.settings, got, tc.want)
		}
	}
}

func TestCommit(t *testing.T) {
	info := &debug.BuildInfo{}
	if got := commit(info); got != "" {
		t.Errorf("%q, want nothing: nobody knows", got)
	}
	info.Settings = []debug.BuildSetting{{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: "0123abcd"}, {Key: "vcs.time", Value: "2026-01-02T03:04:05Z"}}
	if got, want := commit(info), "commit 0123abcd of 2026-01-02T03:04:05Z\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	info.Settings = append(info.Settings, debug.BuildSetting{Key: "vcs.modified", Value: "true"})
	if got, want := commit(info), "commit 0123abcd of 2026-01-02T03:04:05Z, with changes\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
