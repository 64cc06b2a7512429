// Package loaders opens the files that a build reads. Each file is read once per run and hashed as it was read, so that
// one run never sees two versions of it and the digest in the plan is that of the bytes used.
package loaders

import (
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

// A Local reads files below the directories of a build. It is safe for concurrent use.
type Local struct {
	ctx context.Context // when it has ended nothing more is read
	cwd string
	// absolute makes messages and node ids show absolute paths: the user named nothing but such.
	absolute bool
	// unrestricted allows files outside the root of the layer that names them (LoadRestrictionsNone).
	unrestricted bool
	freeRoot     func(real string) bool         // the same for the layers of some roots; may be nil
	same         func(name string) *yaml.Source // see sharing
	budget       *Budget
	fs           *fetchedTree // that has the roots, nil for the file system of this machine

	mu    sync.Mutex
	files map[string]file
	known map[filestat.Stat]*yaml.Source // those that were read, whatever their names are
	dirs  map[string]string              // absolute path of a directory -> the same without symbolic links
	// parents is the same for the directories that those in dirs are in.
	parents map[string]string
	early   map[string]*early // what was read ahead, by absolute path
	// fetch fetches; nil if nothing is to be fetched. fetched is what was, trees those by their roots.
	fetch        Fetch
	instead      map[string][]byte // see [Config]
	fetched      []Fetched
	trees        map[string]*fetchedTree
	fetchedFiles map[*yaml.Source]bool
	// untaken is how many bytes were read ahead that nobody has asked for yet.
	untaken int64
	seen    map[string]*observed // by directory; nil if nobody wants to know
	// rootDirs are the directories of the roots without symbolic links, by their names; nil if nobody wants to know.
	rootDirs map[string]string
	pointers map[string]bool        // see Pointers
	work     func(over func() bool) // for those who wait for what is being read ahead; may be nil
}

// file is a file that was read, with the directory that it was read from: another directory must allow it anew.
type file struct {
	src   *yaml.Source
	dir   DirKey
	stat  filestat.Stat
	plain bool
}

// A Config says what a [Local] reads. The zero Config is that of the file system of this machine, without a working directory.
type Config struct {
	// Cwd is where relative paths start: absolute, or empty if there is none.
	Cwd string
	// FS has the roots, and all that layers name by a path; nil stands for the file system of this machine. What the user names
	// besides, such as a catalog, is on this machine all the same.
	FS fs.FS
	// FSName is what messages put before the names of files in FS, "git:v1:" for instance.
	FSName string
	// Roots are what the run renders. Messages show paths relative to Cwd unless all roots are absolute: what several roots share
	// has one name.
	Roots []string
	// Unrestricted lets layers name files outside their own directory.
	Unrestricted bool
	// Free reports that for a root, by its path without symbolic links: for all layers that are reached from it. It may be nil.
	Free func(real string) bool
	// Budget bounds what is read; nil is no limit.
	Budget *Budget
	// Fetch fetches what is remote; without it, that is an error.
	Fetch Fetch
	// Instead has files of this machine, by their absolute paths without symbolic links, that are read as if they had other contents, also
	// if they do not exist. One whose content is nil is read as if it did not.
	Instead map[string][]byte
	// Observe keeps what layers see of the file system of this machine: see [Local.Observed].
	Observe bool
}

// NewLocal returns a Local for one run. When ctx has ended it reads nothing more, and says why.
func NewLocal(ctx context.Context, c Config) *Local {
	if real, err := filepath.EvalSymlinks(c.Cwd); err == nil && c.Cwd != "" {
		c.Cwd = real
	}
	relative := slices.ContainsFunc(c.Roots, func(path string) bool { return !filepath.IsAbs(path) })
	l := &Local{
		ctx: ctx, cwd: c.Cwd, absolute: !relative, unrestricted: c.Unrestricted, freeRoot: c.Free, budget: c.Budget,
		fetch: c.Fetch, instead: c.Instead, trees: map[string]*fetchedTree{}, fetchedFiles: map[*yaml.Source]bool{},
		files: map[string]file{}, known: map[filestat.Stat]*yaml.Source{}, dirs: map[string]string{}, parents: map[string]string{}, early: map[string]*early{},
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
	// Real is the absolute path without symbolic links: two Dirs are the same directory if their Real is equal.
	Real string
	// Name is the path that messages show.
	Name string
	// Free is true if layers in it may name files outside of it, although not all may.
	Free   bool
	root   *os.Root
	handle *os.File     // of the directory itself
	tree   *fetchedTree // that it is part of, nil for a directory of this machine
	ahead  bool         // see Ahead
}

// Ahead makes d, and what is opened by way of it, a directory that is read ahead: what is seen there is not what a layer has seen.
func (d *Dir) Ahead() *Dir {
	d.ahead = true
	return d
}

// Close releases what reading files of d has opened.
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

// A DirKey tells a Dir from others, also from one that is the same directory, in which layers may read other files.
type DirKey struct {
	Real string
	Free bool
}

// Key returns what tells d from others.
func (d *Dir) Key() DirKey { return DirKey{d.Real, d.Free} }

// like returns d, which a layer in the directory by refers to: what that may read, the layer in d may. Both may be nil.
func (d *Dir) like(by *Dir) *Dir {
	if d != nil && by != nil {
		d.Free, d.ahead = by.Free, by.ahead
	}
	return d
}

// isFree reports whether layers in d may name files outside of it.
func (l *Local) isFree(d *Dir) bool { return l.unrestricted || d.Free }

// Contains reports whether o is d or lies below it.
func (d *Dir) Contains(o *Dir) bool { return diag.Within(o.Real, d.Real) }

// Root returns the directory that the user names on the command line.
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

// Sub returns the directory that the layer in d refers to as path, or by a reference to something remote.
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

// resolve returns abs, a clean path, without symbolic links, and what is there. Layers have few parents, which are resolved once.
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

// name returns how messages show the path of something that is rendered.
func (l *Local) name(real string) string {
	if l.absolute && !strings.HasPrefix(real, fetchedRoot) {
		return real
	}
	return l.Name(real)
}

// IsDir reports whether path, relative to d, exists and is a directory.
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

// Read returns the file that the layer in d refers to as path, or by a reference to something remote. The same file is read only once per run, also if it has several
// names.
func (l *Local) Read(d *Dir, path string) (*yaml.Source, error) {
	return l.ReadUpTo(yaml.MaxFile, d, path)
}

// ReadUpTo is [Local.Read] that refuses files of more than limit bytes.
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
	if known.src != nil && (l.unrestricted || known.dir == d.Key()) && int64(len(known.src.Data)) <= limit && !(d.IsFetched() && isPointer(known.src.Data)) {
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

// keep makes what was read the file at abs, unless somebody else was faster.
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

// absolute returns the absolute path of what the layer in d refers to as path.
func absolute(d *Dir, path string) string {
	switch {
	case filepath.IsAbs(path) && d.tree != nil && d.tree.isGiven():
		return givenPath(path)
	case filepath.IsAbs(path):
		return filepath.Clean(path)
	case len(d.Real) > 1 && path != "" && path[0] != '.' && strings.IndexByte(path, '/') < 0 && filepath.Separator == '/':
		return d.Real + "/" + path // nearly all are names of files in d
	}
	return filepath.Join(d.Real, path)
}

// content is what was read of a file, without the data if it is known.
type content struct {
	stat   filestat.Stat
	plain  bool // no symbolic link below the directory of the layer leads to it
	data   []byte
	parsed *yaml.Source // of data, if it was read ahead and parsed
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
	if text, ok := l.instead[abs]; ok && (l.isFree(d) || diag.Within(abs, d.Real)) {
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

// identify returns what tells an open file from others, the zero Stat if nothing does: what does not know its size, as all files in /proc, is
// always another one.
func identify(f *os.File) filestat.Stat {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return filestat.Stat{}
	}
	return filestat.Of(info)
}

// isKnown reports whether a file was read.
func (l *Local) isKnown(stat filestat.Stat) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	src := l.known[stat]
	return src != nil && int64(len(src.Data)) == stat.Size
}

// ReadFile returns the content of a regular file of at most limit bytes and refuses anything else.
func ReadFile(path string, limit int64) ([]byte, error) {
	f, err := os.OpenFile(path, openFlags, 0)
	if err != nil {
		return nil, pathError(err, path, path)
	}
	defer f.Close()
	return readAll(f, path, limit)
}

// openFlags let the open of a FIFO return at once; it is refused afterwards because it is not a regular file.
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
		root, err := os.OpenRoot(d.Real)
		if err != nil {
			return nil, pathError(err, as, d.Real)
		}
		d.root = root
	}
	if rel, err := relative(d.Real, abs); err == nil && filepath.IsLocal(rel) {
		// A symbolic link that stays inside is followed, any other path is looked at below.
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
	if !diag.Within(real, d.Real) {
		e := &RestrictedError{Path: as, Root: d.Name}
		if diag.Within(abs, d.Real) {
			e.Target = l.name(real)
		}
		return nil, e
	}
	rel, err := filepath.Rel(d.Real, real)
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

// regularSize returns the size of a regular file and refuses anything else, and what is larger than limit.
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

// readUnsized reads a file that says it is empty, as all files in /proc do. Some of those never end.
func readUnsized(f *os.File, as string, limit int64) ([]byte, error) {
	_ = f.SetReadDeadline(time.Now().Add(time.Second)) // fails for files that cannot keep a reader waiting
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("it is larger than %d MiB", limit>>20)
	}
	if err != nil {
		return nil, pathError(err, as, "")
	}
	return data, nil
}

// pathError turns an error of the operating system into one that names the path as the user wrote it.
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

// Sources returns the files that were read, sorted by name.
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

// Name returns the absolute path real relative to the working directory.
func (l *Local) Name(real string) string {
	if strings.HasPrefix(real, fetchedRoot) {
		return l.fetchedName(real)
	}
	if rel, err := relative(l.cwd, real); err == nil {
		return rel
	}
	return real
}

// relative is [filepath.Rel] of two clean paths. Nearly all files are below dir, where nothing needs to be looked at twice.
func relative(dir, path string) (string, error) {
	if rel, ok := strings.CutPrefix(path, dir); ok && len(rel) > 1 && os.IsPathSeparator(rel[0]) {
		return rel[1:], nil
	}
	return filepath.Rel(dir, path)
}

// ReadFile returns the file at an absolute path that the user named, wherever it is, and its path without symbolic links.
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
