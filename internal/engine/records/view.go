package records

import (
	"crypto/sha256"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/krmflow/krmflow/internal/sys/filestat"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/loaders"
	"golang.org/x/sync/errgroup"
)

// A view is what the file system looks like to one run: each path is looked at once. It is not safe for concurrent use.
type view struct {
	dirs    *filestat.Dirs
	files   map[string]*look
	near    *filestat.Looker // as long as files are looked at one after the other, else nil
	fetches map[fetch]string // what came of them; those have none
	fetch   loaders.Fetch    // nil if nothing is fetched
}

// look is what there is at a path.
type look struct {
	mode fs.FileMode // its type alone counts; fs.ModeIrregular if there is nothing
	stat filestat.Stat
	real string // if it is a symbolic link: the file or directory that it leads to, "" if there is none

	isLink bool

	hashed   bool
	digest   krm.Digest // zero if it cannot be read
	hashedAt time.Time
}

// newView returns the view of a run that may have looked for directories before.
func newView(get loaders.Fetch, dirs *filestat.Dirs) *view {
	return &view{dirs: dirs, files: map[string]*look{}, fetches: map[fetch]string{}, fetch: get}
}

// came fetches a reference, as planning would, and returns what comes of that.
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

// maxFetches is how many references are opened at the same time: to wait for them takes no core.
const maxFetches = 8

// fetchAll opens references.
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
	_ = g.Wait() // none of them fails
}

// look looks at a path.
func (v *view) look(path string) *look {
	if l := v.files[path]; l != nil {
		return l
	}
	l := &look{mode: fs.ModeIrregular}
	v.files[path] = l
	mode, stat, err := v.near.Lstat(path)
	if err != nil {
		return l
	}
	l.mode, l.stat = mode, stat
	if l.mode&fs.ModeSymlink == 0 {
		return l
	}
	l.isLink = true
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return l
	}
	if info, err := os.Lstat(real); err == nil {
		l.real, l.mode, l.stat = real, info.Mode().Type(), filestat.Of(info)
	}
	return l
}

// exists reports whether there is something, and not only a link that leads nowhere.
func (l *look) exists() bool { return l.mode&(fs.ModeIrregular|fs.ModeSymlink) == 0 }

// sum returns the digest of a regular file, or of the names in a directory; the zero Digest if there is none that can be read, or more than a
// run reads.
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
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may be a pipe by now
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
	l.stat = filestat.Of(info) // of what was read
	h.Sum(l.digest[:0])
	return l.digest
}

// whatever returns a digest of what there is, a regular file with its permissions or not: it may be a program.
func (l *look) whatever(path string) krm.Digest {
	text := []byte((l.mode | l.stat.Mode).String())
	if l.mode.IsRegular() {
		sum := l.sum(path)
		text = append(text, sum[:]...)
	}
	return krm.DigestOf(text)
}
