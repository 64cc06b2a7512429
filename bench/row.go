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

// A comparison measures rows one after another.
type comparison struct {
	o   Options
	dir string
}

// Modes of building a tree. They are also the prefixes of output file names.
const (
	uncached  = "krmflow" // without a cache
	cold      = "cold"    // with an empty cache
	warm      = "warm"    // with the cache that cold filled
	changed   = "changed" // like warm, after a change of one file
	kustomize = "kustomize"
)

// row measures one subject. The programs alternate, so that changes in the speed of the machine
// affect both.
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
	m := &measured{comparison: c, s: s, work: work, against: c.o.Kustomize != "" && s.size == 0 && !s.alone, left: c.o.Budget,
		samples: map[string][]Sample{}}
	for i := range c.o.Runs + 1 {
		if err := m.round(ctx, i); err != nil {
			return row, err
		}
	}
	row.Krmflow, row.Cold, row.Warm, row.Changed, row.Kustomize = m.figure(uncached), m.figure(cold), m.figure(warm), m.figure(changed),
		m.figure(kustomize)
	row.Same, row.Stopped = len(m.samples[kustomize]) > 0, m.against && m.left <= 0
	if row.Kustomize != nil && s.sample > 0 {
		row.Sample = s.sample
	}
	row.Roots = len(s.roots)
	row.Resources, row.Bytes, err = sizeOf(m.out(0, uncached))
	return row, err
}

// measured holds the measurements of a subject.
type measured struct {
	*comparison
	s       subject
	work    string
	against bool
	left    time.Duration // remaining budget of kustomize
	samples map[string][]Sample
}

// out returns the output path for a round.
func (m *measured) out(i int, way string) string {
	if i > 0 && !m.s.files {
		return os.DevNull
	}
	if m.s.files && (way == warm || way == changed) {
		way = cold // the folder exists already
	}
	// Each output has its own path, because some file systems are slow at a path whose files
	// were just removed.
	return filepath.Join(m.work, fmt.Sprint(way, "-", i))
}

// figure returns the medians of a mode, or nil if it was not measured. It skips the first sample
// if there are more: in the first round, the files were not yet in memory and were partly still
// being written to disk, which is not the programs' work.
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

// round builds the tree once in each mode and compares the outputs.
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

// krmflow builds all roots with one command, into a file or a folder.
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
		sample, err = Run(ctx, nil, m.o.Krmflow,
			slices.Concat([]string{"apply-render", "-o", out + "/"}, cache, []string{"-R", s.below})...)
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

// settle is the resolution of file system timestamps with a margin. krmflow reads a file again
// if its timestamp could be the current moment: see package filestat.
const settle = 50 * time.Millisecond

// change measures a build after a change of one file, and reverts the change. In the first round
// it also checks the output against a build without a cache.
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

// kustomize builds the roots one after another, because it accepts only one root. The output
// goes to one file, or to a folder per root. If only a sample of the roots is built, the times
// are scaled.
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

// runTo runs a program and appends its output to a file, as a new YAML document if the file is
// not empty.
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
