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

// A Fetch resolves a remote reference and returns its content. from is the origin of the file
// that contains the reference. A Fetch must be safe for concurrent use.
type Fetch func(text string, use reference.Use, from remote.Origin) (*remote.Content, error)

// A Fetched is a remote reference and its version.
type Fetched struct {
	// Reference is the text of the reference, without credentials.
	Reference string
	// Version is the commit or digest of the content.
	Version string
	// Pinned is true if the version comes from the reference itself or from a lock. The content
	// then is that version and may have any origin. Otherwise the address of the reference has
	// served it.
	Pinned bool
}

// Verb returns the provenance of the content for messages: pinned or fetched.
func (f Fetched) Verb() string {
	if f.Pinned {
		return "pinned"
	}
	return "fetched"
}

// fetchedRoot is the root of the paths of fetched directories. It contains a NUL, so it cannot
// exist in a file system. These paths can be joined and compared like all others, and opening one
// as a local file by mistake finds nothing.
var fetchedRoot = fetchedVolume() + string(filepath.Separator) + "\x00" + string(filepath.Separator)

// fetchedPath returns the path for content of a location. It is unique for the location and
// version.
func fetchedPath(location string, v reference.Version) string {
	return fetchedRoot + url.PathEscape(location) + "@" + v.String()
}

func fetchedVolume() string {
	if runtime.GOOS == "windows" {
		return "C:" // a path without a volume is not absolute on Windows
	}
	return ""
}

// fetchedTree is a tree of files that are not on this machine: usually fetched ones, or the
// [fs.FS] of the run.
type fetchedTree struct {
	files
	root string // below fetchedRoot
	name string // name in messages; for the run's FS, the prefix of its file names
	repo string // repository for git clone; empty if not a repository
	ref  string // as written
}

// Repo returns the repository and ref that d was fetched from, and d's path in the repository.
// All are empty for a local directory.
func (d *Dir) Repo() (repo, ref, path string) {
	if !d.IsFetched() {
		return "", "", ""
	}
	rel, _ := d.tree.path(d.Real)
	return d.tree.repo, d.tree.ref, rel
}

// RepoOf returns the repository, ref and path of a reference to a git repository. It goes by the
// form of the text alone, as kustomize does for origin annotations, and so accepts addresses of
// files. path is empty for the root of the repository.
func RepoOf(text string) (repo, ref, path string, ok bool) {
	r, err := reference.Parse(text, reference.Dir)
	return diag.Redact(r.Location), r.Ref, r.Path, err == nil && r.Scheme == reference.Git
}

// FolderOf returns a relative, slash-separated path for files generated from a remote reference:
// host, path and @ref, without the scheme and credentials.
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

// IsFetched reports whether d is part of fetched content.
func (d *Dir) IsFetched() bool { return d.tree != nil && !d.tree.isGiven() }

// IsVirtual reports whether d does not exist on this machine.
func (d *Dir) IsVirtual() bool { return d.tree != nil }

// isGiven reports whether t is the [fs.FS] of the run.
func (t *fetchedTree) isGiven() bool { return t.root == givenRoot }

// IsFetched reports whether src was fetched, alone or as part of a tree.
func (l *Local) IsFetched(src *yaml.Source) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return src != nil && l.fetchedFiles[src]
}

// Fetched returns all fetched references, sorted.
func (l *Local) Fetched() []Fetched {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := slices.Clone(l.fetched)
	slices.SortFunc(list, func(a, b Fetched) int { return strings.Compare(a.Reference, b.Reference) })
	return list
}

// FetchDir returns the directory for a reference in a layer of d: a repository, an archive or an
// artifact. A nil d means that the user wrote the reference.
func (l *Local) FetchDir(d *Dir, text string) (*Dir, error) {
	dir, _, err := l.obtain(d, text, reference.Dir)
	if err == nil && dir == nil {
		err = diag.NotAFile.Errorf("%q is a file, not a directory", diag.Redact(text))
	}
	return dir, err
}

// fetchFile returns the file for a reference in a layer of d, at most limit bytes. A nil d means
// that the user wrote the reference, for example on the command line.
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

// FetchAny returns the directory or the file for a reference in a layer of d; the other result is
// nil.
func (l *Local) FetchAny(d *Dir, text string) (*Dir, *yaml.Source, error) {
	return l.obtain(d, text, reference.Any)
}

// obtain returns the directory or file for a reference. An error has a hint if the reference is
// probably misspelled.
func (l *Local) obtain(d *Dir, text string, use reference.Use) (*Dir, *yaml.Source, error) {
	dir, src, err := l.fetchReference(d, text, use)
	// A text that is a valid reference may have failed for any reason, so only a page is a mistake.
	if meant := reference.Corrected(text); err != nil && meant != "" && (reference.IsPage(text) || diag.CodeOf(err) == diag.BadReference) {
		err = diag.Errorf(diag.Pos{}, "", "%w", err).Hint("%s", correction(text, meant))
	}
	if errors.Is(err, cache.ErrAbsent) {
		if _, hints := diag.Parts(err); hints != nil {
			return dir, src, err
		}
		err = diag.Errorf(diag.Pos{}, "",
			"%w", err).Hint("refer to the repository of the submodule directly: the file .gitmodules has its address")
	}
	return dir, src, err
}

// correction returns the hint at the reference that was probably meant by text.
func correction(text, meant string) string {
	if hint := PageHint(text); hint != "" {
		return hint
	}
	return fmt.Sprintf("did you mean %q?", diag.Redact(meant))
}

// PageHint returns a hint at the repository for the address of a web page that shows a file or
// directory of it, "" for any other text.
func PageHint(text string) string {
	if !reference.IsPage(text) {
		return ""
	}
	return fmt.Sprintf("this is the address of a web page: write %q", diag.Redact(reference.Corrected(text)))
}

func (l *Local) fetchReference(d *Dir, text string, use reference.Use) (dir *Dir, src *yaml.Source, err error) {
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

// record adds a reference and its version to the list for the plan.
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

// newTree returns the tree of c. Its root and name include the requested ref, so two refs at the
// same commit are two trees. Output that names its source then names the ref that the user wrote.
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

// abs returns the absolute path of a place in the tree.
func (t *fetchedTree) abs(place string) string {
	return filepath.Join(t.root, filepath.FromSlash(place))
}

// path returns the place in the tree of an absolute path. It reports false if the path is outside
// of the tree.
func (t *fetchedTree) path(abs string) (string, bool) {
	if !diag.Within(abs, t.root) {
		return "", false
	}
	rel, err := filepath.Rel(t.root, abs)
	return filepath.ToSlash(rel), err == nil
}

// treeDir returns the directory of t at an absolute path. as is the path for messages.
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

// readTree reads a file for the layer in d, a directory of a tree. It never reads outside of the
// tree.
func (l *Local) readTree(d *Dir, abs, as string, limit int64) ([]byte, error) {
	place, ok := d.tree.path(abs)
	if !ok || filepath.IsAbs(as) && !d.tree.isGiven() {
		return nil, errOutside(d.tree, as)
	}
	if !l.isFree(d) && !diag.Within(abs, d.bound()) {
		return nil, &RestrictedError{Path: as, Root: l.boundName(d)}
	}
	real, err := d.tree.Real(place)
	if err != nil {
		return nil, d.tree.error(err, place, as)
	}
	if full := d.tree.abs(real); !l.isFree(d) && !diag.Within(full, d.bound()) {
		return nil, &RestrictedError{Path: as, Target: l.name(full), Root: l.boundName(d)}
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

// fetchedFile returns a fetched file that is not part of a tree. It returns the same Source for
// the same address and version.
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

// error converts an error of the tree at place to an error about as, the path that the user
// wrote.
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
	e := diag.Errorf(diag.Pos{}, "", "cannot read %q: %w", diag.Redact(as), err).With(diag.NotReadable)
	if errors.Is(err, cache.ErrAbsent) && !t.isGiven() {
		e.Hint("%s", t.submoduleHint(place))
	}
	return e
}

// errOutside returns the error for a path that leads out of a tree.
func errOutside(t *fetchedTree, as string) error {
	if t.isGiven() && t.name != "" {
		return diag.OutsideDirectory.Errorf("%q is outside %s, which contains only the files of the repository", diag.Redact(as), t.name)
	}
	if t.isGiven() {
		return diag.OutsideDirectory.Errorf("%q is outside the file system being rendered", diag.Redact(as))
	}
	return diag.OutsideDirectory.Errorf("%q is outside %s: fetched content must not refer to local paths", diag.Redact(as), t.name)
}

// fetchedName returns the name in messages of a path below fetchedRoot.
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

// Address returns the address, without credentials, of a path in a fetched repository. It is
// empty for any other path.
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
