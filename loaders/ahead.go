package loaders

import (
	"errors"
	"io/fs"
	"sync"

	"github.com/krmflow/krmflow/krm/yaml"
)

// early is a file that was read ahead, for the layer in dir.
type early struct {
	dir   DirKey
	limit int64
	mu    sync.Mutex // held until the rest is known
	content
	err error
}

// maxUntaken is how many bytes are read ahead and kept for those who will ask for them. What a run may take of memory depends on
// what it has read, which these do not count for yet.
const maxUntaken = 4 << 20

// ReadAhead reads what [Local.ReadUpTo] will be asked for, so that it is there then, and returns it; nil if there is nothing to be
// done, or nothing that can be done. Until somebody asks for it, the file is none of [Local.Sources] and counts against no
// budget: to read ahead changes no result.
//
// parse is called with the file, to parse it as those who ask for it will, and may be nil. If the file has mistakes or warnings, they
// find a file that was not parsed: which of them are told, and how, depends on who asks first and what for.
func (l *Local) ReadAhead(limit int64, d *Dir, path string, parse func(*yaml.Source) error) *yaml.Source {
	abs := absolute(d, path)
	if d.tree != nil && l.sameFile(d, abs, limit) != nil {
		return nil
	}
	e := &early{dir: d.Key(), limit: limit, err: errors.ErrUnsupported}
	e.mu.Lock()
	defer e.mu.Unlock()
	l.mu.Lock()
	if l.early[abs] != nil || l.files[abs].src != nil || l.untaken > maxUntaken {
		l.mu.Unlock()
		return nil
	}
	l.early[abs] = e
	l.mu.Unlock()
	// Errors are found anew by who asks. Nothing that others change is read here: neither the trees nor what names them.
	e.content, e.err = (&Local{ctx: l.ctx, cwd: l.cwd, absolute: l.absolute, unrestricted: l.unrestricted, instead: l.instead}).read(d, abs, path, min(limit, maxUntaken))
	if e.err != nil {
		return nil
	}
	l.mu.Lock()
	l.untaken += int64(len(e.data))
	l.mu.Unlock()
	src := &yaml.Source{File: l.name(abs), Data: e.data}
	if l.seen != nil {
		src.Digest() // somebody will want it: now the bytes are at hand, and other cores have time
	}
	if parse != nil && (parse(src) != nil || len(src.Warnings()) > 0) {
		return nil
	}
	e.parsed = src
	return src
}

// IsFull reports whether so much was read ahead that nobody has asked for that [Local.ReadAhead] reads no more.
func (l *Local) IsFull() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.untaken > maxUntaken
}

// WhileWaiting makes those who ask for a file that is still being read ahead call work before they wait for it. work may read ahead
// itself, and returns when over says that the file is there, or when it has nothing to do. To be called before anything is read.
func (l *Local) WhileWaiting(work func(over func() bool)) { l.work = work }

// lock locks e when it was read.
func (l *Local) lock(e *early) {
	locked := e.mu.TryLock()
	if !locked && l.work != nil {
		l.work(func() bool {
			locked = locked || e.mu.TryLock()
			return locked
		})
	}
	if !locked {
		e.mu.Lock()
	}
}

// take returns content that was read ahead, as [Local.read] does. After an error it reads the file
// again for a complete message, except after "not found" on this machine.
func (l *Local) take(e *early, d *Dir, abs, as string) (content, error) {
	l.lock(e)
	defer e.mu.Unlock()
	if d.tree == nil && errors.Is(e.err, fs.ErrNotExist) {
		return content{}, pathError(fs.ErrNotExist, as, abs)
	}
	if e.err != nil {
		return l.read(d, abs, as, e.limit)
	}
	l.mu.Lock()
	l.untaken -= int64(len(e.data))
	delete(l.early, abs)
	l.mu.Unlock()
	if l.isKnown(e.stat) {
		return content{stat: e.stat, plain: e.plain}, nil
	}
	return e.content, l.budget.take(int64(len(e.data)))
}
