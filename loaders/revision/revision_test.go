package revision

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/krmflow/krmflow/krm/yaml"
)

// gitIn runs git in a directory, as a user would.
func gitIn(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b",
		"GIT_COMMITTER_NAME=a",
		"GIT_COMMITTER_EMAIL=a@b", "GIT_ALLOW_PROTOCOL=file")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// put writes files. Content that starts with "-> " makes a symlink.
func put(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if target, ok := strings.CutPrefix(text, "-> "); ok {
			err = os.Symlink(target, path)
		} else {
			err = os.WriteFile(path, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// repository returns a repository with one commit.
func repository(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	gitIn(t, dir, "init", "-q", "-b", "main")
	put(t, dir, files)
	gitIn(t, dir, "add", "-A")
	gitIn(t, dir, "commit", "-qm", "one")
	return dir
}

func open(t *testing.T, dir, rev string) *Tree {
	t.Helper()
	tree, err := Open(t.Context(), dir, rev)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tree.Close)
	return tree
}

var someFiles = map[string]string{
	"a.yaml": "a", "dir/b.yaml": "b\n", "dir/sub/c.yaml": "", "dir.yaml": "d", "with space/ü.yaml": "u", "link": "-> dir/b.yaml",
	"dirlink": "-> dir",
	"dir/up":  "-> ../a.yaml", "same": "a",
}

func TestTreeReadsCommittedFiles(t *testing.T) {
	repo := repository(t, someFiles)
	tree := open(t, repo, "HEAD")
	if err := fstest.TestFS(tree, "a.yaml", "dir/b.yaml", "dir/sub/c.yaml", "with space/ü.yaml", "link"); err != nil {
		t.Error(err)
	}
	for name, want := range map[string]string{"a.yaml": "a", "link": "b\n", "dirlink/b.yaml": "b\n", "dirlink/up": "a",
		"dir/sub/c.yaml": "", "same": "a"} {
		for range 2 { // reading twice works
			if data, err := fs.ReadFile(tree, name); err != nil || string(data) != want {
				t.Errorf("%s: %q, %v", name, data, err)
			}
		}
	}
	of := func(text string) *yaml.Source { return &yaml.Source{Data: []byte(text)} }
	if tree.Source("a.yaml") != nil {
		t.Error("there is a file that nobody has read")
	}
	if !tree.Shares("a.yaml", of("a")) || !tree.Shares("link", of("b\n")) || tree.Shares("a.yaml", of("b")) || tree.Shares("dir", of("")) ||
		tree.Shares("none", of("")) {
		t.Error("what has the tree?")
	}
	if src := tree.Source("same"); src == nil || string(src.Data) != "a" || tree.Source("dir") != nil || tree.Source("none") != nil ||
		tree.Source("dir/sub/c.yaml") != nil {
		t.Errorf("%+v", src)
	}
	if data, err := fs.ReadFile(tree, "same"); err != nil || string(data) != "a" {
		t.Errorf("%q, %v", data, err)
	}
	for _, name := range []string{"b.yaml", "dir/x", "a.yaml/x"} {
		if _, err := fs.Stat(tree, name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if target, err := tree.ReadLink("link"); target != "dir/b.yaml" || err != nil {
		t.Errorf("%q, %v", target, err)
	}
	if info, err := tree.Lstat("link"); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("%v, %v", info, err)
	}
	if tree.Shown() != "git:HEAD:" || tree.Top() != repo || tree.Commit() != gitIn(t, repo, "rev-parse", "HEAD") {
		t.Errorf("%q %q %q", tree.Shown(), tree.Top(), tree.Commit())
	}
}

// The tree is the tree of the commit. The work tree and the index are ignored and not touched.
func TestNotTheWorkTree(t *testing.T) {
	repo := repository(t, map[string]string{"a.yaml": "old", ".gitattributes": "*.yaml filter=evil eol=crlf ident"})
	ran := filepath.Join(t.TempDir(), "ran")
	for _, c := range [][]string{{"filter.evil.smudge", "touch " + ran}, {"filter.evil.clean", "touch " + ran + "; cat"},
		{"core.fsmonitor", "touch " + ran},
		{"core.pager", "touch " + ran}, {"diff.external", "touch " + ran}, {"core.sshCommand", "touch " + ran}} {
		gitIn(t, repo, "config", c[0], c[1])
	}
	put(t, repo, map[string]string{".git/hooks/post-checkout": "#!/bin/sh\ntouch " + ran})
	os.Chmod(filepath.Join(repo, ".git/hooks/post-checkout"), 0o755)
	put(t, repo, map[string]string{"a.yaml": "new", "b.yaml": "untracked"})
	index := filepath.Join(repo, ".git/index")
	before, err := os.ReadFile(index)
	if err != nil {
		t.Fatal(err)
	}
	os.Remove(ran)
	t.Setenv("GIT_DIR", "/nonexistent") // as in hooks
	t.Setenv("GIT_INDEX_FILE", "/nonexistent")
	tree := open(t, repo, "HEAD")
	if data, err := fs.ReadFile(tree, "a.yaml"); string(data) != "old" || err != nil {
		t.Errorf("%q, %v", data, err)
	}
	if _, err := fs.Stat(tree, "b.yaml"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if after, _ := os.ReadFile(index); string(after) != string(before) {
		t.Error("the index was changed")
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a program that the repository names was started")
	}
}

func TestInvalidRevisionsAreErrors(t *testing.T) {
	repo := repository(t, map[string]string{"a.yaml": "a"})
	gitIn(t, repo, "tag", "twice")
	gitIn(t, repo, "branch", "twice")
	gitIn(t, repo, "tag", "blob", gitIn(t, repo, "rev-parse", "HEAD:a.yaml"))
	outside := t.TempDir()
	t.Setenv("GIT_CEILING_DIRECTORIES", filepath.Dir(outside))
	for _, c := range []struct{ dir, rev, want string }{
		{repo, "", "needs a revision"},
		{repo, "-n", "must not begin with a dash"},
		{repo, "--help", "must not begin with a dash"},
		{repo, "HEAD..main", "is a range"},
		{repo, "HEAD:a.yaml", "names a path in a revision"},
		{repo, ":/one", "names a path in a revision"},
		{repo, "a\nb", "control characters"},
		{repo, "none", "has no such commit"},
		{repo, "HEAD~5", "has no such commit"},
		{repo, strings.Repeat("a", 40), "has no such commit"},
		{repo, "twice", "a branch and a tag"},
		{repo, "blob", "is not a commit"},
		{outside, "HEAD", "is not in a git repository"},
		{filepath.Join(repo, ".git"), "HEAD", "is inside the .git directory"},
	} {
		_, err := Open(t.Context(), c.dir, c.rev)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %s", c.rev, err, c.want)
		}
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := Open(t.Context(), repo, "HEAD"); err == nil || !strings.Contains(err.Error(), "not on PATH") {
		t.Error(err)
	}
}

// The error for an unreadable file in a tree states the reason.
func TestUnreadableFilesSayWhy(t *testing.T) {
	other := repository(t, map[string]string{"x.yaml": "x"})
	repo := repository(t, map[string]string{
		"large": strings.Repeat("x", MaxFile+1), "a": "a", "out": "-> ../x", "abs": "-> /etc/hostname", "loop": "-> loop",
	})
	gitIn(t, repo, "-c", "protocol.file.allow=always", "submodule", "add", "-q", other, "sub/module")
	gitIn(t, repo, "commit", "-qm", "two")
	tree := open(t, repo, "HEAD")
	for name, want := range map[string]string{
		"sub/module": "submodule", "sub/module/x.yaml": "submodule", "out": "leads out", "abs": "leads out", "loop": "too many links",
		"large": "larger than",
	} {
		if _, err := fs.ReadFile(tree, name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	if info, err := fs.Stat(tree, "large"); err != nil || info.Size() != MaxFile+1 {
		t.Errorf("%v, %v", info, err)
	}
	if data, err := fs.ReadFile(tree, "a"); string(data) != "a" || err != nil {
		t.Errorf("after a large file: %q, %v", data, err)
	}
	if list, err := fs.ReadDir(tree, "sub"); err != nil || len(list) != 1 || list[0].IsDir() {
		t.Errorf("%v, %v", list, err)
	}
}

// The directories from which a repository is found.
func TestRepositoriesAreFound(t *testing.T) {
	repo := repository(t, map[string]string{"dir/a.yaml": "a"})
	base := t.TempDir()
	bare, linked, shallow := filepath.Join(base, "bare"), filepath.Join(base, "linked"), filepath.Join(base, "shallow")
	gitIn(t, base, "clone", "-q", "--bare", repo, bare)
	gitIn(t, repo, "worktree", "add", "-q", linked, "-b", "other")
	put(t, repo, map[string]string{"dir/b.yaml": "b"})
	gitIn(t, repo, "add", "-A")
	gitIn(t, repo, "commit", "-qm", "two")
	gitIn(t, base, "clone", "-q", "--depth=1", "file://"+repo, shallow)
	for _, dir := range []string{bare, linked, filepath.Join(linked, "dir"), filepath.Join(repo, "dir"),
		filepath.Join(repo, "gone/and/away"), shallow} {
		tree := open(t, dir, "HEAD")
		if data, err := fs.ReadFile(tree, "dir/a.yaml"); string(data) != "a" || err != nil {
			t.Errorf("%s: %q, %v", dir, data, err)
		}
	}
	if _, err := Open(t.Context(), shallow, "HEAD~1"); err == nil || !strings.Contains(err.Error(), "fetch --unshallow") {
		t.Errorf("shallow: %v", err)
	}
	tree := open(t, filepath.Join(repo, "dir"), "HEAD")
	if err := os.Symlink(filepath.Join(repo, "dir"), filepath.Join(base, "way")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{repo: ".", filepath.Join(repo, "dir"): "dir", filepath.Join(repo, "gone/away"): "gone/away",
		filepath.Join(base, "way"): "dir"} {
		if name, err := tree.Name(path); name != want || err != nil {
			t.Errorf("%s: %q, %v", path, name, err)
		}
	}
	if name, err := tree.Name(base); err == nil || !strings.Contains(err.Error(), "is outside of the repository") {
		t.Errorf("%q, %v", name, err)
	}
}

// A partial clone lacks content, and nothing is fetched to complete it.
func TestPartialClone(t *testing.T) {
	repo := repository(t, map[string]string{"a.yaml": "old"})
	gitIn(t, repo, "config", "uploadpack.allowFilter", "true")
	put(t, repo, map[string]string{"a.yaml": "new", "b.yaml": "b"})
	gitIn(t, repo, "add", "-A")
	gitIn(t, repo, "commit", "-qm", "two")
	partial := filepath.Join(t.TempDir(), "partial")
	gitIn(t, repo, "clone", "-q", "--filter=blob:none", "file://"+repo, partial)
	if missing := gitIn(t, partial, "rev-list", "--objects", "--missing=print", "--all"); !strings.Contains(missing, "?") {
		t.Fatal("the clone is whole")
	}
	tree := open(t, partial, "HEAD~1")
	if !tree.Complete() || tree.Listing() == open(t, partial, "HEAD").Listing() ||
		tree.Listing() != open(t, repo, "HEAD~1").Listing() {
		t.Error("the listings do not identify the trees")
	}
	for range 2 {
		if data, err := fs.ReadFile(tree, "a.yaml"); err == nil || !strings.Contains(err.Error(), "is not in this clone") {
			t.Errorf("%q, %v", data, err)
		}
	}
	if tree.Complete() {
		t.Error("the tree is complete without an object")
	}
	if data, err := fs.ReadFile(open(t, partial, "HEAD"), "b.yaml"); string(data) != "b" || err != nil {
		t.Errorf("%q, %v", data, err)
	}
}

// Goroutines may read concurrently, even while the context ends.
func TestConcurrentReadsAreSafe(t *testing.T) {
	repo := repository(t, someFiles)
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	tree, err := Open(ctx, repo, "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	for _, name := range []string{"a.yaml", "dir/b.yaml"} { // only git can answer for these
		if err := os.Remove(filepath.Join(repo, name)); err != nil {
			t.Fatal(err)
		}
	}
	var done sync.WaitGroup
	for range 8 {
		done.Go(func() {
			for range 20 {
				for _, name := range []string{"a.yaml", "link", "dir/b.yaml", "dirlink/sub/c.yaml"} {
					if _, err := fs.ReadFile(tree, name); err != nil {
						t.Error(name, err)
					}
					if _, err := fs.Stat(tree, name); err != nil {
						t.Error(name, err)
					}
				}
			}
		})
	}
	done.Wait()
	cancel(why)
	if _, err := fs.ReadFile(tree, "dir.yaml"); !errors.Is(err, why) {
		t.Error(err)
	}
}

// A file of the work tree is read in place of an object only if it is a regular file with the same
// content.
func TestWorkTreeReplacesOnlyEqualObjects(t *testing.T) {
	repo := repository(t, someFiles)
	want, err := os.ReadFile(filepath.Join(repo, "a.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	read := func() {
		t.Helper()
		if got, err := fs.ReadFile(open(t, repo, "HEAD"), "a.yaml"); string(got) != string(want) || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	}
	read()
	changed := bytes.Clone(want)
	changed[0]++ // same size
	file := filepath.Join(repo, "a.yaml")
	if err := os.WriteFile(file, changed, 0o644); err != nil {
		t.Fatal(err)
	}
	read()
	if err := errors.Join(os.Remove(file), os.Mkdir(file, 0o755)); err != nil {
		t.Fatal(err)
	}
	read()
	if runtime.GOOS != "windows" {
		if err := errors.Join(os.Remove(file), exec.Command("mkfifo", file).Run()); err != nil {
			t.Fatal(err)
		}
		read()
	}
}

// A file is identified by its content and its executable bit, even if git uses a different hash
// function.
func TestHoldsComparesContentAndMode(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		dir := t.TempDir()
		gitIn(t, dir, "init", "-q", "--object-format="+format)
		put(t, dir, map[string]string{"a/file": "text\n", "run": "x"})
		if err := os.Chmod(filepath.Join(dir, "run"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("file", filepath.Join(dir, "a/link")); err != nil {
			t.Fatal(err)
		}
		gitIn(t, dir, "add", "-A")
		gitIn(t, dir, "commit", "-qm", "one")
		tree := open(t, dir, "HEAD")
		for _, c := range []struct {
			name, data string
			executable bool
			want       bool
		}{
			{"a/file", "text\n", false, true},
			{"a/file", "text", false, false},
			{"a/file", "text\n", true, false},
			{"run", "x", true, true},
			{"a/link", "file", false, false},
			{"a", "", false, false},
			{"none", "", false, false},
		} {
			if got := tree.Holds(c.name, tree.IDOf([]byte(c.data)), c.executable); got != c.want {
				t.Errorf("%s: %+v: %v", format, c, got)
			}
			if lacks := c.name == "none"; tree.Lacks(c.name) != lacks {
				t.Errorf("%s: %s: lacking is %t", format, c.name, !lacks)
			}
		}
	}
}
