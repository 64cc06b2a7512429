// Package program knows what this program is: its version, and the name that it was called by, with all that depends on that name.
package program

import (
	"cmp"
	"path/filepath"
	"strings"
)

// A Name is what the program was called by. A link to krmflow or a copy of it that is called kustomize takes kustomize's place: it says
// kustomize's version and ends with its exit status. One that is called kubectl-krmflow is a plugin of kubectl. The zero Name is krmflow.
type Name struct {
	text      string
	kustomize bool
}

// CalledAs returns the name for arg0, the path or name that the program was started with.
func CalledAs(arg0 string) Name {
	base := strings.TrimSuffix(strings.ToLower(filepath.Base(arg0)), ".exe")
	if version, ok := strings.CutPrefix(base, "kustomize"); ok && (version == "" || version[0] < 'a') { // kustomize5, kustomize_v5.8.2, but not kustomizer
		return Name{"kustomize", true}
	}
	if base == "kubectl-krmflow" {
		return Name{"kubectl krmflow", false}
	}
	return Name{}
}

// Arguments returns the command line of the program behind its name. The functions spec and its images call it config: "config run wrap" is wrap.
func Arguments(line []string) []string {
	base := strings.TrimSuffix(filepath.Base(line[0]), ".exe")
	if base == "config" && len(line) > 2 && line[1] == "run" && line[2] == "wrap" {
		return line[2:]
	}
	return line[1:]
}

// String returns the words with which a user calls the program.
func (n Name) String() string { return cmp.Or(n.text, "krmflow") }

// Kustomize reports whether the program stands in for kustomize.
func (n Name) Kustomize() bool { return n.kustomize }

// ExitStatus returns the exit status for the exit code of krmflow: kustomize has one for all failures. A run that a signal ended says so
// under any name.
func (n Name) ExitStatus(code int) int {
	if n.kustomize && 0 < code && code < 128 {
		return 1
	}
	return code
}

// Example returns examples of a command with the words with which a user calls the program; words are those of the command behind its
// name.
func (n Name) Example(lines, words string) string {
	return strings.ReplaceAll(lines, "krmflow"+words, n.String()+words)
}

// ExitHelp returns what help says of the exit status; codes is what it says of krmflow's.
func (n Name) ExitHelp(codes string) string {
	if n.kustomize {
		return "The exit status is 0 if all went well, and 1 otherwise."
	}
	return codes
}
