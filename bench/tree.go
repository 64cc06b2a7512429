package bench

import (
	"bufio"
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
)

// A Tree is a shape of kustomize tree that Write can turn into files.
type Tree struct {
	// Name is short and without spaces: it names the tree on a command line and is the name of its folder.
	Name string
	// Title says in a few words what the tree is.
	Title string
	// Roots are the folders to build, slash-separated and relative to the tree's folder.
	Roots []string
	// Files asks for an output of one file per resource in place of one text.
	Files bool
	// Below is a folder that krmflow is told to search for the roots, in the place of their names.
	Below string
	// Sample is how many of the roots kustomize builds, if that is not all: what they take is scaled.
	Sample int
	// Leaf is a file that one root alone is made from, and Change what is added to its end to change that root. Both are empty if no
	// change is measured.
	Leaf, Change string
	// Size is how many resources a tree has that krmflow builds alone, so that a report says how the cost grows with it; 0 for others.
	Size int
	// Flags are those of both programs' build, KrmflowFlags those of krmflow alone.
	Flags, KrmflowFlags []string

	fill func(*treeWriter)
}

// Trees returns the trees that Compare measures with both programs, smallest first. Those with a git repository need git.
func Trees() []Tree {
	trees := []Tree{
		Service(),
		Patch(),
		Flat(1000),
		Flat(4000),
		Overlays(100, 20),
		Overlays(100, 20).asFiles(),
		Monorepo(5000),
		Chain(30, 100),
		Diamond(4, 200),
		Replacements(400),
		ReplacementFiles(400),
		CRDs(5 << 20),
		Nested(1000),
		JSONPatches(100),
		JSONPatches(1000),
		AnnotationPatches(1000),
		PatchedChain(30, 100),
		ReplaceAll(400),
		ManyFields(400),
		Vars(300),
		Files(60),
		DeepComponents(20, 200),
		Functions(5, 200),
		Functions(5, 200).unsandboxed(),
	}
	if _, err := exec.LookPath("git"); err == nil {
		trees = append(trees, References(20))
	}
	return trees
}

// asFiles is t, built into a folder of files.
func (t Tree) asFiles() Tree {
	t.Name += "-files"
	t.Title += ", one file each"
	t.Files = true
	return t
}

// Write makes the files of t below dir, which is created when missing. The bytes depend on t and seed alone. No file is made
// after the end of ctx.
func Write(ctx context.Context, dir string, t Tree, seed int64) error {
	if t.fill == nil {
		return fmt.Errorf("tree %q has no shape", t.Name)
	}
	h := fnv.New64a()
	io.WriteString(h, t.Name)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	w := &treeWriter{ctx: ctx, root: root, rnd: rand.New(rand.NewPCG(uint64(seed), h.Sum64())), out: bufio.NewWriter(nil)}
	t.fill(w)
	return w.err
}

// A treeWriter writes files below root one at a time, so that a large tree needs little memory, and keeps the first error.
type treeWriter struct {
	ctx  context.Context
	root *os.Root // so that a folder which was removed meanwhile is not made again
	rnd  *rand.Rand
	out  *bufio.Writer
	err  error
}

// file writes one file, whose name is slash-separated and relative to dir; body gets a printf for its content.
func (w *treeWriter) file(name string, body func(printf)) {
	if w.err == nil && w.ctx.Err() != nil {
		w.err = context.Cause(w.ctx)
	}
	if w.err != nil {
		return
	}
	if w.err = w.root.MkdirAll(path.Dir(name), 0o755); w.err != nil {
		return
	}
	f, err := w.root.Create(name)
	if err != nil {
		w.err = err
		return
	}
	w.out.Reset(f)
	body(func(format string, args ...any) { fmt.Fprintf(w.out, format, args...) })
	if err := w.out.Flush(); err != nil {
		w.err = err
	}
	if err := f.Close(); err != nil && w.err == nil {
		w.err = err
	}
}

// text writes one file of fixed content.
func (w *treeWriter) text(name, content string) {
	w.file(name, func(out printf) { out("%s", content) })
}

// pick returns one of the choices.
func (w *treeWriter) pick(choices ...string) string { return choices[w.rnd.IntN(len(choices))] }

type printf func(format string, args ...any)
