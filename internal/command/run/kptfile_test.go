package run

import "testing"

// TestProgramIgnoresImageTag covers pipeline steps whose edits survive a new version of their image
// or program.
func TestProgramIgnoresImageTag(t *testing.T) {
	for image, want := range map[string]string{
		"ghcr.io/kptdev/set-labels:v0.1":    "ghcr.io/kptdev/set-labels",
		"host:5000/set-labels:v0.2@sha256:": "host:5000/set-labels:v0.2@sha256:", // the plan reports the error
		"host:5000/set-labels":              "host:5000/set-labels",
	} {
		if got := (step{Image: image}).program(); got != want {
			t.Errorf("%s: %s, want %s", image, got, want)
		}
	}
}
