// Package loaders opens the files that a build reads. Each file is read once per run and its
// digest is computed from the bytes in memory. A run therefore never uses two versions of a file,
// and the digests in a plan are those of the bytes used.
package loaders

import (
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
	"syscall"
	"time"

	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/sys/filestat"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/reference"
)

// A Local reads the files of a build below its directories. It is safe for concurrent use.
//
// By default a layer may only read files in or below its own directory, as in kustomize. A read
// therefore names the directory of the layer ([Dir]), and a cached file is returned only for the
// directory that it was read for; any other directory is checked anew. Symbolic links are
// followed as long as they stay in the directory.
//
// A directory is either on this machine, in fetched content, or in the [fs.FS] that a program
// passed to the run. The latter two are trees with paths below fetchedRoot, so the rest of
// krmflow handles all of them as directories with absolute paths.
type Local struct {
	ctx context.Context // reading stops when it is done
	cwd string
	// absolute makes messages and node ids show absolute paths. It is set if the user named only
	// absolute paths.
	absolute bool
	// unrestricted allows files outside the root of the layer that refers to them
	// (LoadRestrictionsNone).
	unrestricted bool
	freeRoot     func(real string) bool         // like unrestricted, for the layers of some roots; may be nil
	same         func(name string) *yaml.Source // see sharing
	budget       *Budget
	fs           *fetchedTree // contains the roots; nil for the local file system

	mu    sync.Mutex
	files map[string]file
	known map[filestat.Stat]*yaml.Source // files by stat, to share files with several names
	dirs  map[string]string              // absolute path of a directory -> path with symbolic links resolved
	// parents is the same for the parents of dirs.
	parents map[string]string
	early   map[string]*early // read-ahead files by absolute path
	// fetch fetches references; nil if fetching is not allowed. fetched has the results, trees
	// the fetched trees by root.
	fetch        Fetch
	instead      map[string][]byte // see [Config]
	fetched      []Fetched
	trees        map[string]*fetchedTree
	fetchedFiles map[*yaml.Source]bool
	// untaken is the number of bytes read ahead but not requested yet.
	untaken int64
	seen    map[string]*observed // by directory; nil if not observing
	// rootDirs maps root names to directories with symbolic links resolved; nil if not observing.
	rootDirs map[string]string
	pointers map[string]bool        // see Pointers
	work     func(over func() bool) // see WhileWaiting; may be nil
}

// file is a file that was read, and the directory that it was read for. For a different
// directory, access is checked again.
type file struct {
	src   *yaml.Source
	dir   DirKey
	stat  filestat.Stat
	plain bool
}

// A Config configures a [Local]. The zero Config reads the local file system, without a working
// directory.
type Config struct {
	// Cwd is the base of relative paths. It is absolute, or empty if there is no working
	// directory.
	Cwd string
	// FS contains the roots and all files that layers refer to by path; nil means the local file
	// system. Other files that the user names, such as catalogs, are always local.
	FS fs.FS
	// FSName is the prefix for file names in FS in messages, for example "git:v1:".
	FSName string
	// Roots are the roots to render. Messages show paths relative to Cwd unless all roots are
	// absolute, so that a file shared by several roots has only one name.
	Roots []string
	// Unrestricted lets layers refer to files outside their own directory.
	Unrestricted bool
	// Free reports whether a root, given by its resolved path, and all layers reached from it are
	// unrestricted. It may be nil.
	Free func(real string) bool
	// Budget limits the input; nil means no limit.
	Budget *Budget
	// Fetch fetches remote references. If nil, remote references are errors.
	Fetch Fetch
	// Instead maps absolute paths, with symbolic links resolved, to contents that replace those
	// of local files. The files need not exist. A nil content makes a file appear missing.
	Instead map[string][]byte
	// Observe enables recording of the files that layers see; see [Local.Observed].
	Observe bool
}

// NewLocal returns a Local for one run. When ctx is done, reading fails with the cause of ctx.
func NewLocal(ctx context.Context, c Config) *Local {
	if real, err := filepath.EvalSymlinks(c.Cwd); err == nil && c.Cwd != "" {
		c.Cwd = real
	}
	relative := slices.ContainsFunc(c.Roots, func(path string) bool { return !filepath.IsAbs(path) })
	l := &Local{
		ctx: ctx, cwd: c.Cwd, absolute: !relative, unrestricted: c.Unrestricted, freeRoot: c.Free, budget: c.Budget,
		fetch: c.Fetch, instead: c.Instead, trees: map[string]*fetchedTree{}, fetchedFiles: map[*yaml.Source]bool{},
		files: map[string]file{}, known: map[filestat.Stat]*yaml.Source{}, dirs: map[string]string{}, parents: map[string]string{},
		early: map[string]*early{},
	}
	if c.Observe {
		l.seen, l.rootDirs = map[string]*observed{}, map[string]string{}
	}
	if c.FS != nil {
		l.fs = &fetchedTree{files: &given{FS: c.FS, known: map[string]string{}}, root: givenRoot, name: c.FSName}
		l.trees[givenRoot] = l.fs
		if s, ok := c.FS.(sharing); ok {
			l.same = s.Source
		}
	}
	return l
}

// A Dir is an existing directory that layers are loaded from.
type Dir struct {
	// Real is the absolute path with symbolic links resolved. Two Dirs with equal Real are the
	// same directory.
	Real string
	// Name is the path in messages.
	Name string
	// Free reports that layers in this directory may refer to files outside of it although the
	// run is restricted.
	Free   bool
	root   *os.Root
	handle *os.File     // of the directory itself
	owner  string       // of observations, see RootOf
	within string       // the directory that layers may read files of, "" for Real
	tree   *fetchedTree // tree that it is part of; nil for a local directory
	ahead  bool         // see Ahead
}

// Ahead marks d, and every directory opened from it, as read ahead: observations are not recorded
// for it. It returns d.
func (d *Dir) Ahead() *Dir {
	d.ahead = true
	return d
}

// Close closes the files that were opened for reading below d. d remains usable.
func (d *Dir) Close() {
	if d.root != nil {
		d.root.Close()
		d.root = nil
	}
	if d.handle != nil {
		d.handle.Close()
		d.handle = nil
	}
}

// A DirKey identifies a Dir, including its permission to read outside.
type DirKey struct {
	Real   string
	Free   bool
	within string
}

// IsUsual reports whether layers may only read files in their directory.
func (k DirKey) IsUsual() bool { return !k.Free && k.within == "" }

// Key returns the key of d.
func (d *Dir) Key() DirKey { return DirKey{d.Real, d.Free, d.within} }

// bound returns the directory that layers in d may read files of, unless they are free.
func (d *Dir) bound() string { return cmp.Or(d.within, d.Real) }

// like gives d, a directory that a layer in by refers to, the permissions of by. It returns d.
// Both may be nil.
func (d *Dir) like(by *Dir) *Dir {
	if d != nil && by != nil {
		d.Free, d.ahead, d.within = by.Free, by.ahead, by.within
	}
	return d
}

// boundName returns the name of the bound of d in messages.
func (l *Local) boundName(d *Dir) string {
	if d.within == "" {
		return d.Name
	}
	return l.name(d.within)
}

// isFree reports whether layers in d may refer to files outside of it.
func (l *Local) isFree(d *Dir) bool { return l.unrestricted || d.Free }

// Contains reports whether o is d or is below it.
func (d *Dir) Contains(o *Dir) bool { return diag.Within(o.Real, d.Real) }

// Root returns the directory for a path on the command line.
func (l *Local) Root(path string) (*Dir, error) {
	if path == "" {
		return nil, diag.MissingField.Errorf("the directory must not be empty")
	}
	if l.fs != nil {
		d, err := l.treeDir(l.fs, givenPath(path), path)
		if err != nil {
			return nil, err
		}
		l.observeRoot(d, givenPath(path), path)
		d.Free = l.freeRoot != nil && l.freeRoot(d.Real)
		return d, nil
	}
	abs := path
	if !filepath.IsAbs(abs) {
		if l.cwd == "" {
			return nil, diag.NotReadable.Errorf("the path is relative and the working directory does not exist")
		}
		abs = filepath.Join(l.cwd, path)
	}
	d, err := l.dir(abs, path)
	if err != nil {
		return nil, err
	}
	l.observeRoot(d, abs, path)
	if l.freeRoot != nil {
		d.Free = l.freeRoot(d.Real)
	}
	return d, nil
}

// RootOf returns the directory at an absolute path for a root with a name of its own. Its layers
// may read files below the directory within, an absolute path without symbolic links; "" means
// their own directories. The observations of its layer are separate from those of other layers in
// the directory: see [Local.Observed].
func (l *Local) RootOf(name, path, within string) (*Dir, error) {
	var d *Dir
	var err error
	if l.fs != nil {
		d, err = l.treeDir(l.fs, givenPath(path), path)
	} else {
		d, err = l.dir(path, l.name(path))
	}
	if err != nil {
		return nil, err
	}
	if l.fs != nil && within != "" {
		within = givenPath(within)
	}
	if within != "" && !diag.Within(d.Real, within) { // a symbolic link
		return nil, &RestrictedError{Path: d.Name, Target: l.name(d.Real), Root: l.name(within)}
	}
	d.owner, d.within = name, within
	if l.seen != nil {
		l.observe(d, Observation{Path: d.Real, Kind: SawDir, Real: d.Real})
		l.mu.Lock()
		defer l.mu.Unlock()
		l.rootDirs[diag.Redact(name)] = name
	}
	return d, nil
}

// Sub returns the directory that the layer in d refers to by a relative path or a remote
// reference.
func (l *Local) Sub(d *Dir, path string) (*Dir, error) {
	if l.ctx.Err() != nil {
		return nil, context.Cause(l.ctx)
	}
	if IsRemote(path) {
		return l.FetchDir(d, path)
	}
	var sub *Dir
	var err error
	if d.tree != nil {
		if sub, err = l.treeDir(d.tree, filepath.Join(d.Real, path), path); err == nil {
			l.observe(d, Observation{Path: sub.Real, Kind: SawDir, Real: sub.Real})
		} else if d.tree.isGiven() {
			l.observe(d, Observation{Path: filepath.Join(d.Real, path), Kind: SawNoDir})
		}
	} else {
		sub, err = l.observedDir(d, filepath.Join(d.Real, path), path)
	}
	return sub.like(d), err
}

func (l *Local) dir(abs, as string) (*Dir, error) {
	l.mu.Lock()
	real, known := l.dirs[abs]
	l.mu.Unlock()
	if !known {
		var info fs.FileInfo
		var err error
		if real, info, err = l.resolve(abs); err != nil {
			return nil, pathError(err, as, abs)
		}
		if !info.IsDir() {
			return nil, notDir(as)
		}
		l.mu.Lock()
		l.dirs[abs] = real
		l.mu.Unlock()
	}
	return &Dir{Real: real, Name: l.name(real)}, nil
}

// resolve returns abs, a clean path, with symbolic links resolved, and its file info. Resolved
// parents are cached, because many layers have the same parents.
func (l *Local) resolve(abs string) (real string, info fs.FileInfo, err error) {
	parent := filepath.Dir(abs)
	l.mu.Lock()
	within, known := l.parents[parent]
	l.mu.Unlock()
	if !known {
		if within, err = filepath.EvalSymlinks(parent); err != nil {
			return "", nil, err
		}
		l.mu.Lock()
		l.parents[parent] = within
		l.mu.Unlock()
	}
	real = filepath.Join(within, filepath.Base(abs))
	if info, err = os.Lstat(real); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return real, info, err
	}
	if real, err = filepath.EvalSymlinks(abs); err != nil {
		return "", nil, err
	}
	info, err = os.Stat(real)
	return real, info, err
}

// name returns the name of a rendered file or directory in messages.
func (l *Local) name(real string) string {
	if l.absolute && !strings.HasPrefix(real, fetchedRoot) {
		return real
	}
	return l.Name(real)
}

// IsDir reports whether path, relative to d, is an existing directory.
func (l *Local) IsDir(d *Dir, path string) bool {
	if filepath.IsAbs(path) {
		return false
	}
	abs := filepath.Join(d.Real, path)
	if d.tree != nil {
		sub, err := l.treeDir(d.tree, abs, path)
		switch {
		case err == nil:
			l.observe(d, Observation{Path: abs, Kind: SawDir, Real: sub.Real})
		case d.tree.isGiven():
			l.observe(d, Observation{Path: abs, Kind: SawNoDir})
		}
		return err == nil || errors.Is(err, cache.ErrAbsent)
	}
	_, err := l.observedDir(d, abs, path)
	return err == nil
}

// Read returns the file that the layer in d refers to by a path or a remote reference. A file is
// read only once per run, even under several names.
func (l *Local) Read(d *Dir, path string) (*yaml.Source, error) {
	return l.ReadUpTo(yaml.MaxFile, d, path)
}

// ReadUpTo is [Local.Read] with a limit for the size of the file in bytes.
func (l *Local) ReadUpTo(limit int64, d *Dir, path string) (*yaml.Source, error) {
	if l.ctx.Err() != nil {
		return nil, context.Cause(l.ctx)
	}
	if IsRemoteFile(path) {
		return l.fetchFile(d, path, reference.File, limit)
	}
	abs := absolute(d, path)
	l.mu.Lock()
	known, early := l.files[abs], l.early[abs]
	l.mu.Unlock()
	if known.src != nil && (l.unrestricted || known.dir == d.Key()) && int64(len(known.src.Data)) <= limit &&
		!(d.IsFetched() && isPointer(known.src.Data)) {
		l.observe(d, Observation{Path: abs, Kind: SawFile, Source: known.src, Stat: known.stat, Plain: known.plain})
		return known.src, nil
	}
	var read content
	var err error
	if early != nil && early.dir == d.Key() && early.limit == limit {
		read, err = l.take(early, d, abs, path)
	} else {
		read, err = l.read(d, abs, path, limit)
	}
	if err != nil {
		l.observeError(d, abs, err)
		return nil, err
	}
	src := l.keep(d, abs, read)
	if err := l.checkPointer(d.IsFetched(), src.Data, path, src.File); err != nil {
		return nil, err
	}
	l.observe(d, Observation{Path: abs, Kind: SawFile, Source: src, Stat: read.stat, Plain: read.plain})
	return src, nil
}

// keep stores the read content as the file at abs and returns it. If another goroutine was
// faster, it returns that file.
func (l *Local) keep(d *Dir, abs string, read content) *yaml.Source {
	name := l.name(abs)
	l.mu.Lock()
	defer l.mu.Unlock()
	if known := l.files[abs]; known.src != nil {
		return known.src
	}
	src := read.parsed
	if src == nil {
		src = &yaml.Source{File: name, Data: read.data}
	}
	if first := l.known[read.stat]; first != nil && read.data == nil {
		src = first.As(src.File)
	} else if read.stat != (filestat.Stat{}) {
		l.known[read.stat] = src
	}
	l.files[abs] = file{src, d.Key(), read.stat, read.plain}
	if d.IsFetched() {
		l.fetchedFiles[src] = true
	}
	return src
}

// absolute returns the absolute path for a path in a layer of d.
func absolute(d *Dir, path string) string {
	switch {
	case filepath.IsAbs(path) && d.tree != nil && d.tree.isGiven():
		return givenPath(path)
	case filepath.IsAbs(path):
		return filepath.Clean(path)
	case len(d.Real) > 1 && path != "" && path[0] != '.' && strings.IndexByte(path, '/') < 0 && filepath.Separator == '/':
		return d.Real + "/" + path // fast path for the name of a file in d
	}
	return filepath.Join(d.Real, path)
}

// content is the result of reading a file. It has no data if a file with the same stat is known.
type content struct {
	stat   filestat.Stat
	plain  bool // no symbolic link below the directory of the layer leads to the file
	data   []byte
	parsed *yaml.Source // parsed data, if it was read ahead
}

func (l *Local) read(d *Dir, abs, as string, limit int64) (content, error) {
	if d.tree != nil {
		if src := l.sameFile(d, abs, limit); src != nil {
			return content{parsed: src.As(l.name(abs))}, l.budget.take(int64(len(src.Data)))
		}
		data, err := l.readTree(d, abs, as, limit)
		if err == nil {
			err = l.budget.take(int64(len(data)))
		}
		return content{data: data}, err
	}
	if text, ok := l.instead[abs]; ok && (l.isFree(d) || diag.Within(abs, d.bound())) {
		switch {
		case text == nil:
			return content{}, pathError(fs.ErrNotExist, as, abs)
		case int64(len(text)) > limit:
			return content{}, errTooLarge(as, limit)
		}
		return content{data: text}, l.budget.take(int64(len(text)))
	}
	if rel, err := relative(d.Real, abs); !l.isFree(d) && err == nil && filepath.IsLocal(rel) {
		// The common case. A symbolic link that stays inside is followed.
		c, err := l.readBeneath(d, rel, limit)
		switch {
		case err == nil, errors.Is(err, diag.ErrLimit):
			return c, err
		case errors.Is(err, fs.ErrNotExist):
			return c, pathError(err, as, abs)
		}
	}
	f, err := l.open(d, abs, as)
	if err != nil {
		return content{}, err
	}
	defer f.Close()
	stat := identify(f)
	if stat.Size <= limit && l.isKnown(stat) {
		return content{stat: stat}, nil
	}
	data, err := readAll(f, as, limit)
	if err == nil {
		err = l.budget.take(int64(len(data)))
	}
	return content{stat: stat, data: data}, err
}

// identify returns the stat that identifies an open file. It returns the zero Stat for an empty
// file or a file of unknown size, such as those in /proc; these are never shared.
func identify(f *os.File) filestat.Stat {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return filestat.Stat{}
	}
	return filestat.Of(info)
}

// isKnown reports whether a file with this stat was already read.
func (l *Local) isKnown(stat filestat.Stat) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	src := l.known[stat]
	return src != nil && int64(len(src.Data)) == stat.Size
}

// ReadFile returns the content of a regular file of at most limit bytes. It refuses any other
// type of file.
func ReadFile(path string, limit int64) ([]byte, error) {
	f, err := os.OpenFile(path, openFlags, 0)
	if err != nil {
		return nil, pathError(err, path, path)
	}
	defer f.Close()
	return readAll(f, path, limit)
}

// openFlags makes opening a FIFO return at once. It is refused afterwards because it is not a
// regular file.
const openFlags = os.O_RDONLY | syscall.O_NONBLOCK

func (l *Local) open(d *Dir, abs, as string) (*os.File, error) {
	if l.isFree(d) {
		f, err := os.OpenFile(abs, openFlags, 0)
		if err != nil {
			return nil, pathError(err, as, abs)
		}
		return f, nil
	}
	if d.root == nil {
		root, err := os.OpenRoot(d.bound())
		if err != nil {
			return nil, pathError(err, as, d.bound())
		}
		d.root = root
	}
	if rel, err := relative(d.bound(), abs); err == nil && filepath.IsLocal(rel) {
		// A symbolic link that stays inside is followed. Any other path is checked below.
		f, err := d.root.OpenFile(rel, openFlags, 0)
		if err == nil {
			return f, nil
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil, pathError(err, as, abs)
		}
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return nil, pathError(err, as, abs)
	}
	if !diag.Within(real, d.bound()) {
		e := &RestrictedError{Path: as, Root: l.boundName(d)}
		if diag.Within(abs, d.bound()) {
			e.Target = l.name(real)
		}
		return nil, e
	}
	rel, err := filepath.Rel(d.bound(), real)
	if err != nil {
		return nil, err
	}
	f, err := d.root.OpenFile(rel, openFlags, 0)
	if err != nil {
		return nil, pathError(err, as, abs)
	}
	return f, nil
}

func readAll(f *os.File, as string, limit int64) ([]byte, error) {
	size, err := regularSize(f, as, limit)
	if err != nil {
		return nil, err
	}
	if size == 0 {
		return readUnsized(f, as, limit)
	}
	data := make([]byte, size)
	n, err := io.ReadFull(f, data)
	if err != nil && err != io.ErrUnexpectedEOF && err != io.EOF {
		return nil, pathError(err, as, "")
	}
	return data[:n], nil
}

// regularSize returns the size of a regular file. It returns an error for any other type of file,
// and for a size over limit.
func regularSize(f *os.File, as string, limit int64) (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, pathError(err, as, "")
	}
	switch {
	case info.IsDir():
		return 0, diag.NotAFile.Errorf("%q is a directory, not a file", as)
	case !info.Mode().IsRegular():
		return 0, diag.NotReadable.Errorf("%q is not a regular file", as)
	case info.Size() > limit:
		return 0, errTooLarge(as, limit)
	}
	return info.Size(), nil
}

func errTooLarge(as string, limit int64) error {
	return fmt.Errorf("%q is larger than %d MiB", as, limit>>20)
}

// readUnsized reads a file of reported size 0. Files in /proc report this, and some of them never
// end.
func readUnsized(f *os.File, as string, limit int64) ([]byte, error) {
	_ = f.SetReadDeadline(time.Now().Add(time.Second)) // fails for files that cannot block
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("it is larger than %d MiB", limit>>20)
	}
	if err != nil {
		return nil, pathError(err, as, "")
	}
	return data, nil
}

// pathError converts an error of the operating system to an error that names the path as the user
// wrote it.
func pathError(err error, as, abs string) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return &NotFoundError{Path: as, abs: abs}
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	if errors.Is(err, syscall.ELOOP) || strings.Contains(err.Error(), "too many links") {
		return diag.NotReadable.Errorf("%q is a symbolic link that leads to itself", diag.Redact(as))
	}
	return diag.NotReadable.Errorf("cannot read %q: %w", diag.Redact(as), err)
}

// Sources returns all files that were read, sorted by name.
func (l *Local) Sources() []*yaml.Source {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]*yaml.Source, 0, len(l.files))
	for _, f := range l.files {
		out = append(out, f.src)
	}
	slices.SortFunc(out, func(a, b *yaml.Source) int { return strings.Compare(a.File, b.File) })
	return out
}

// Name returns the absolute path real relative to the working directory, if possible.
func (l *Local) Name(real string) string {
	if strings.HasPrefix(real, fetchedRoot) {
		return l.fetchedName(real)
	}
	if rel, err := relative(l.cwd, real); err == nil {
		return rel
	}
	return real
}

// relative is [filepath.Rel] for clean paths, with a fast path for files below dir.
func relative(dir, path string) (string, error) {
	if rel, ok := strings.CutPrefix(path, dir); ok && len(rel) > 1 && os.IsPathSeparator(rel[0]) {
		return rel[1:], nil
	}
	return filepath.Rel(dir, path)
}

// ReadFile returns the file at an absolute path given by the user, without access checks, and its
// path with symbolic links resolved.
func (l *Local) ReadFile(abs string) (*yaml.Source, string, error) {
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return nil, "", pathError(err, l.Name(abs), abs)
	}
	dir := &Dir{Real: filepath.Dir(real), Name: l.Name(filepath.Dir(real))}
	defer dir.Close()
	src, err := l.Read(dir, filepath.Base(real))
	return src, real, err
}
