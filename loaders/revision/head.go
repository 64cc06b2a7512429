package revision

import (
	"cmp"
	"context"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/krmflow/krmflow/diag"
)

// A Head describes the checked-out commit of a repository.
type Head struct {
	// Commit is its id and Time the time of the commit.
	Commit string
	Time   time.Time
	// Branch is the checked-out branch. Without one, it is the first tag of the commit, or "".
	Branch string
	// Remote is the address of the remote origin, or of the only remote. It is "" without one. It
	// may have credentials.
	Remote string
}

// HeadOf returns the checked-out commit of the repository that contains dir. It has the errors of
// [Open] for a directory that is in no repository, and for a repository without a commit.
func HeadOf(ctx context.Context, dir string) (h Head, err error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return h, diag.NotReadable.Errorf("the path is relative and the working directory does not exist")
	}
	t, err := resolved(ctx, abs, "HEAD")
	if err != nil {
		return h, err
	}
	h.Commit = t.commit
	// log and show could run programs that a repository configures, such as one for signatures.
	text, err := t.git.Run(ctx, "cat-file", "commit", h.Commit)
	if err != nil {
		return h, t.explain(err, t.top)
	}
	if h.Time, err = commitTime(string(text)); err != nil {
		return h, err
	}
	read := func(args ...string) string { // "" on error: the value is then unknown
		out, err := t.git.Run(ctx, args...)
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(out))
	}
	h.Branch = read("symbolic-ref", "--quiet", "--short", "HEAD")
	if h.Branch == "" {
		h.Branch, _, _ = strings.Cut(read("for-each-ref", "--points-at=HEAD", "--format=%(refname:short)", "refs/tags"), "\n")
	}
	h.Remote = remoteIn(read("config", "--get-regexp", `^remote\..*\.url$`))
	return h, ctx.Err()
}

// commitTime returns the time of a commit object.
func commitTime(object string) (time.Time, error) {
	head, _, _ := strings.Cut(object, "\n\n")
	for line := range strings.Lines(head) {
		if rest, ok := strings.CutPrefix(line, "committer "); ok {
			fields := strings.Fields(rest[strings.LastIndexByte(rest, '>')+1:])
			if len(fields) > 0 {
				if seconds, err := strconv.ParseInt(fields[0], 10, 64); err == nil {
					return time.Unix(seconds, 0).UTC(), nil
				}
			}
		}
	}
	return time.Time{}, diag.NoRevision.Errorf("the checked-out commit has no time")
}

// remoteIn returns the address of the remote origin, or of the only remote, in the output of git
// config.
func remoteIn(config string) string {
	origin, only, several := "", "", false
	for line := range strings.Lines(config) {
		key, url, _ := strings.Cut(strings.TrimSpace(line), " ")
		if key == "remote.origin.url" {
			origin = cmp.Or(origin, url)
		}
		several = several || only != ""
		only = url
	}
	if origin == "" && !several {
		return only
	}
	return origin
}
