package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/loaders/revision"
)

// Against returns a value of --against with the prefix git: if it names a revision. On the command
// line the prefix is optional: a value is a path if it exists or has the form of a path, and
// otherwise a revision of the repository that contains dir. A value that is neither is an error,
// whose hints say why it is not a revision. A misspelled revision must not be taken for a path: a
// folder that does not exist is as good as an empty one to some commands.
//
// An existing path takes precedence, so that a new branch cannot change the meaning of a command
// line. With the prefix, the value is always a revision.
func Against(ctx context.Context, dir, text string) (string, error) {
	if text == "" || strings.HasPrefix(text, revision.Prefix) || looksLikePath(text) {
		return text, nil
	}
	if _, err := os.Lstat(text); err == nil {
		return text, nil
	}
	err := revision.Check(ctx, dir, text)
	if err == nil {
		return revision.Prefix + text, nil
	}
	if ctx.Err() != nil {
		return "", err
	}
	e := diag.Errorf(diag.Pos{}, "", "--against: %q is not a file, a directory or a revision", diag.Redact(text)).With(diag.NoSuchFile)
	if cause := diag.AsError(err); diag.Redact(text) == text {
		e.Hints = append(append(e.Hints, cause.Msg), cause.Hints...)
	}
	return "", e
}

// NewFolder adds to an error of [Against] how to name a folder that does not exist yet.
func NewFolder(err error, text string) error {
	if diag.CodeOf(err) != diag.NoSuchFile {
		return err
	}
	return diag.AsError(err).Hint("to name a folder that does not exist yet, write %s with a slash at its end", diag.ShellWord(diag.Redact(text)))
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
