// Package revision provides the files of a git commit as an [fs.FS]. It reads the objects of the
// repository: nothing is checked out or fetched, the work tree and the index do not change, and
// no hook, filter or other program configured in the repository runs.
//
// The git program does the reading. One call finds the commit, one lists its files, and one
// process returns the content of files on demand. If a file in the work tree has the content of
// the requested object according to the object id, it is read instead, which is faster.
package revision

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders/git"
)

// Prefix is the prefix of an argument that names a revision.
const Prefix = "git:"

// A Tree contains the files of a commit. Names follow [fs.FS] and are relative to the top of the
// repository. Symbolic links are followed within the tree. Opening a path in a submodule is an
// error. A Tree is safe for concurrent use.
type Tree struct {
	top, commit string
	rev         string
	wd          string // the working directory, "" if it does not exist
	root        *node
	listing     [sha256.Size]byte // see Listing
	shallow     bool

	ctx context.Context
	git *git.Git

	lacks atomic.Bool // an object could not be read

	mu      sync.Mutex // guards the fields below
	batch   *batch     // nil until the first file is read
	sizes   map[string]int64
	known   map[string]*yaml.Source // files that were already read, by object id; see Shares
	pending map[string][]byte       // content read but not requested yet, by object id
}

// Open returns the tree of the commit rev in the repository that contains dir. If dir does not
// exist, its deepest existing parent is used. The caller must close the tree. When ctx is done,
// reads fail.
func Open(ctx context.Context, dir, rev string) (*Tree, error) {
	t, err := resolved(ctx, dir, rev)
	if err != nil {
		return nil, err
	}
	t.root = &node{mode: fs.ModeDir}
	if err := t.list(); err != nil {
		return nil, err
	}
	return t, nil
}

// resolved returns the tree of the commit rev without its files.
func resolved(ctx context.Context, dir, rev string) (*Tree, error) {
	if err := check(rev); err != nil {
		return nil, err
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, diag.NotReadable.Errorf("the path is relative and the working directory does not exist")
	}
	start := existing(abs)
	g, err := newGit(start)
	if err != nil {
		return nil, err
	}
	t := &Tree{rev: rev, ctx: ctx, git: g, sizes: map[string]int64{}, known: map[string]*yaml.Source{}, pending: map[string][]byte{}}
	t.wd, _ = os.Getwd() // Name reports the error
	if err := t.find(start); err != nil {
		return nil, err
	}
	if t.commit == "" {
		if t.commit, err = t.resolve(); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// Check returns the error of [Open] for a revision that is not a commit in the repository that
// contains dir. It does not list the files of the commit.
func Check(ctx context.Context, dir, rev string) error {
	_, err := resolved(ctx, dir, rev)
	return err
}

// Names returns the branches and tags of the repository that contains the working directory, for
// the completion of shells. It is empty without a repository.
func Names(ctx context.Context) []string {
	cwd, err := os.Getwd()
	if err != nil {
		return nil
	}
	g, err := newGit(existing(cwd))
	if err != nil {
		return nil
	}
	out, err := g.Run(ctx, "for-each-ref", "--format=%(refname:short)", "refs/heads", "refs/tags", "refs/remotes")
	if err != nil {
		return nil
	}
	return append([]string{"HEAD"}, strings.Fields(string(out))...)
}

// check returns an error if rev cannot name a commit.
func check(rev string) error {
	bad := func(format string, args ...any) *diag.Error {
		return diag.Errorf(diag.Pos{}, "", format, args...).With(diag.NoRevision)
	}
	shown := diag.OneLine(rev)
	switch {
	case rev == "":
		return bad("%s needs a revision: a branch, a tag or a commit", Prefix).Hint("for example %sHEAD", Prefix)
	case rev[0] == '-':
		return bad("%q is not a revision: a revision must not begin with a dash", shown)
	case strings.Contains(rev, ".."):
		return bad("%q is a range, not one revision", shown).Hint("name only the older one")
	case strings.Contains(rev, ":"):
		return bad("%q names a path in a revision, not a revision",
			shown).Hint("name only the revision, and pass the directory as an argument")
	case strings.ContainsFunc(rev, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return bad("%q is not a revision: it contains control characters", shown)
	}
	return nil
}

// existing returns the deepest existing directory on a path, with symbolic links resolved.
func existing(path string) string {
	for {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			if info, err := os.Stat(real); err == nil && info.IsDir() {
				return real
			}
		}
		up := filepath.Dir(path)
		if up == path {
			return path
		}
		path = up
	}
}

// find finds the top of the repository that contains a directory. It also resolves the revision
// if git reports no warning such as an ambiguous name; otherwise resolve does this later. One
// call for both matters, because a call of git takes as long as rendering a small root.
func (t *Tree) find(start string) error {
	about := []string{"rev-parse", "--is-bare-repository", "--is-inside-git-dir", "--is-shallow-repository", "--show-prefix"}
	out, err := t.git.Run(t.ctx, append(about, t.rev+"^{commit}")...)
	if lines := strings.SplitAfter(string(out), "\n"); err == nil && t.git.Said == "" && len(lines) == 6 &&
		isID(strings.TrimSpace(lines[4])) {
		t.commit = strings.TrimSpace(lines[4])
		out = []byte(strings.Join(lines[:4], ""))
	} else if out, err = t.git.Run(t.ctx, about...); err != nil {
		return t.explain(err, start)
	}
	lines := strings.SplitN(string(out), "\n", 4)
	if len(lines) < 4 {
		return diag.NoRevision.Errorf("git did not describe the repository of %q", start)
	}
	if lines[0] != "true" && lines[1] == "true" {
		return diag.NoRevision.Errorf("%q is inside the .git directory: name a directory of the work tree", start)
	}
	t.shallow = lines[2] == "true"
	below := filepath.Clean("/" + strings.TrimSuffix(lines[3], "\n"))
	t.top = filepath.Clean(strings.TrimSuffix(start, strings.TrimSuffix(below, "/")))
	return nil
}

// explain replaces common errors of git by messages with a hint.
func (t *Tree) explain(err error, start string) error {
	var said *git.Error
	if !errors.As(err, &said) {
		return err
	}
	e := diag.Errorf(diag.Pos{}, "", "%s%s: %w", Prefix, diag.OneLine(t.rev), err).With(diag.NoRevision)
	switch {
	case strings.Contains(said.Text, "not a git repository"):
		e = diag.Errorf(diag.Pos{}, "", "%s%s: %q is not in a git repository", Prefix, diag.OneLine(t.rev), start).With(diag.NoRevision)
	case strings.Contains(said.Text, "dubious ownership"):
		e = diag.Errorf(diag.Pos{}, "", "%s%s: git does not trust the repository of %q, which belongs to a different user",
			Prefix, diag.OneLine(t.rev), start).With(diag.NoRevision)
		return e.Hint("if you trust it, run git config --global --add safe.directory with the path of the repository")
	}
	return e
}

// resolve returns the id of the commit that the revision names.
func (t *Tree) resolve() (string, error) {
	out, err := t.git.Run(t.ctx, "rev-parse", "--verify", t.rev+"^{commit}")
	id := strings.TrimSpace(string(out))
	shown := diag.OneLine(t.rev)
	var said *git.Error
	switch {
	case errors.As(err, &said) && strings.Contains(said.Text, "is ambiguous"):
		return "", diag.Errorf(diag.Pos{}, "", "%s%s: several objects have ids with this prefix",
			Prefix, shown).With(diag.NoRevision).Hint("write more digits of the commit")
	case errors.As(err, &said) && strings.Contains(said.Text, "expected commit type"):
		return "", diag.Errorf(diag.Pos{}, "", "%s%s is not a commit", Prefix, shown).With(diag.NoRevision)
	case errors.As(err, &said):
		return "", t.missing(shown)
	case err != nil:
		return "", err
	case strings.Contains(t.git.Said, "is ambiguous"):
		e := diag.Errorf(diag.Pos{}, "", "%s%s: the name is ambiguous: several refs have it, such as a branch and a tag",
			Prefix, shown).With(diag.NoRevision)
		return "", e.Hint("write refs/heads/%s or refs/tags/%s", shown, shown)
	case !isID(id):
		return "", diag.NoRevision.Errorf("%s%s: git returned %q, which is not a commit", Prefix, shown, diag.OneLine(id))
	}
	return id, nil
}

// isID reports whether text has the form of an object id.
func isID(text string) bool { return text != "" && strings.Trim(text, "0123456789abcdef") == "" }

// missing returns the error for a revision that does not exist.
func (t *Tree) missing(shown string) error {
	e := diag.Errorf(diag.Pos{}, "", "%s%s: the repository in %q has no such commit", Prefix, shown, t.top).With(diag.NoRevision)
	if t.shallow {
		return e.Hint(
			"this clone is shallow and lacks older commits: run git fetch --unshallow; in CI, fetch the whole history (fetch-depth: 0, GIT_DEPTH: 0)")
	}
	if _, err := t.git.Run(t.ctx, "rev-parse", "--verify", "HEAD^{commit}"); err != nil && t.ctx.Err() == nil {
		return e.Hint("it has no commits yet on this branch")
	}
	return e.Hint("name a remote branch with its remote: origin/main")
}

// maxFiles is the limit for the number of files in a commit.
const maxFiles = 2_000_000

// list reads the names of all files.
func (t *Tree) list() error {
	dirs := map[string]*node{".": t.root}
	n := 0
	sum := sha256.New()
	err := t.git.Stream(t.ctx, nil, func(r io.Reader) error {
		for in := bufio.NewReaderSize(io.TeeReader(r, sum), 64<<10); ; {
			line, err := in.ReadBytes(0)
			if err == io.EOF && len(line) == 0 {
				return nil
			} else if err != nil {
				return err
			}
			if n++; n > maxFiles {
				return diag.Limitf("the commit has more than %s", diag.Count(maxFiles, "file"))
			}
			head, name, _ := bytes.Cut(line[:len(line)-1], []byte("\t"))
			add(dirs, string(head), string(name))
		}
	}, "ls-tree", "-r", "-z", "--full-tree", t.commit)
	if err != nil {
		return t.explain(err, t.top)
	}
	sum.Sum(t.listing[:0])
	for _, d := range dirs {
		slices.SortFunc(d.children, func(a, b *node) int { return cmp.Compare(a.name, b.name) })
	}
	return nil
}

// Close ends the git process that reads objects. A later read starts a new one.
func (t *Tree) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.batch != nil {
		t.batch.close()
		t.batch = nil
	}
}

// Listing returns a digest of the names, modes and object ids of all files. Trees with the same
// Listing have the same content.
func (t *Tree) Listing() [sha256.Size]byte { return t.listing }

// Complete reports whether all objects that were needed so far could be read.
func (t *Tree) Complete() bool { return !t.lacks.Load() }

// Commit returns the id of the commit.
func (t *Tree) Commit() string { return t.commit }

// Top returns the local path of the top of the repository, with symbolic links resolved. Names in
// the tree are relative to it.
func (t *Tree) Top() string { return t.top }

// Shown returns the prefix for names of the tree in messages, for example git:REV: with a
// trailing colon.
func (t *Tree) Shown() string { return Prefix + diag.OneLine(t.rev) + ":" }

// Name returns the name in the tree for a local path. The file need not exist, neither locally
// nor in the tree. Symbolic links in the work tree are not resolved, because links of the tree
// apply instead. A path outside of the repository is an error.
func (t *Tree) Name(path string) (string, error) {
	abs := filepath.Join(t.wd, path) // not filepath.Abs, which looks up the working directory for each path
	if filepath.IsAbs(path) || t.wd == "" {
		var err error
		if abs, err = filepath.Abs(path); err != nil {
			return "", err
		}
	}
	if diag.Within(abs, t.top) {
		rel, err := filepath.Rel(t.top, abs)
		return filepath.ToSlash(rel), err
	}
	for up := abs; ; up = filepath.Dir(up) {
		if real, err := filepath.EvalSymlinks(up); err == nil && real == t.top {
			rel, err := filepath.Rel(up, abs)
			return filepath.ToSlash(rel), err
		}
		if up == filepath.Dir(up) {
			break
		}
	}
	start := existing(abs)
	if rest, ok := strings.CutPrefix(abs, start); ok && diag.Within(start, t.top) { // a missing path has no links
		abs = start + rest
	} else if real, err := filepath.EvalSymlinks(abs); err == nil {
		abs = real
	}
	if !diag.Within(abs, t.top) {
		return "", diag.Errorf(diag.Pos{}, "", "%q is outside of the repository in %q, so %s%s has no such directory", path, t.top, Prefix,
			diag.OneLine(t.rev)).With(diag.OutsideDirectory)
	}
	rel, err := filepath.Rel(t.top, abs)
	return filepath.ToSlash(rel), err
}

// absent returns the error for an object that is missing in this clone.
func (t *Tree) absent(id string) error {
	return fmt.Errorf("its content (%s) is not in this clone of the repository", id[:min(12, len(id))])
}

// A RemoteError reports remote content in a comparison with a revision, which does not record
// its former content.
type RemoteError struct {
	Arg  string
	Tree *Tree
}

func (e *RemoteError) Error() string {
	return diag.Redact(e.Arg) + " is remote, but " + strings.TrimSuffix(e.Tree.Shown(), ":") + " contains only the files of the repository"
}
