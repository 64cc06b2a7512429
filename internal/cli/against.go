package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/krmflow/krmflow/loaders/revision"
)

// Against returns a value of --against with the prefix git: if it names a revision. On the command
// line the prefix is optional: a value is a path if it exists or has the form of a path, and
// otherwise a revision if the repository that contains dir has it. A value that is neither is
// returned unchanged, and reading it reports the error.
//
// An existing path takes precedence, so that a new branch cannot change the meaning of a command
// line. With the prefix, the value is always a revision.
func Against(ctx context.Context, dir, text string) string {
	if text == "" || strings.HasPrefix(text, revision.Prefix) || looksLikePath(text) {
		return text
	}
	if _, err := os.Lstat(text); err == nil || !revision.Exists(ctx, dir, text) {
		return text
	}
	return revision.Prefix + text
}

// looksLikePath reports whether text can only be a path: it is absolute, or begins or ends as a
// path of a directory.
func looksLikePath(text string) bool {
	slashed := filepath.ToSlash(text)
	return filepath.IsAbs(text) || strings.HasPrefix(slashed, "./") || strings.HasPrefix(slashed, "../") ||
		strings.HasSuffix(slashed, "/") || slashed == "." || slashed == ".."
}

// AgainstDir returns the directory in whose repository the revision of --against is looked up:
// the first argument, or the working directory.
func AgainstDir(args []string) string {
	if len(args) > 0 {
		return args[0]
	}
	return "."
}
