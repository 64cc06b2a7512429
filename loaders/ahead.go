package loaders

import (
	"errors"
	"io/fs"
	"sync"

	"github.com/krmflow/krmflow/krm/yaml"
)

// early is a file that was read ahead for the layer in dir.
type early struct {
	dir   DirKey
	limit int64
	mu    sync.Mutex // held until the fields below are set
	content
	err error
}

// maxUntaken is the limit in bytes for read-ahead content that was not requested yet. The memory
// limit of a run depends on the files it has read, and these files do not count yet.
const maxUntaken = 4 << 20

// ReadAhead reads a file before [Local.ReadUpTo] is called for it, and returns it. It returns nil
// if the file was already read, cannot be read, or if too much unrequested content is held.
//
// Reading ahead never changes a result. Until the file is requested, it is not part of
// [Local.Sources] and does not count against the budget. Errors are dropped here; the request
// reads the file again and reports them.
//
// parse, if not nil, is called to parse the file in the way that the request will. If the file
// has errors or warnings, the request gets an unparsed file instead, because the reported errors
// depend on who parses first and for which purpose.
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
	// A separate Local keeps state such as the trees and their names out of reach.
	e.content, e.err = (&Local{ctx: l.ctx, cwd: l.cwd, absolute: l.absolute, unrestricted: l.unrestricted, instead: l.instead}).read(d,
		abs, path, min(limit, maxUntaken))
	if e.err != nil {
		return nil
	}
	l.mu.Lock()
	l.untaken += int64(len(e.data))
	l.mu.Unlock()
	src := &yaml.Source{File: l.name(abs), Data: e.data}
	if l.seen != nil {
		src.Digest() // will be needed; the bytes are in the CPU cache now and other cores are idle
	}
	if parse != nil && (parse(src) != nil || len(src.Warnings()) > 0) {
		return nil
	}
	e.parsed = src
	return src
}

// IsFull reports whether [Local.ReadAhead] has reached its limit for unrequested content.
func (l *Local) IsFull() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.untaken > maxUntaken
}

// WhileWaiting sets a function that is called instead of blocking when a request needs a file
// that is still being read ahead. work may read ahead itself. It must return when over reports
// that the file is ready, or when it has nothing left to do. WhileWaiting must be called before
// the first read.
func (l *Local) WhileWaiting(work func(over func() bool)) { l.work = work }

// lock locks e once it has been read.
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

// take returns content that was read ahead, as [Local.read] does. After an error it reads the
// file again for a complete message, except after "not found" on this machine.
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
