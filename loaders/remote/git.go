package remote

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/loaders/git"
	"github.com/krmflow/krmflow/reference"
)

// resolveGit asks the server for the commit of a branch or tag.
func (s *Session) resolveGit(ctx context.Context, r reference.Reference, from Origin) (reference.Version, error) {
	g, err := s.git(ctx, r, from)
	if err != nil {
		return reference.Version{}, err
	}
	args := []string{"ls-remote", "--quiet", "--", g.url}
	names := refNames(r)
	for _, name := range names {
		args = append(args, name, name+"^{}")
	}
	out, err := g.network(ctx, args...)
	if err != nil {
		return reference.Version{}, explainGit(wrap(r, err))
	}
	known := map[string]string{}
	for line := range strings.Lines(string(out)) {
		id, name, _ := strings.Cut(strings.TrimSpace(line), "\t")
		known[name] = id
	}
	for _, name := range names {
		for _, name := range []string{name + "^{}", name} { // the commit of an annotated tag comes first
			if id := known[name]; reference.IsCommit(id) {
				return reference.Version{Scheme: reference.Git, Commit: id}, nil
			}
		}
	}
	if r.Ref == "" {
		return reference.Version{}, notFetched(r, fs.ErrNotExist, "no HEAD: the repository is empty or not a git repository")
	}
	e := notFetched(r, fs.ErrNotExist, "no such branch or tag")
	if len(r.Ref) >= 4 && reference.IsHex(r.Ref) {
		e.Hint("name a commit by all of its 40 digits")
	}
	return reference.Version{}, e
}

// explainGit adds a hint if the server requires credentials or rejects them.
func explainGit(err error) error {
	var said *git.Error
	if errors.As(err, &said) && (strings.Contains(said.Text, "could not read Username") ||
		strings.Contains(said.Text, "Authentication failed")) {
		return diag.AsError(diag.NoCredentials.Of(err)).Hint(
			"the server requires valid credentials; provide them with a git credential helper or ssh")
	}
	return err
}

// refNames returns the full names that the short name in a reference can mean, in the order in
// which git looks them up. For a direct reference, that is a tag or a branch.
func refNames(r reference.Reference) []string {
	switch ref := r.Ref; {
	case ref == "", r.Direct && ref == "HEAD":
		return []string{"HEAD"}
	case r.Direct:
		return []string{"refs/tags/" + ref, "refs/heads/" + ref}
	case strings.HasPrefix(ref, "refs/"):
		return []string{ref}
	default:
		return []string{ref, "refs/" + ref, "refs/tags/" + ref, "refs/heads/" + ref}
	}
}

// openGit returns all files of a repository at a commit, from the cache if possible.
func (s *Session) openGit(ctx context.Context, r reference.Reference, v reference.Version, from Origin) (*Content, error) {
	kind, key := gitEntry(r, v.Commit, from)
	tree, err := s.tree(kind, key)
	if err != nil {
		if tree, err = s.fetchGit(ctx, r, v, from); err != nil {
			return nil, err
		}
		if err := s.opt.Cache.Record(kind, key, tree.Digest); err != nil {
			return nil, err
		}
	}
	later := context.WithoutCancel(ctx)
	tree.Restore = func() error { _, err := s.fetchGit(later, r, v, from); return err }
	return &Content{Version: v, Tree: tree}, nil
}

// gitEntry returns the kind and key of the cache entry for a commit of a repository.
func gitEntry(r reference.Reference, commit string, from Origin) (kind, key string) {
	location, _, _ := cutCredentials(location(r))
	if kind = "git"; from == FromFetched {
		kind = "git-anonymous" // must not return content that requires the user's credentials
	}
	return kind, location + "\n" + commit
}

// tree returns the tree of a cache entry.
func (s *Session) tree(kind, key string) (*cache.Tree, error) {
	d, ok := s.opt.Cache.Lookup(kind, key)
	if !ok {
		return nil, fs.ErrNotExist
	}
	return s.opt.Cache.Tree(d)
}

func (s *Session) fetchGit(ctx context.Context, r reference.Reference, v reference.Version, from Origin) (tree *cache.Tree, err error) {
	if s.opt.Offline {
		return nil, &OfflineError{Reference: r.At(v).String()}
	}
	err = s.fetch(ctx, r, func(ctx context.Context) error {
		dir, err := s.opt.Cache.TempDir()
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		g, err := s.git(ctx, r, from)
		if err != nil {
			return err
		}
		if err := g.init(dir, v.Commit); err != nil {
			return err
		}
		if err := g.fetch(ctx, r, v.Commit, s.opt.MaxTree, "--depth=1"); err != nil {
			return explainGit(wrap(r, err))
		}
		tree, err = g.store(ctx, s.opt.Cache, s.opt.MaxTree, v.Commit)
		return wrap(r, err)
	})
	return tree, err
}

// init creates an empty repository without calling git, which would copy the user's template.
func (g *gitRun) init(dir, commit string) error {
	for _, name := range []string{"objects", "refs"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			return err
		}
	}
	config := "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"
	if len(commit) == 64 {
		config = "[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\tobjectformat = sha256\n"
	}
	g.Dir, g.Env = dir, append(slices.Clip(g.Env), "GIT_DIR="+dir)
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "HEAD"), []byte("ref: refs/heads/none\n"), 0o600),
		os.WriteFile(filepath.Join(dir, "config"), []byte(config), 0o600))
}

// fetch fetches one commit with the given options for its history. It asks for the commit by its
// id. If the server only allows named refs, it fetches the ref of the reference and checks that
// it contains the commit.
func (g *gitRun) fetch(ctx context.Context, r reference.Reference, commit string, limits cache.Limits, options ...string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	watched := make(chan error, 1)
	go func() { watched <- g.watch(ctx, limits, cancel) }()
	err := g.fetchUnwatched(ctx, r, commit, options)
	cancel(nil)
	if over := <-watched; err == nil {
		err = over
	}
	return err
}

func (g *gitRun) fetchUnwatched(ctx context.Context, r reference.Reference, commit string, options []string) error {
	get := func(name string) error {
		args := slices.Concat([]string{"fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head"}, options,
			[]string{"--", g.url, name})
		_, err := g.network(ctx, args...)
		return err
	}
	err := get(commit)
	var said *git.Error
	if !errors.As(err, &said) {
		return err
	}
	if r.Ref == commit || !strings.Contains(said.Text, "not our ref") && !strings.Contains(said.Text, "unadvertised object") {
		return err
	}
	name := r.Ref
	if name == "" {
		name = "HEAD"
	}
	if err := get(name); err != nil {
		return err
	}
	if _, err := g.Run(ctx, "cat-file", "-e", commit+"^{commit}"); err != nil {
		return fmt.Errorf("the reference moved away from %s during the fetch", commit)
	}
	return nil
}

// watch cancels a fetch that exceeds the size limit of a tree or the total limit of the run. It
// returns when ctx is done and updates the total once more, because a short fetch can finish
// before the first check.
func (g *gitRun) watch(ctx context.Context, limits cache.Limits, cancel context.CancelCauseFunc) error {
	limit := limits.Bytes
	if limit == 0 {
		limit = cache.DefaultBytes
	}
	for {
		select {
		case <-ctx.Done():
			return g.count()
		case <-time.After(200 * time.Millisecond):
		}
		if err := g.count(); err != nil {
			cancel(err)
		} else if g.taken > limit {
			cancel(diag.Limitf("the repository is larger than %s", diag.Size(limit)))
		}
	}
}

// count adds the growth of the repository since the last call to the total.
func (g *gitRun) count() error {
	var size int64
	filepath.WalkDir(g.Dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil // git removes temporary files at any time
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			size += info.Size()
		}
		return nil
	})
	more := max(0, size-g.taken)
	g.taken += more
	return g.take(more)
}

// gitFile is a line of the output of git ls-tree.
type gitFile struct {
	mode, id, name string
}

// store puts all files of a commit into the cache. It reads blobs directly, so no filter or
// line-ending conversion changes them.
func (g *gitRun) store(ctx context.Context, c *cache.Cache, limits cache.Limits, commit string) (*cache.Tree, error) {
	out, err := g.Run(ctx, "ls-tree", "-r", "-z", "--full-tree", commit)
	if err != nil {
		return nil, err
	}
	w, err := c.NewTree(limits)
	if err != nil {
		return nil, err
	}
	defer w.Discard()
	var files []gitFile
	var ids bytes.Buffer
	for line := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		head, name, _ := strings.Cut(line, "\t")
		fields := strings.Fields(head)
		if len(fields) != 3 || !utf8.ValidString(name) { // cannot be referred to by a UTF-8 file
			continue
		}
		if fields[1] != "blob" {
			if err := w.Absent(name); err != nil {
				return nil, err
			}
			continue
		}
		files = append(files, gitFile{mode: fields[0], id: fields[2], name: name})
		ids.WriteString(fields[2] + "\n")
	}
	err = g.Stream(ctx, &ids, func(r io.Reader) error { return storeFiles(w, files, bufio.NewReaderSize(r, 64<<10)) }, "cat-file",
		"--batch", "--buffer")
	if err != nil {
		return nil, err
	}
	return w.Commit()
}

// storeFiles reads the output of git cat-file --batch for files.
func storeFiles(w *cache.TreeWriter, files []gitFile, r *bufio.Reader) error {
	for _, f := range files {
		line, err := r.ReadString('\n')
		if err != nil {
			return err
		}
		fields := strings.Fields(line)
		if len(fields) != 3 || fields[0] != f.id || fields[1] != "blob" {
			return fmt.Errorf("%q is missing from the repository", f.name)
		}
		size, err := strconv.ParseInt(fields[2], 10, 64)
		if err != nil {
			return err
		}
		if f.mode == "120000" {
			err = storeLink(w, f.name, size, r)
		} else {
			err = w.File(f.name, f.mode == "100755", size, r)
		}
		if err != nil {
			return err
		}
		if _, err := r.Discard(1); err != nil {
			return err
		}
	}
	return nil
}

func storeLink(w *cache.TreeWriter, name string, size int64, r io.Reader) error {
	if size > cache.MaxTarget {
		return fmt.Errorf("%q is a symbolic link with too long a target: %s", name, diag.Size(size))
	}
	target := make([]byte, size)
	if _, err := io.ReadFull(r, target); err != nil {
		return err
	}
	return w.Link(name, string(target))
}
