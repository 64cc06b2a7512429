// Package revision gives the files of a commit as an [fs.FS], read from the objects of git as they are stored: nothing is checked out, work tree
// and index are not changed, nothing is fetched, and no hook, filter or other program that a repository names is started.
//
// The program git does the reading: one call finds the commit, one lists its files, and one process answers for the content of those that
// are asked for. A file of the work tree whose content has the digest by which git calls an object is read in the place of that.
package revision

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders/git"
)

// Prefix is what an argument begins with that names a revision.
const Prefix = "git:"

// A Tree has the files of a commit; names are those of [fs.FS], from the top of the repository. It follows symbolic links as far as they stay
// in the tree. A submodule has no files: to open something in it is an error. It is safe for concurrent use.
type Tree struct {
	top, commit string
	rev         string
	root        *node
	shallow     bool

	ctx context.Context
	git *git.Git

	mu      sync.Mutex // of all below
	batch   *batch     // nil before the first file is read
	sizes   map[string]int64
	known   map[string]*yaml.Source // files that somebody else has read: see Shares
	pending map[string][]byte       // content that is known and was not asked for yet, by the id of its object
}

// Open returns the tree of the commit that rev means in the repository that has the directory dir, which need not exist any more: what
// counts then is the directory that it was in. The caller closes the tree. When ctx has ended, nothing more can be read.
func Open(ctx context.Context, dir, rev string) (*Tree, error) {
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
	if err := t.find(start); err != nil {
		return nil, err
	}
	if t.commit == "" {
		if t.commit, err = t.resolve(); err != nil {
			return nil, err
		}
	}
	t.root = &node{mode: fs.ModeDir}
	if err := t.list(); err != nil {
		return nil, err
	}
	return t, nil
}

// check refuses what is the name of no commit.
func check(rev string) error {
	bad := func(format string, args ...any) *diag.Error {
		return diag.Errorf(diag.Pos{}, "", format, args...).With(diag.NoRevision)
	}
	shown := diag.OneLine(rev)
	switch {
	case rev == "":
		return bad("%s needs a revision: a branch, a tag or a commit", Prefix).Hint("for example %sHEAD", Prefix)
	case rev[0] == '-':
		return bad("%q is no revision: none begins with a dash", shown)
	case strings.Contains(rev, ".."):
		return bad("%q is a range, not one revision", shown).Hint("name the older one alone")
	case strings.Contains(rev, ":"):
		return bad("%q names something in a revision, not the revision", shown).Hint("name the revision alone, and the directory as an argument")
	case strings.ContainsFunc(rev, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return bad("%q is no revision: it has control characters", shown)
	}
	return nil
}

// existing returns the deepest directory that exists of those that a path leads through, without symbolic links.
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

// find finds the top of the repository that has a directory, and the commit that the revision means, if git is certain about it: to start git once
// more takes as long as to render a small root.
func (t *Tree) find(start string) error {
	about := []string{"rev-parse", "--is-bare-repository", "--is-inside-git-dir", "--is-shallow-repository", "--show-prefix"}
	out, err := t.git.Run(t.ctx, append(about, t.rev+"^{commit}")...)
	if lines := strings.SplitAfter(string(out), "\n"); err == nil && t.git.Said == "" && len(lines) == 6 && isID(strings.TrimSpace(lines[4])) {
		t.commit = strings.TrimSpace(lines[4])
		out = []byte(strings.Join(lines[:4], ""))
	} else if out, err = t.git.Run(t.ctx, about...); err != nil {
		return t.explain(err, start)
	}
	lines := strings.SplitN(string(out), "\n", 4)
	if len(lines) < 4 {
		return diag.NoRevision.Errorf("git says nothing about the repository of %q", start)
	}
	if lines[0] != "true" && lines[1] == "true" {
		return diag.NoRevision.Errorf("%q is in the folder that git keeps for itself: name a directory of the work tree", start)
	}
	t.shallow = lines[2] == "true"
	below := filepath.Clean("/" + strings.TrimSuffix(lines[3], "\n"))
	t.top = filepath.Clean(strings.TrimSuffix(start, strings.TrimSuffix(below, "/")))
	return nil
}

// explain says in the words of this package why git fails.
func (t *Tree) explain(err error, start string) error {
	var said *git.Error
	if !errors.As(err, &said) {
		return err
	}
	e := diag.Errorf(diag.Pos{}, "", "%s%s: %w", Prefix, diag.OneLine(t.rev), err).With(diag.NoRevision)
	switch {
	case strings.Contains(said.Text, "not a git repository"):
		e = diag.Errorf(diag.Pos{}, "", "%s%s: %q is in no repository of git", Prefix, diag.OneLine(t.rev), start).With(diag.NoRevision)
	case strings.Contains(said.Text, "dubious ownership"):
		e = diag.Errorf(diag.Pos{}, "", "%s%s: git does not trust the repository of %q, which belongs to somebody else", Prefix, diag.OneLine(t.rev), start).With(diag.NoRevision)
		return e.Hint("if you do: git config --global --add safe.directory, and the path of the repository")
	}
	return e
}

// resolve returns the commit that the revision means.
func (t *Tree) resolve() (string, error) {
	out, err := t.git.Run(t.ctx, "rev-parse", "--verify", t.rev+"^{commit}")
	id := strings.TrimSpace(string(out))
	shown := diag.OneLine(t.rev)
	var said *git.Error
	switch {
	case errors.As(err, &said) && strings.Contains(said.Text, "is ambiguous"):
		return "", diag.Errorf(diag.Pos{}, "", "%s%s: several objects have ids that begin so", Prefix, shown).With(diag.NoRevision).Hint("write more digits of the commit")
	case errors.As(err, &said) && strings.Contains(said.Text, "expected commit type"):
		return "", diag.Errorf(diag.Pos{}, "", "%s%s is no commit", Prefix, shown).With(diag.NoRevision)
	case errors.As(err, &said):
		return "", t.missing(shown)
	case err != nil:
		return "", err
	case strings.Contains(t.git.Said, "is ambiguous"):
		e := diag.Errorf(diag.Pos{}, "", "%s%s: a branch and a tag, or others, have this name", Prefix, shown).With(diag.NoRevision)
		return "", e.Hint("write refs/heads/%s or refs/tags/%s", shown, shown)
	case !isID(id):
		return "", diag.NoRevision.Errorf("%s%s: git answers %q, which is no commit", Prefix, shown, diag.OneLine(id))
	}
	return id, nil
}

// isID reports whether git prints ids of objects that look so.
func isID(text string) bool { return text != "" && strings.Trim(text, "0123456789abcdef") == "" }

// missing says that there is no such revision.
func (t *Tree) missing(shown string) error {
	e := diag.Errorf(diag.Pos{}, "", "%s%s: the repository in %q has no such commit", Prefix, shown, t.top).With(diag.NoRevision)
	if t.shallow {
		return e.Hint("this clone is shallow, it lacks older commits: git fetch --unshallow; in CI, let the checkout fetch all (fetch-depth: 0, GIT_DEPTH: 0)")
	}
	if _, err := t.git.Run(t.ctx, "rev-parse", "--verify", "HEAD^{commit}"); err != nil && t.ctx.Err() == nil {
		return e.Hint("it has no commits yet on this branch")
	}
	return e.Hint("branches of a server have its name in front: origin/main")
}

// maxFiles is how many files a commit may have.
const maxFiles = 2_000_000

// list reads the names of all files.
func (t *Tree) list() error {
	dirs := map[string]*node{".": t.root}
	n := 0
	err := t.git.Stream(t.ctx, nil, func(r io.Reader) error {
		for in := bufio.NewReaderSize(r, 64<<10); ; {
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
	for _, d := range dirs {
		slices.SortFunc(d.children, func(a, b *node) int { return cmp.Compare(a.name, b.name) })
	}
	return nil
}

// Close ends what reads the files.
func (t *Tree) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.batch != nil {
		t.batch.close()
		t.batch = nil
	}
}

// Commit returns the id of the commit.
func (t *Tree) Commit() string { return t.commit }

// Top returns the path of this machine that the names in the tree are relative to, without symbolic links.
func (t *Tree) Top() string { return t.top }

// Shown returns what messages put before a name in the tree: git:REV: and so on.
func (t *Tree) Shown() string { return Prefix + diag.OneLine(t.rev) + ":" }

// Name returns the name in the tree of a path of this machine: there may be no such file on either side. Symbolic links in the work tree
// are not followed: those of the tree count. What lies outside of the repository is an error.
func (t *Tree) Name(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
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
	if rest, ok := strings.CutPrefix(abs, start); ok && diag.Within(start, t.top) { // what is gone has no links
		abs = start + rest
	} else if real, err := filepath.EvalSymlinks(abs); err == nil {
		abs = real
	}
	if !diag.Within(abs, t.top) {
		return "", diag.Errorf(diag.Pos{}, "", "%q is outside of the repository in %q, so %s%s has no such directory", path, t.top, Prefix, diag.OneLine(t.rev)).With(diag.OutsideDirectory)
	}
	rel, err := filepath.Rel(t.top, abs)
	return filepath.ToSlash(rel), err
}

// absent says that an object is no part of this clone.
func (t *Tree) absent(id string) error {
	return fmt.Errorf("its content (%s) is not in this clone of the repository", id[:min(12, len(id))])
}
