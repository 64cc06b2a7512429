package loaders

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders/remote"
	"github.com/krmflow/krmflow/reference"
)

// A Fetch returns what a reference stands for, read for some use from where it stands. It must be safe for concurrent use.
type Fetch func(text string, use reference.Use, from remote.Origin) (*remote.Content, error)

// A Fetched is a remote reference and its version.
type Fetched struct {
	// Reference is the text of the reference, without credentials.
	Reference string
	// Version is the commit or the digest that it stands for.
	Version string
	// Pinned is true if the reference itself or a lock has the version. The content then is that
	// version and may have any origin. Otherwise the address of the reference has served it.
	Pinned bool
}

// Verb returns the known provenance of the content: pinned or fetched.
func (f Fetched) Verb() string {
	if f.Pinned {
		return "pinned"
	}
	return "fetched"
}

// fetchedRoot is what the paths of fetched directories begin with. No file of a machine can have such a name: these paths can be joined
// and compared like all others, and whoever takes one for a path of this machine finds nothing.
var fetchedRoot = fetchedVolume() + string(filepath.Separator) + "\x00" + string(filepath.Separator)

// fetchedPath returns the path of what was fetched from a location. No two locations have the same.
func fetchedPath(location string, v reference.Version) string {
	return fetchedRoot + url.PathEscape(location) + "@" + v.String()
}

func fetchedVolume() string {
	if runtime.GOOS == "windows" {
		return "C:" // where a path without a volume is not absolute
	}
	return ""
}

// fetchedTree is a tree of files that are none of this machine, most of them fetched, and where its files are.
type fetchedTree struct {
	files
	root string // below fetchedRoot
	name string // as messages show it; of what is given, what they put before names in it
	repo string // what git clones, empty for others
	ref  string // as it is written
}

// Repo returns the repository and the ref that d was fetched from, and its path in it; all are empty for a directory of this machine.
func (d *Dir) Repo() (repo, ref, path string) {
	if !d.IsFetched() {
		return "", "", ""
	}
	rel, _ := d.tree.path(d.Real)
	return d.tree.repo, d.tree.ref, rel
}

// RepoOf returns the repository that a reference names if it names one, as far as its form tells: kustomize takes addresses of files for
// repositories, too, when it writes where something comes from. The path in it is empty for its root.
func RepoOf(text string) (repo, ref, path string, ok bool) {
	r, err := reference.Parse(text, reference.Dir)
	return diag.Redact(r.Location), r.Ref, r.Path, err == nil && r.Scheme == reference.Git
}

// FolderOf returns a relative path with slashes for what is made of something remote, without scheme and credentials: the host, the
// path, and the ref behind an @.
func FolderOf(text string) string {
	r, err := reference.Parse(text, reference.Dir)
	if err != nil {
		r.Location = diag.Redact(text)
	}
	name := r.Location
	if _, rest, ok := strings.Cut(name, "://"); ok {
		name = rest
	}
	host, rest, _ := strings.Cut(name, "/")
	host = host[strings.LastIndexByte(host, '@')+1:]
	name = path.Join("/", host, rest, r.Path)[1:]
	if r.Ref != "" {
		name += "@" + r.Ref
	}
	return strings.ReplaceAll(name, ":", "_")
}

// IsFetched reports whether d is part of something that was fetched.
func (d *Dir) IsFetched() bool { return d.tree != nil && !d.tree.isGiven() }

// IsVirtual reports whether there is no such directory on this machine.
func (d *Dir) IsVirtual() bool { return d.tree != nil }

// isGiven reports whether t is the [fs.FS] of the run.
func (t *fetchedTree) isGiven() bool { return t.root == givenRoot }

// IsFetched reports whether src was fetched, or is part of something that was.
func (l *Local) IsFetched(src *yaml.Source) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return src != nil && l.fetchedFiles[src]
}

// Fetched returns what was fetched, sorted by reference.
func (l *Local) Fetched() []Fetched {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := slices.Clone(l.fetched)
	slices.SortFunc(list, func(a, b Fetched) int { return strings.Compare(a.Reference, b.Reference) })
	return list
}

// FetchDir returns the directory that the layer in d names by a reference to a repository, an archive or an artifact. A nil d stands for
// the user.
func (l *Local) FetchDir(d *Dir, text string) (*Dir, error) {
	dir, _, err := l.obtain(d, text, reference.Dir)
	if err == nil && dir == nil {
		err = diag.NotAFile.Errorf("%q is a file, not a directory", diag.Redact(text))
	}
	return dir, err
}

// fetchFile returns the file of at most limit bytes that the layer in d names by a reference. If d is nil the user names it: a catalog.
func (l *Local) fetchFile(d *Dir, text string, use reference.Use, limit int64) (*yaml.Source, error) {
	dir, src, err := l.obtain(d, text, use)
	switch {
	case err != nil:
		return nil, err
	case dir != nil:
		return nil, diag.NotAFile.Errorf("%q is a directory, not a file", diag.Redact(text))
	case int64(len(src.Data)) > limit:
		return nil, fmt.Errorf("%q is larger than %d MiB", diag.Redact(text), limit>>20)
	}
	return src, nil
}

// FetchAny returns the directory or the file that the layer in d names by a reference. The other one is nil.
func (l *Local) FetchAny(d *Dir, text string) (*Dir, *yaml.Source, error) {
	return l.obtain(d, text, reference.Any)
}

func (l *Local) obtain(d *Dir, text string, use reference.Use) (dir *Dir, src *yaml.Source, err error) {
	if l.fetch == nil {
		return nil, nil, fmt.Errorf("%q is remote, and nothing is fetched here", diag.Redact(text))
	}
	from := remote.FromUser
	if d != nil && d.IsFetched() {
		from = remote.FromFetched
	}
	c, err := l.fetch(text, use, from)
	defer func() { l.observe(d, fetched(text, use, from, c, dir, err)) }()
	if err != nil {
		return nil, nil, err
	}
	l.record(text, c)
	if c.Tree == nil {
		src, err = l.fetchedFile(c)
		return nil, src, err
	}
	t := newTree(text, use, c)
	l.mu.Lock()
	if known := l.trees[t.root]; known != nil {
		t = known
	} else {
		l.trees[t.root] = t
	}
	l.mu.Unlock()
	place := cmp.Or(c.Reference.Path, ".")
	info, err := t.Stat(place)
	if err != nil {
		return nil, nil, t.error(err, place, text)
	}
	if info.IsDir() {
		dir, err = l.treeDir(t, t.abs(place), text)
		return dir.like(d), nil, err
	}
	in := &Dir{Real: t.abs(path.Dir(place)), Name: l.name(t.abs(path.Dir(place))), tree: t}
	src, err = l.Read(in, path.Base(place))
	return nil, src, err
}

// record keeps what a reference stands for, for the plan.
func (l *Local) record(text string, c *remote.Content) {
	f := Fetched{diag.Redact(text), c.Version.String(), c.Provenance == remote.ByVersion}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, known := range l.fetched {
		if known == f {
			return
		}
	}
	l.fetched = append(l.fetched, f)
}

// newTree returns the tree of c. Its name says what was asked for. Two refs for one commit are two trees: what is made of them names
// the ref.
func newTree(text string, use reference.Use, c *remote.Content) *fetchedTree {
	asked, err := reference.Parse(text, use)
	if err != nil || asked.Scheme != c.Reference.Scheme {
		asked = c.Reference
	}
	location := c.Reference.Location
	shown := location
	if _, rest, ok := strings.Cut(location, "://"); ok {
		shown = rest
	}
	shown = strings.Trim(diag.Redact(shown), "/") + "@" + cmp.Or(asked.Ref, c.Version.String()[:min(12, len(c.Version.String()))])
	t := &fetchedTree{files: c.Tree, root: fetchedPath(location+"@"+asked.Ref, c.Version), name: shown}
	if c.Reference.Scheme == reference.Git {
		t.repo, t.ref = diag.Redact(location), asked.Ref
	}
	return t
}

// abs returns the path of a place in the tree.
func (t *fetchedTree) abs(place string) string {
	return filepath.Join(t.root, filepath.FromSlash(place))
}

// path returns the place in the tree that a path leads to, false if it leads out of it.
func (t *fetchedTree) path(abs string) (string, bool) {
	if !diag.Within(abs, t.root) {
		return "", false
	}
	rel, err := filepath.Rel(t.root, abs)
	return filepath.ToSlash(rel), err == nil
}

// treeDir returns the directory at a path below the root of a tree.
func (l *Local) treeDir(t *fetchedTree, abs, as string) (*Dir, error) {
	place, ok := t.path(abs)
	if !ok {
		return nil, errOutside(t, as)
	}
	real, err := t.Real(place)
	if err != nil {
		return nil, t.error(err, place, as)
	}
	info, err := t.Stat(real)
	switch {
	case err != nil:
		return nil, t.error(err, place, as)
	case info.Mode()&fs.ModeIrregular != 0:
		return nil, t.error(cache.ErrAbsent, place, as)
	case !info.IsDir():
		return nil, notDir(as)
	}
	return &Dir{Real: t.abs(real), Name: l.name(t.abs(real)), tree: t}, nil
}

// readTree reads the file that the layer in d, a fetched directory, refers to. It does not leave what was fetched.
func (l *Local) readTree(d *Dir, abs, as string, limit int64) ([]byte, error) {
	place, ok := d.tree.path(abs)
	if !ok || filepath.IsAbs(as) && !d.tree.isGiven() {
		return nil, errOutside(d.tree, as)
	}
	if !l.isFree(d) && !diag.Within(abs, d.Real) {
		return nil, &RestrictedError{Path: as, Root: d.Name}
	}
	real, err := d.tree.Real(place)
	if err != nil {
		return nil, d.tree.error(err, place, as)
	}
	if full := d.tree.abs(real); !l.isFree(d) && !diag.Within(full, d.Real) {
		return nil, &RestrictedError{Path: as, Target: l.name(full), Root: d.Name}
	}
	info, err := d.tree.Stat(real)
	switch {
	case err != nil:
		return nil, d.tree.error(err, place, as)
	case info.IsDir():
		return nil, diag.NotAFile.Errorf("%q is a directory, not a file", as)
	case info.Size() > limit:
		return nil, fmt.Errorf("%q is larger than %d MiB", as, limit>>20)
	}
	data, err := d.tree.ReadFile(real)
	switch {
	case err != nil:
		return nil, d.tree.error(err, place, as)
	case int64(len(data)) > limit:
		return nil, fmt.Errorf("%q is larger than %d MiB", as, limit>>20)
	}
	return data, nil
}

// fetchedFile returns a file that is no part of a tree. The same content at one address is one file.
func (l *Local) fetchedFile(c *remote.Content) (*yaml.Source, error) {
	data, err := c.Bytes()
	if err == nil {
		err = l.checkPointer(true, data, c.Reference.Location, "")
	}
	if err != nil {
		return nil, err
	}
	abs := fetchedPath(c.Reference.Location, c.Version)
	l.mu.Lock()
	defer l.mu.Unlock()
	if known := l.files[abs]; known.src != nil {
		return known.src, nil
	}
	if err := l.budget.take(int64(len(data))); err != nil {
		return nil, err
	}
	src := &yaml.Source{File: diag.Redact(c.Reference.Location), Data: data}
	l.files[abs] = file{src: src, dir: DirKey{Real: fetchedRoot}}
	l.fetchedFiles[src] = true
	return src, nil
}

// error says what is wrong with a place in a tree.
func (t *fetchedTree) error(err error, place, as string) error {
	if errors.Is(err, fs.ErrNotExist) {
		missing := &NotFoundError{Path: as}
		if g, ok := t.files.(*given); ok {
			missing.abs, missing.fs = place, g.FS
		}
		return missing
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return diag.NotReadable.Errorf("cannot read %q: %w", diag.Redact(as), err)
}

// errOutside refuses a path that leads out of what was fetched.
func errOutside(t *fetchedTree, as string) error {
	if t.isGiven() && t.name != "" {
		return diag.OutsideDirectory.Errorf("%q is outside of %s, which has nothing but what is in the repository", diag.Redact(as), t.name)
	}
	if t.isGiven() {
		return diag.OutsideDirectory.Errorf("%q is outside of the file system that is rendered", diag.Redact(as))
	}
	return diag.OutsideDirectory.Errorf("%q is outside of %s: what was fetched must not refer to paths of this machine", diag.Redact(as), t.name)
}

// fetchedName returns how messages show a path below fetchedRoot.
func (l *Local) fetchedName(abs string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for root, t := range l.trees {
		if !diag.Within(abs, root) {
			continue
		}
		rel := filepath.ToSlash(strings.TrimPrefix(abs, root))
		switch {
		case t.isGiven() && l.absolute && t.name == "":
			return cmp.Or(rel, "/")
		case t.isGiven():
			return t.name + cmp.Or(strings.TrimPrefix(rel, "/"), ".")
		}
		return t.name + rel
	}
	return strings.TrimPrefix(abs, fetchedRoot)
}

// Address returns the address of a path in a repository that was fetched, without credentials. It is empty for every other path.
func (l *Local) Address(abs string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range l.trees {
		if rel, ok := t.path(abs); ok && t.repo != "" {
			address := "git::" + t.repo + "//" + rel
			if t.ref != "" {
				address += "?ref=" + t.ref
			}
			return address
		}
	}
	return ""
}
