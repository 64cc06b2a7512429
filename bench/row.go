package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// A comparison measures one row after the other.
type comparison struct {
	o   Options
	dir string
}

// The ways in which a tree is built, as the files are called that come of it.
const (
	uncached  = "krmflow" // without a cache
	cold      = "cold"    // with an empty one
	warm      = "warm"    // with what that has left
	changed   = "changed" // the same, after a file was changed
	kustomize = "kustomize"
)

// row measures one subject: both programs in turn, so that a change in the machine's speed meets both.
func (c *comparison) row(ctx context.Context, s subject) (Row, error) {
	row := Row{Tree: s.name, Title: s.title, Size: s.size}
	if s.write != nil {
		if err := s.write(ctx); err != nil {
			return row, err
		}
	}
	work, err := os.MkdirTemp(c.dir, "out-")
	if err != nil {
		return row, err
	}
	defer os.RemoveAll(work)
	m := &measured{comparison: c, s: s, work: work, against: c.o.Kustomize != "" && s.size == 0 && !s.alone, left: c.o.Budget, samples: map[string][]Sample{}}
	for i := range c.o.Runs + 1 {
		if err := m.round(ctx, i); err != nil {
			return row, err
		}
	}
	row.Krmflow, row.Cold, row.Warm, row.Changed, row.Kustomize = m.figure(uncached), m.figure(cold), m.figure(warm), m.figure(changed), m.figure(kustomize)
	row.Same, row.Stopped = len(m.samples[kustomize]) > 0, m.against && m.left <= 0
	if row.Kustomize != nil && s.sample > 0 {
		row.Sample = s.sample
	}
	row.Roots = len(s.roots)
	row.Resources, row.Bytes, err = sizeOf(m.out(0, uncached))
	return row, err
}

// measured is what is known of a subject so far.
type measured struct {
	*comparison
	s       subject
	work    string
	against bool
	left    time.Duration // for kustomize
	samples map[string][]Sample
}

// out returns where the output of a round goes.
func (m *measured) out(i int, way string) string {
	if i > 0 && !m.s.files {
		return os.DevNull
	}
	if m.s.files && (way == warm || way == changed) {
		way = cold // the folder is there
	}
	return filepath.Join(m.work, fmt.Sprint(way, "-", i)) // each its own: some file systems are slow where files were removed a moment ago
}

// figure returns that of a way, nil if it was not measured. The first sample is left out if there are more: it was taken with files that were
// not in memory, and while some were written, which is no work of the programs.
func (m *measured) figure(way string) *Figure {
	samples := m.samples[way]
	switch len(samples) {
	case 0:
		return nil
	case 1:
		return figure(samples)
	}
	return figure(samples[1:])
}

// round builds the tree in every way once, and compares what comes of it.
func (m *measured) round(ctx context.Context, i int) error {
	if err := m.krmflow(ctx, i, uncached); err != nil {
		return err
	}
	if m.s.caches {
		for _, way := range []string{cold, warm} {
			if err := m.krmflow(ctx, i, way); err != nil {
				return err
			}
			if i == 0 || m.s.files {
				if err := same(m.out(i, way), m.out(i, uncached)); err != nil {
					return fmt.Errorf("%s cache: %w", way, err)
				}
			}
		}
	}
	if m.s.leaf != "" {
		if err := m.change(ctx, i); err != nil {
			return err
		}
	}
	if !m.against || m.left <= 0 {
		return nil
	}
	return m.kustomize(ctx, i)
}

// krmflow builds all roots with one command: into a file, or into a folder.
func (m *measured) krmflow(ctx context.Context, i int, way string) error {
	out, s := m.out(i, way), m.s
	var cache []string
	switch {
	case way == uncached && s.caches:
		cache = []string{"--no-cache"}
	case s.caches:
		cache = []string{"--cache-dir=" + filepath.Join(m.work, fmt.Sprint("cache-", i))}
	case !m.o.OwnCache:
		cache = []string{"--cache-dir=" + filepath.Join(m.work, "cache")}
	}
	if way == warm || way == changed {
		time.Sleep(settle)
	}
	var sample Sample
	var err error
	switch {
	case s.below != "":
		sample, err = Run(ctx, nil, m.o.Krmflow, slices.Concat([]string{"apply-render", "-o", out + "/"}, cache, []string{"-R", s.below})...)
	case s.files:
		sample, err = Run(ctx, nil, m.o.Krmflow, slices.Concat([]string{"apply-render", "-o", out + "/"}, cache, s.roots)...)
	case len(s.roots) > 1:
		sample, err = runTo(ctx, out, m.o.Krmflow, slices.Concat([]string{"apply-render"}, cache, s.flags, s.ours, s.roots)...)
	default:
		sample, err = runTo(ctx, out, m.o.Krmflow, slices.Concat([]string{"build"}, cache, s.flags, s.ours, s.roots)...)
	}
	if err == nil {
		m.samples[way] = append(m.samples[way], sample)
	}
	return err
}

// settle is how long the clock of a file system takes, with a margin, until a file that was written does not have the time of the moment any more:
// one that has is read again, see package filestat.
const settle = 50 * time.Millisecond

// change measures a run after a change of one file, and undoes that.
func (m *measured) change(ctx context.Context, i int) (err error) {
	old, err := os.ReadFile(m.s.leaf)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.WriteFile(m.s.leaf, old, 0o644)) }()
	if err := os.WriteFile(m.s.leaf, append(bytes.Clone(old), m.s.change...), 0o644); err != nil {
		return err
	}
	if err := m.krmflow(ctx, i, changed); err != nil || i > 0 {
		return err
	}
	work, err := os.MkdirTemp(m.work, "fresh-")
	if err != nil {
		return err
	}
	fresh := &measured{comparison: m.comparison, s: m.s, work: work, samples: map[string][]Sample{}}
	if err := fresh.krmflow(ctx, 0, uncached); err != nil {
		return err
	}
	if err := same(m.out(0, uncached), fresh.out(0, uncached)); !errors.Is(err, ErrDiffers) {
		return errors.Join(errors.New("the change of a file changes nothing"), err)
	}
	if err := same(m.out(0, changed), fresh.out(0, uncached)); err != nil {
		return fmt.Errorf("one file changed: %w", err)
	}
	return nil
}

// kustomize builds one root after the other, because it takes only one: all into one file, or each into a folder. What a sample of the roots
// takes is scaled.
func (m *measured) kustomize(ctx context.Context, i int) error {
	bounded, cancel := context.WithTimeout(ctx, m.left)
	defer cancel()
	out, roots := m.out(i, kustomize), m.s.roots
	if n := m.s.sample; n > 0 && n < len(roots) {
		roots = nil
		for k := range n {
			roots = append(roots, m.s.roots[k*len(m.s.roots)/n])
		}
	}
	var sum Sample
	for k, root := range roots {
		sample, err := m.kustomizeRoot(bounded, out, k, root)
		if bounded.Err() != nil && ctx.Err() == nil {
			m.left = 0
			return nil
		}
		if err != nil {
			return err
		}
		sum = sum.plus(sample)
	}
	m.left -= sum.Wall
	scale := func(d time.Duration) time.Duration {
		return d * time.Duration(len(m.s.roots)) / time.Duration(len(roots))
	}
	m.samples[kustomize] = append(m.samples[kustomize], Sample{CPU: scale(sum.CPU), Wall: scale(sum.Wall), Peak: sum.Peak})
	switch {
	case i > 0 && !m.s.files:
		return nil
	case len(roots) < len(m.s.roots):
		return contains(m.out(i, uncached), out)
	}
	return same(m.out(i, uncached), out)
}

func (m *measured) kustomizeRoot(ctx context.Context, out string, k int, root string) (Sample, error) {
	if m.s.files {
		folder := filepath.Join(out, fmt.Sprint(k))
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return Sample{}, err
		}
		return Run(ctx, nil, m.o.Kustomize, "build", "-o", folder, root)
	}
	args := append([]string{"build"}, m.s.flags...)
	if len(m.o.Versus) > 0 {
		args = m.o.Versus[1:]
	}
	return runTo(ctx, out, m.o.Kustomize, slices.Concat(args, []string{root})...)
}

// runTo runs a program with its output at the end of a file, divided from what is there as YAML documents are.
func runTo(ctx context.Context, out, program string, args ...string) (Sample, error) {
	f, err := os.OpenFile(out, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return Sample{}, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return Sample{}, err
	} else if info.Size() > 0 {
		if _, err := f.WriteString("---\n"); err != nil {
			return Sample{}, err
		}
	}
	return Run(ctx, f, program, args...)
}
