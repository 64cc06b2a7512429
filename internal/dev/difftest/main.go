// Difftest builds random trees with krmflow and kustomize and compares the output and exit
// status. It reduces each kind of difference to a tree of a few lines.
//
//	make difftest DIFFTREES=20000 SEED=7
//
// It exits with status 1 if there are differences that docs/differences.md does not list.
package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

func main() {
	var c campaign
	flag.StringVar(&c.krmflow, "krmflow", "bin/krmflow", "the krmflow to test")
	flag.StringVar(&c.kustomize, "kustomize", ".tools/kustomize", "the kustomize to compare with")
	flag.Uint64Var(&c.seed, "seed", 1, "seed of all trees")
	flag.Uint64Var(&c.first, "first", 0, "number of the first tree")
	flag.Uint64Var(&c.trees, "trees", 500, "number of trees")
	flag.IntVar(&c.jobs, "jobs", 2, "trees at a time")
	flag.IntVar(&c.each, "each", 10, "differences of one kind that are reduced")
	flag.BoolVar(&c.why, "why", false, "also say why trees are refused by both")
	print := flag.Bool("print", false, "print the first tree and do nothing else")
	file := flag.String("file", "", "compare the tree of this txtar file instead of random ones")
	flag.Parse()
	if *print {
		fmt.Print(generate(c.seed, c.first))
		return
	}
	if *file != "" {
		data, err := os.ReadFile(*file)
		if err != nil {
			fatal(err)
		}
		c.fixed, c.trees, c.jobs = parseTree(string(data)), 1, 1
	}
	if err := c.run(); err != nil {
		fatal(err)
	}
	if c.report() {
		os.Exit(1)
	}
}

func fatal(err error) {
	fmt.Fprintln(os.Stderr, "difftest:", err)
	os.Exit(2)
}

// A campaign is a run over many trees.
type campaign struct {
	krmflow, kustomize string
	seed, first, trees uint64
	jobs, each         int
	fixed              tree
	why                bool

	mu       sync.Mutex
	next     uint64
	rendered int                // trees that both programs render
	refused  int                // trees that both programs refuse
	reasons  map[string]int     // kustomize's reasons for refusing them
	count    map[string]int     // differences before reduction, by kind
	listed   map[string]int     // trees by listed difference
	mixed    int                // listed differences found only after reduction
	found    map[string]finding // by kind after reduction
}

type finding struct {
	number uint64
	tree   tree
	pair   pair
	count  int
}

func (c *campaign) run() error {
	c.count, c.listed, c.reasons, c.found = map[string]int{}, map[string]int{}, map[string]int{}, map[string]finding{}
	scratch, err := os.MkdirTemp("", "difftest")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	errs := make(chan error)
	for i := range c.jobs {
		p := &programs{c.kustomize, c.krmflow, filepath.Join(scratch, fmt.Sprint(i), "k")}
		go func() { errs <- c.work(p) }()
	}
	for range c.jobs {
		if e := <-errs; e != nil {
			err = e
		}
	}
	return err
}

// work compares trees until none are left.
func (c *campaign) work(p *programs) error {
	for {
		c.mu.Lock()
		number := c.first + c.next
		c.next++
		c.mu.Unlock()
		if number >= c.first+c.trees {
			return nil
		}
		t := c.fixed
		if t == nil {
			t = generate(c.seed, number)
		}
		both, err := p.run(t)
		if err != nil {
			return err
		}
		kind := both.difference()
		if !c.worthReducing(kind, both) {
			continue
		}
		r := reducer{left: 600, holds: func(t tree) bool {
			both, err := p.run(t)
			return err == nil && both.difference() == kind
		}}
		if c.fixed == nil {
			t = r.reduce(t)
		}
		if both, err = p.run(t); err != nil {
			return err
		}
		c.add(number, t, both)
	}
}

// worthReducing counts a tree and reports whether it should be reduced.
func (c *campaign) worthReducing(kind string, both pair) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case kind != "":
		if name := knownAs(nil, both); name != "" {
			c.listed[name]++
			return false
		}
		c.count[kind]++
		return c.count[kind] <= c.each
	case both.kustomize.failed:
		c.refused++
		c.reasons[message(both.kustomize.stderr)]++
	default:
		c.rendered++
	}
	return false
}

func (c *campaign) add(number uint64, t tree, both pair) {
	c.mu.Lock()
	defer c.mu.Unlock()
	kind := both.difference()
	if name := knownAs(t, both); name != "" {
		c.mixed++
		c.listed[name]++
		return
	}
	f, ok := c.found[kind]
	if !ok || len(t.String()) < len(f.tree.String()) {
		f.number, f.tree, f.pair = number, t, both
	}
	f.count++
	c.found[kind] = f
}

// report prints the results and reports whether there are unlisted differences.
func (c *campaign) report() bool {
	for _, kind := range slices.Sorted(maps.Keys(c.found)) {
		f := c.found[kind]
		fmt.Printf("======== %s\n(tree %d, %d trees)\n%s", kind, f.number, c.count[kind], f.tree)
		f.pair.print()
	}
	for reason, n := range c.reasons {
		if c.why {
			fmt.Printf("%6d refused by both: %s\n", n, reason)
		}
	}
	fmt.Printf("%d trees from seed %d: %d rendered alike, %d refused by both\n", c.trees, c.seed, c.rendered, c.refused)
	for _, name := range slices.Sorted(maps.Keys(c.listed)) {
		fmt.Printf("%7d listed: %s\n", c.listed[name], name)
	}
	skipped := -c.mixed
	for _, n := range c.count {
		skipped += n
	}
	for _, f := range c.found {
		skipped -= f.count
	}
	fmt.Printf("%d kinds of differences that are not listed; %d trees not looked at, for there are %d of their kind\n", len(c.found),
		skipped, c.each)
	return len(c.found) > 0
}

func (p pair) print() {
	for _, a := range []struct {
		name string
		answer
	}{{"kustomize", p.kustomize}, {"krmflow", p.krmflow}} {
		text := a.stdout
		if a.failed {
			text = a.stderr[:min(len(a.stderr), 600)] + "\n"
		}
		fmt.Printf("---- %s\n%s", a.name, text)
	}
}
