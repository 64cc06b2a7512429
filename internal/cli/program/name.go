// Package program has the version of this program and the name by which it was called, and
// everything that depends on that name.
package program

import (
	"cmp"
	"path/filepath"
	"strings"
)

// A Name is the name by which the program was called. Under the name kustomize, through a link
// or a copy, it replaces kustomize: it prints kustomize's version and returns its exit status.
// Under the name kubectl-krmflow it is a kubectl plugin. The zero Name is krmflow.
type Name struct {
	text      string
	kustomize bool
}

// CalledAs returns the name for arg0, the path or name with which the program was started.
func CalledAs(arg0 string) Name {
	base := strings.TrimSuffix(strings.ToLower(filepath.Base(arg0)), ".exe")
	// This includes kustomize5 and kustomize_v5.8.2, but not kustomizer.
	if version, ok := strings.CutPrefix(base, "kustomize"); ok && (version == "" || version[0] < 'a') {
		return Name{"kustomize", true}
	}
	if base == "kubectl-krmflow" {
		return Name{"kubectl krmflow", false}
	}
	return Name{}
}

// Arguments returns the arguments of the program. The functions specification and its images
// call the program config, so "config run wrap" is converted to wrap.
func Arguments(line []string) []string {
	base := strings.TrimSuffix(filepath.Base(line[0]), ".exe")
	if base == "config" && len(line) > 2 && line[1] == "run" && line[2] == "wrap" {
		return line[2:]
	}
	return line[1:]
}

// String returns the words with which a user calls the program.
func (n Name) String() string { return cmp.Or(n.text, "krmflow") }

// Kustomize reports whether the program replaces kustomize.
func (n Name) Kustomize() bool { return n.kustomize }

// ExitStatus returns the exit status for an exit code of krmflow. kustomize has a single status
// for all failures, but the status of a run that was ended by a signal is the same under any
// name.
func (n Name) ExitStatus(code int) int {
	if n.kustomize && 0 < code && code < 128 {
		return 1
	}
	return code
}

// Example replaces krmflow in the examples of a command with the words with which a user calls
// the program. words are the words of the command after the program name.
func (n Name) Example(lines, words string) string {
	return strings.ReplaceAll(lines, "krmflow"+words, n.String()+words)
}

// ExitHelp returns the help text for the exit status. codes is the text for krmflow's own
// codes.
func (n Name) ExitHelp(codes string) string {
	if n.kustomize {
		return "The exit status is 0 if all went well, and 1 otherwise."
	}
	return codes
}
