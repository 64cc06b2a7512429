package records

import (
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/krmflow/krmflow/internal/sys/filestat"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/loaders"
	"golang.org/x/sync/errgroup"
)

// A view is the file system as one run sees it: each path is looked up once. A view must not be
// used concurrently.
type view struct {
	dirs    *filestat.Dirs
	files   map[string]*look
	near    *filestat.Looker // used while files are looked up one after another, otherwise nil
	fetches map[fetch]string // versions of references, whose came is empty
	fetch   loaders.Fetch    // nil if nothing is fetched
}

// look is the file at a path.
type look struct {
	mode fs.FileMode // only the type; fs.ModeIrregular if there is no file
	stat filestat.Stat
	real string // the target of a symbolic link, "" for other files and broken links

	isLink bool
	failed bool // the lookup failed, so there may be a file

	hashed   bool
	digest   krm.Digest // zero if the file cannot be read
	hashedAt time.Time
}

// newView returns a view. dirs may already contain directories that the run has looked up.
func newView(get loaders.Fetch, dirs *filestat.Dirs) *view {
	return &view{dirs: dirs, files: map[string]*look{}, fetches: map[fetch]string{}, fetch: get}
}

// came fetches a reference, as planning would, and returns the resulting version.
func (v *view) came(f fetch) string {
	f.came = ""
	came, ok := v.fetches[f]
	if !ok {
		came = "nothing is fetched here"
		if v.fetch != nil {
			came = loaders.Came(v.fetch(f.text, f.use, f.from))
		}
		v.fetches[f] = came
	}
	return came
}

// maxFetches is the maximum number of references resolved at the same time. Waiting for them
// does not occupy a core.
const maxFetches = 8

// fetchAll resolves references concurrently.
func (v *view) fetchAll(list []fetch) {
	var mu sync.Mutex
	var g errgroup.Group
	g.SetLimit(maxFetches)
	asked := map[fetch]bool{}
	for _, f := range list {
		f.came = ""
		if asked[f] || v.fetch == nil {
			continue
		}
		asked[f] = true
		g.Go(func() error {
			came := loaders.Came(v.fetch(f.text, f.use, f.from))
			mu.Lock()
			defer mu.Unlock()
			v.fetches[f] = came
			return nil
		})
	}
	_ = g.Wait() // the functions never return an error
}

// look looks up a path.
func (v *view) look(path string) *look {
	if l := v.files[path]; l != nil {
		return l
	}
	l := &look{mode: fs.ModeIrregular}
	v.files[path] = l
	l.find(path, v.near)
	return l
}

func (l *look) find(path string, near *filestat.Looker) {
	mode, stat, err := near.Lstat(path)
	if l.failed = isFailure(err); err != nil {
		return
	}
	l.mode, l.stat = mode, stat
	if l.mode&fs.ModeSymlink == 0 {
		return
	}
	l.isLink = true
	real, err := filepath.EvalSymlinks(path)
	if l.failed = isFailure(err); err != nil {
		return
	}
	if info, err := os.Lstat(real); err == nil {
		l.real, l.mode, l.stat = real, info.Mode().Type(), filestat.Of(info)
	}
}

// isFailure reports whether a lookup failed for a reason other than a missing file.
func isFailure(err error) bool {
	return err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR)
}

// batch is the number of files that lookAhead gives to a core at a time.
const batch = 256

// lookAhead looks up the files of traces, and reads the files that may have changed, on all cores.
// It sets file.now, which the caller must reset with the returned function.
func (v *view) lookAhead(traces []*trace) (reset func()) {
	var all, list []*file
	for _, t := range traces {
		for _, f := range t.files {
			if f.now != nil {
				continue
			}
			all = append(all, f)
			path := f.path()
			if f.now = v.files[path]; f.now != nil {
				continue
			}
			f.now = &look{mode: fs.ModeIrregular}
			v.files[path] = f.now
			if stat, ok := v.dirs.Stat(f.dir.path, f.name); ok {
				f.now.mode, f.now.stat = 0, stat
			} else if v.dirs.Lacks(f.dir.path, f.name) {
				continue
			}
			list = append(list, f)
		}
	}
	_ = inParallel(slices.Collect(slices.Chunk(list, batch)), func(part []*file) error { // never returns an error
		var near filestat.Looker
		defer near.Close()
		for _, f := range part {
			path := f.path()
			if f.now.mode == fs.ModeIrregular {
				f.now.find(path, &near)
			}
			if f.mustRead(f.now) {
				f.now.sum(path)
			}
		}
		return nil
	})
	return func() {
		for _, f := range all {
			f.now = nil
		}
	}
}

// exists reports whether there is a file, other than a broken symbolic link.
func (l *look) exists() bool { return l.mode&(fs.ModeIrregular|fs.ModeSymlink) == 0 }

// sum returns the digest of a regular file, or of the names in a directory. It returns the zero
// Digest for other files, and for files that cannot be read or are too large.
func (l *look) sum(path string) krm.Digest {
	if l.hashed {
		return l.digest
	}
	l.hashed = true
	l.hashedAt = time.Now()
	if l.mode.IsDir() {
		if entries, err := os.ReadDir(path); err == nil {
			l.digest = krm.DigestOf(loaders.NamesOf(entries))
		}
		return l.digest
	}
	if !l.mode.IsRegular() {
		return l.digest
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may have become a pipe
	if err != nil {
		return l.digest
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > loaders.MaxProgram {
		return l.digest
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, loaders.MaxProgram)); err != nil {
		return l.digest
	}
	l.stat = filestat.Of(info) // the metadata of the content that was read
	h.Sum(l.digest[:0])
	return l.digest
}

// whatever returns a digest of the type, the permissions and, for a regular file, the content.
// Permissions matter because the file may be a program.
func (l *look) whatever(path string) krm.Digest {
	text := []byte((l.mode | l.stat.Mode).String())
	if l.mode.IsRegular() {
		sum := l.sum(path)
		text = append(text, sum[:]...)
	}
	return krm.DigestOf(text)
}
