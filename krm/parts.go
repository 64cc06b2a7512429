package krm

import (
	"cmp"
	"runtime"
	"sync"
)

// minPart is the minimum number of resources that justifies a goroutine.
const minPart = 256

// Parts calls do on parts of the list: concurrently on consecutive parts of a long list, once on
// the whole of a short one.
//
// do may change each resource of its part with [List.Change] or [List.Set]. It must not search the
// part, and a change to one resource must not depend on another resource that it changes.
//
// Parts returns the error of the first part that has one. That is the same error for any number of
// parts if do visits its part in order and stops at the first error.
func (l *List) Parts(do func(part *List) error) error {
	n := min(runtime.GOMAXPROCS(0), len(l.items)/minPart)
	if n < 2 {
		return do(l)
	}
	if l.owner == nil {
		l.owner = new(owner)
	}
	l.dropLabels() // the parts cannot update it concurrently
	parts, errs := make([]List, n), make([]error, n)
	atOnce(n, func(i int) {
		from := i * len(l.items) / n
		parts[i] = *l
		parts[i].part, parts[i].from, parts[i].items = true, l.from+from, l.items[from:(i+1)*len(l.items)/n]
		errs[i] = do(&parts[i])
	})
	l.join(parts)
	return cmp.Or(errs...)
}

// atOnce calls do(0) to do(n-1) concurrently and waits for all of them. If one panics, atOnce
// panics after all have ended.
func atOnce(n int, do func(i int)) {
	panics := make([]any, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			defer func() { panics[i] = recover() }()
			do(i)
		})
	}
	wg.Wait()
	if p := cmp.Or(panics...); p != nil {
		panic(p)
	}
}

// From returns the position of a part's first resource in the list that [List.Parts] divided. For
// any other list it returns 0.
func (l *List) From() int { return l.from }

// join merges the state of the parts into l. Each part began with the size and the indexes of l.
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
