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
	parts, errs := make([]List, n), make([]error, n)
	atOnce(n, func(i int) {
		from := i * len(l.items) / n
		parts[i] = *l
		parts[i].from, parts[i].items = l.from+from, l.items[from:(i+1)*len(l.items)/n]
		errs[i] = do(&parts[i])
	})
	l.join(parts)
	return cmp.Or(errs...)
}

// atOnce calls do with 0 to n-1 at the same time. If any of them panics, so does atOnce when all have ended.
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

// From returns the position of the first resource of a part in the list that was divided by [List.Parts]; that of any other list is 0.
func (l *List) From() int { return l.from }

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
