package krm

import (
	"cmp"
	"runtime"
	"sync"
)

// minPart is how many resources make it worth while to start a goroutine for them.
const minPart = 256

// Parts calls do for parts of the list: at the same time for the parts of a long one, once for the whole of a short one. A part is a list of
// resources that follow one another, and do may change each of them, by [List.Change] or [List.Set]; it must not search the part, and what
// it does to one resource must not depend on another that it changes. The error is that of the first part that has one: the same, however
// many parts there are, if do goes through its part in order and ends at the first error.
func (l *List) Parts(do func(part *List) error) error {
	n := min(runtime.GOMAXPROCS(0), len(l.items)/minPart)
	if n < 2 {
		return do(l)
	}
	if l.owner == nil {
		l.owner = new(owner)
	}
	parts, errs, panics := make([]List, n), make([]error, n), make([]any, n)
	var wg sync.WaitGroup
	for i := range parts {
		parts[i] = *l
		parts[i].items = l.items[i*len(l.items)/n : (i+1)*len(l.items)/n]
		wg.Go(func() {
			defer func() { panics[i] = recover() }()
			errs[i] = do(&parts[i])
		})
	}
	wg.Wait()
	if p := cmp.Or(panics...); p != nil {
		panic(p)
	}
	l.join(parts)
	return cmp.Or(errs...)
}

// join takes over what became of the parts of l. Each of them began with the size and the indexes of the whole list.
func (l *List) join(parts []List) {
	before := l.size
	for i := range parts {
		p := &parts[i]
		l.size += p.size - before
		if p.cur == nil {
			l.cur = nil
		}
		if p.any == nil {
			l.any = nil
		}
		if p.names == nil {
			l.names = nil
		}
		l.unique = l.unique && p.unique
		l.tooLarge = cmp.Or(l.tooLarge, p.tooLarge)
	}
	l.checkSize()
}
