package search

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/gitops"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
)

// repos maps repositories to directories. It must not be used concurrently.
type repos struct {
	fs      fs.FS
	sources map[string]string // normalised address -> absolute directory, or path in fs, "" if outside
	trees   map[string]*tree  // by searched directory
	top     string            // see Options
}

// A tree is a working tree of git, or a searched directory outside of any.
type tree struct {
	top     string
	remotes []string // normalised addresses
	// branches are revisions that are assumed to have the content of the working tree.
	branches []string
}

func newRepos(o Options) *repos {
	r := &repos{fs: o.FS, sources: map[string]string{}, trees: map[string]*tree{}, top: o.Top}
	for url, dir := range o.Sources {
		dir = realOf(dir)
		if o.FS != nil { // of the revision of a tree
			rel, err := filepath.Rel(o.Top, dir)
			if dir = filepath.ToSlash(rel); err != nil || !filepath.IsLocal(rel) {
				dir = ""
			}
		}
		r.sources[normalised(url)] = dir
	}
	return r
}

// repo returns the repository at a URL. It is the working tree of the object if the URL is the
// address of one of its remotes, in any form, and the revision is empty, HEAD, the current branch,
// or the default branch of a remote. A tree without remotes may be any repository.
func (r *repos) repo(at yaml.Place, searched, url, revision string) (gitops.Repo, error) {
	key := normalised(url)
	switch dir, ok := r.sources[key]; {
	case ok && dir == "":
		return gitops.Repo{}, diag.Errorf(at.Pos(), at.Source.Field(at.At), "--source maps %s to a directory outside of the revision",
			diag.Redact(url)).With(diag.OutsideDirectory)
	case ok:
		return gitops.Repo{Dir: dir}, nil
	}
	t := r.tree(searched)
	if url == gitops.Searched {
		return gitops.Repo{Dir: t.top}, nil
	}
	if slices.Contains(t.remotes, key) && t.is(revision) {
		return gitops.Repo{Dir: t.top}, nil
	}
	if strings.HasPrefix(url, "oci://") {
		return gitops.Repo{}, diag.Errorf(at.Pos(), at.Source.Field(at.At), "%s is not a directory of this tree",
			url).With(diag.NoSuchFile).
			Hint("map it to a directory: --source %s=DIR", diag.ShellWord(url))
	}
	if !loaders.IsRemote(strings.TrimSuffix(url, "/") + "//x") {
		return gitops.Repo{}, diag.Errorf(at.Pos(), at.Source.Field(at.At), "%q is not the address of a repository",
			diag.Redact(url)).With(diag.BadValue).Hint("name the directory of the repository: --source %s=DIR",
			diag.ShellWord(diag.Redact(url)))
	}
	repo := gitops.Repo{Ref: func(dir string) string {
		ref := strings.TrimSuffix(url, "/") + "//" + strings.TrimPrefix(path.Clean("/"+dir), "/")
		ref = strings.TrimSuffix(ref, "//")
		if revision != "" && revision != "HEAD" {
			ref += "?ref=" + revision
		}
		return ref
	}}
	if len(t.remotes) == 0 {
		repo.Dir, repo.Guessed = t.top, true
	}
	return repo, nil
}

// open returns the files of a repository on this machine.
func (r *repos) open(repo gitops.Repo) (fs.FS, error) {
	switch {
	case repo.Dir == "" && r.fs == nil:
		return nil, errors.New("the repository is not on this machine")
	case r.fs != nil:
		return fs.Sub(r.fs, path.Clean(filepath.ToSlash(repo.Dir)))
	}
	root, err := os.OpenRoot(repo.Dir) // symbolic links must not lead outside
	if err != nil {
		return nil, err
	}
	return root.FS(), nil
}

// is reports whether the tree is assumed to have the content of a revision.
func (t *tree) is(revision string) bool {
	return revision == "" || revision == "HEAD" || slices.Contains(t.branches, strings.TrimPrefix(revision, "refs/heads/"))
}

// tree returns the working tree that contains a searched directory.
func (r *repos) tree(searched string) *tree {
	if t := r.trees[searched]; t != nil {
		return t
	}
	t := &tree{top: searched}
	r.trees[searched] = t
	dir := searched
	if r.fs != nil {
		t.top, dir = ".", r.top
	}
	for ; ; dir = filepath.Dir(dir) {
		git := filepath.Join(dir, ".git")
		if info, err := os.Stat(git); err == nil {
			if r.fs == nil {
				t.top = dir
			}
			t.readGit(git, info.IsDir())
			return t
		}
		if dir == filepath.Dir(dir) {
			return t
		}
	}
}

// readGit reads the remotes and branches of a working tree. git is the path of its .git file or
// directory.
func (t *tree) readGit(git string, isDir bool) {
	if !isDir { // a worktree or submodule
		data, _ := readSmall(git)
		dir, _ := strings.CutPrefix(strings.TrimSpace(string(data)), "gitdir:")
		dir = strings.TrimSpace(dir)
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(filepath.Dir(git), dir)
		}
		git = dir
	}
	t.branch(filepath.Join(git, "HEAD"), "refs/heads/")
	if data, err := readSmall(filepath.Join(git, "commondir")); err == nil {
		common := strings.TrimSpace(string(data))
		if !filepath.IsAbs(common) {
			common = filepath.Join(git, common)
		}
		git = common
	}
	names, _ := filepath.Glob(filepath.Join(git, "refs/remotes/*/HEAD"))
	for _, name := range names {
		t.branch(name, "refs/remotes/"+filepath.Base(filepath.Dir(name))+"/")
	}
	if len(names) == 0 {
		t.branches = append(t.branches, "main", "master") // a clone without the default branch of its remote
	}
	config, err := readSmall(filepath.Join(git, "config"))
	if err != nil {
		return
	}
	remote := false
	for line := range strings.Lines(string(config)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			remote = strings.HasPrefix(line, "[remote ")
			continue
		}
		if key, value, ok := strings.Cut(line, "="); ok && remote && strings.TrimSpace(key) == "url" {
			t.remotes = append(t.remotes, normalised(strings.Trim(strings.TrimSpace(value), `"`)))
		}
	}
}

// readSmall reads a file of git. The file must be regular and small, because an archive may contain
// anything.
func readSmall(name string) ([]byte, error) { return loaders.ReadFile(name, 1<<20) }

// branch adds the branch that a symbolic reference points to.
func (t *tree) branch(file, prefix string) {
	data, _ := readSmall(file)
	if name, ok := strings.CutPrefix(strings.TrimSpace(string(data)), "ref: "+prefix); ok {
		t.branches = append(t.branches, name)
	}
}

// normalised returns an address of a repository in a form that is the same for all spellings: host
// and path in lower case, without scheme, user, port and .git.
func normalised(url string) string {
	rest := url
	if _, after, ok := strings.Cut(url, "://"); ok {
		rest = after
	} else if host, dir, ok := strings.Cut(url, ":"); ok && !strings.Contains(host, "/") {
		rest = host + "/" + dir // user@host:path
	}
	host, dir, _ := strings.Cut(rest, "/")
	host = host[strings.LastIndexByte(host, '@')+1:]
	if host, _, ok := strings.Cut(host, ":"); ok {
		return normalised(host + "/" + dir)
	}
	dir = strings.Trim(dir, "/")
	return strings.ToLower(host + "/" + strings.TrimSuffix(dir, ".git"))
}
