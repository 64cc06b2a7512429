package bench

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// BenchmarkDiff measures the cost of a diff against a revision, as a multiple of the cost of
// rendering the roots that differ:
//
//	go test -run '^$' -bench Diff -benchtime 10x ./bench -after "$PWD/bin/krmflow"
//
// One line is changed: an image of a root of 1,000 resources, or a base used by some of 200 roots.
// No cache is used. The benchmark reports medians of processor time in milliseconds, including git.
func BenchmarkDiff(b *testing.B) {
	if *after == "" {
		b.Skip("-after names a program")
	}
	for _, c := range []struct {
		tree     Tree
		file     string
		old, new string
	}{
		{Flat(1000), "kustomization.yaml", "newTag: stable", "newTag: changed"},
		{Overlays(200, 20), "bases/base-00/deployment.yaml", "replicas: ", "replicas: 1"},
	} {
		b.Run(c.tree.Name, func(b *testing.B) {
			dir := b.TempDir()
			if err := Write(b.Context(), dir, c.tree, 1); err != nil {
				b.Fatal(err)
			}
			for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"commit", "-qm", "before"}} {
				cmd := exec.CommandContext(b.Context(), "git",
					append([]string{"-c", "user.name=a", "-c", "user.email=a@b", "-c", "gc.auto=0"}, args...)...)
				cmd.Dir = dir
				if out, err := cmd.CombinedOutput(); err != nil {
					b.Fatalf("git %q: %v\n%s", args, err, out)
				}
			}
			change(b, filepath.Join(dir, c.file), c.old, c.new)
			differ := rootsThatDiffer(b, dir)
			out := filepath.Join(b.TempDir(), "out") + "/"
			var diff, render []Sample
			for b.Loop() {
				diff = append(diff, sample(b, "diff", "-q", "--no-cache", "-R", dir, "--against", "git:HEAD"))
				render = append(render, sample(b, append([]string{"apply-render", "-q", "--no-cache", "-o", out}, differ...)...))
			}
			ms := func(list []Sample) float64 { return float64(Median(list).CPU) / float64(time.Millisecond) }
			b.ReportMetric(float64(len(differ)), "roots")
			b.ReportMetric(ms(diff), "diff-ms")
			b.ReportMetric(ms(render), "render-ms")
			b.ReportMetric(ms(diff)/ms(render), "diff/render")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// change replaces the first occurrence of a text in a file.
func change(b *testing.B, file, old, now string) {
	text, err := os.ReadFile(file)
	if err != nil || !bytes.Contains(text, []byte(old)) {
		b.Fatalf("%s has no %q: %v", file, old, err)
	}
	if err := os.WriteFile(file, bytes.Replace(text, []byte(old), []byte(now), 1), 0o666); err != nil {
		b.Fatal(err)
	}
}

// rootsThatDiffer returns the directories of the roots that differ from the last commit.
func rootsThatDiffer(b *testing.B, dir string) (roots []string) {
	out, err := exec.CommandContext(b.Context(), *after, "diff", "-q", "-R", dir, "--against", "git:HEAD", "--stat").Output()
	if err != nil {
		b.Fatal(err)
	}
	for line := range bytes.Lines(out) {
		if name, _, ok := bytes.Cut(line, []byte(": ")); ok && filepath.IsAbs(string(name)) {
			for one := range bytes.SplitSeq(name, []byte(", ")) {
				roots = append(roots, string(one))
			}
		}
	}
	if slices.Sort(roots); len(roots) == 0 {
		b.Fatalf("nothing differs:\n%s", out)
	}
	return roots
}

// sample runs the program named by -after.
func sample(b *testing.B, args ...string) Sample {
	s, err := runTo(b.Context(), os.DevNull, *after, args...)
	if err != nil {
		b.Fatal(err)
	}
	return s
}
