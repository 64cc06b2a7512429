package bench

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// A comparison measures one row after the other.
type comparison struct {
	o   Options
	dir string
}

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
	against := c.o.Kustomize != "" && s.size == 0 && !s.alone
	var a, b []Sample
	first := func(program string) string { return filepath.Join(work, program+"-0") }
	left := c.o.Budget
	for i := range c.o.Runs + 1 {
		out := func(program string) string {
			switch {
			case i == 0:
				return first(program)
			case s.files: // each its own: some file systems are slow where files were removed a moment ago
				return filepath.Join(work, fmt.Sprint(program, "-", i))
			}
			return os.DevNull
		}
		sample, err := c.krmflow(ctx, s, out("krmflow"))
		if err != nil {
			return row, err
		}
		a = append(a, sample)
		if !against || left <= 0 {
			continue
		}
		bounded, cancel := context.WithTimeout(ctx, left)
		sample, err = c.kustomize(bounded, s, out("kustomize"))
		over := bounded.Err() != nil && ctx.Err() == nil
		cancel()
		if over {
			left = 0
			continue
		}
		if err != nil {
			return row, err
		}
		left -= sample.Wall
		b = append(b, sample)
		if i == 0 || s.files {
			if err := same(out("krmflow"), out("kustomize")); err != nil {
				return row, err
			}
		}
		row.Same = true
	}
	row.Krmflow = figure(counted(a))
	if len(b) > 0 {
		row.Kustomize = figure(counted(b))
	}
	row.Stopped = against && left <= 0
	row.Resources, row.Bytes, err = sizeOf(first("krmflow"))
	return row, err
}

// counted leaves out the first sample if there are more: it was taken with a cold cache and while a file was written, which is
// no work of the programs.
func counted(samples []Sample) []Sample {
	if len(samples) > 1 {
		return samples[1:]
	}
	return samples
}

// krmflow builds all roots with one command: into the file out, or into a folder of that name.
func (c *comparison) krmflow(ctx context.Context, s subject, out string) (Sample, error) {
	switch {
	case s.files:
		return Run(ctx, nil, c.o.Krmflow, append([]string{"apply-render", "-o", out + "/"}, s.roots...)...)
	case len(s.roots) > 1:
		return runTo(ctx, out, c.o.Krmflow, slices.Concat([]string{"apply-render"}, s.flags, s.ours, s.roots)...)
	}
	return runTo(ctx, out, c.o.Krmflow, slices.Concat([]string{"build"}, s.flags, s.ours, s.roots)...)
}

// kustomize builds one root after the other, because it takes only one: all into the file out, or each into a folder in out.
func (c *comparison) kustomize(ctx context.Context, s subject, out string) (sum Sample, err error) {
	for i, root := range s.roots {
		var sample Sample
		if s.files {
			folder := filepath.Join(out, fmt.Sprint(i))
			if err := os.MkdirAll(folder, 0o755); err != nil {
				return sum, err
			}
			sample, err = Run(ctx, nil, c.o.Kustomize, "build", "-o", folder, root)
		} else {
			args := append([]string{"build"}, s.flags...)
			if len(c.o.Versus) > 0 {
				args = c.o.Versus[1:]
			}
			sample, err = runTo(ctx, out, c.o.Kustomize, slices.Concat(args, []string{root})...)
		}
		if err != nil {
			return sum, err
		}
		sum = sum.plus(sample)
	}
	return sum, nil
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

// same compares two files byte for byte, or two folders document for document: files in folders are named and divided
// differently by the two programs, but every document of one must be in the other.
func same(a, b string) error {
	info, err := os.Stat(a)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return sameFile(a, b)
	}
	x, err := documents(a)
	if err != nil {
		return err
	}
	y, err := documents(b)
	if err != nil {
		return err
	}
	if !maps.Equal(x, y) {
		return ErrDiffers
	}
	return nil
}

// sameFile reads both files in pieces: what this process keeps in memory shows up in the figures of its children.
func sameFile(a, b string) error {
	f, err := os.Open(a)
	if err != nil {
		return err
	}
	defer f.Close()
	g, err := os.Open(b)
	if err != nil {
		return err
	}
	defer g.Close()
	var x, y [32 << 10]byte
	for line := 1; ; {
		n, err1 := io.ReadFull(f, x[:])
		m, err2 := io.ReadFull(g, y[:])
		if !bytes.Equal(x[:n], y[:m]) {
			k := 0
			for k < min(n, m) && x[k] == y[k] {
				k++
			}
			return fmt.Errorf("line %d: %w", line+bytes.Count(x[:k], []byte("\n")), ErrDiffers)
		}
		line += bytes.Count(x[:n], []byte("\n"))
		if err1 != nil || err2 != nil {
			return errors.Join(unlessEnd(err1), unlessEnd(err2))
		}
	}
}

// unlessEnd returns an error of io.ReadFull except the end of a file.
func unlessEnd(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return nil
	}
	return err
}

// documents counts the YAML documents of all files below dir by digest.
func documents(dir string) (map[[sha256.Size]byte]int, error) {
	found := map[[sha256.Size]byte]int{}
	err := eachLine(dir, func() func(line []byte) {
		h := sha256.New()
		size := 0
		return func(line []byte) {
			if line == nil || string(line) == "---\n" {
				if size > 0 {
					found[[sha256.Size]byte(h.Sum(nil))]++
				}
				h.Reset()
				size = 0
				return
			}
			h.Write(line)
			size += len(line)
		}
	})
	return found, err
}

// sizeOf counts the resources and bytes of a file, or of the files below a folder.
func sizeOf(name string) (resources int, size int64, err error) {
	err = eachLine(name, func() func(line []byte) {
		return func(line []byte) {
			size += int64(len(line))
			if bytes.HasPrefix(line, []byte("kind: ")) {
				resources++
			}
		}
	})
	return resources, size, err
}

// eachLine reads a file, or the YAML files below a folder. For each file it calls open for a function, which gets every line with
// its end and, last, nil. A line is valid during the call only.
func eachLine(name string, open func() func(line []byte)) error {
	r := bufio.NewReaderSize(nil, 64<<10)
	return filepath.WalkDir(name, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || path != name && filepath.Ext(path) != ".yaml" {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		r.Reset(f)
		each := open()
		for {
			line, err := r.ReadSlice('\n')
			if err == bufio.ErrBufferFull {
				var rest []byte
				start := bytes.Clone(line)
				rest, err = r.ReadBytes('\n')
				line = append(start, rest...)
			}
			if len(line) > 0 {
				each(line)
			}
			if err == io.EOF {
				each(nil)
				return nil
			}
			if err != nil {
				return err
			}
		}
	})
}
