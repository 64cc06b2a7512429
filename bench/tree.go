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

// A Tree is a kustomize tree that Write can create.
type Tree struct {
	// Name is the name of the tree on the command line and of its folder. It has no spaces.
	Name string
	// Title is a short description of the tree.
	Title string
	// Roots are the folders to build, slash-separated and relative to the tree's folder.
	Roots []string
	// Files selects output with one file per resource instead of a single text.
	Files bool
	// Below is a folder in which krmflow searches for the roots. If it is set, the roots are not
	// passed by name.
	Below string
	// Sample is the number of roots that kustomize builds, 0 for all. Its times are scaled to
	// all roots.
	Sample int
	// Leaf is a file that only one root depends on. Change is appended to it to change that
	// root. Both are empty if no change is measured.
	Leaf, Change string
	// Size is the number of resources of a tree of growing size, which only krmflow builds, and
	// otherwise 0.
	Size int
	// Flags are passed to both programs, KrmflowFlags to krmflow only.
	Flags, KrmflowFlags []string

	fill func(*treeWriter)
}

// Trees returns the trees that Compare measures with both programs. It omits a tree with a git
// repository if git is not installed.
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

// asFiles returns t with output to a folder of files.
func (t Tree) asFiles() Tree {
	t.Name += "-files"
	t.Title += ", one file each"
	t.Files = true
	return t
}

// Write creates the files of t below dir. It creates dir if necessary. The content depends only
// on t and seed. Write creates no files after ctx has ended.
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

// A treeWriter writes files below root. It writes one file at a time, so that large trees need
// little memory. It stops at the first error and keeps it in err.
type treeWriter struct {
	ctx  context.Context
	root *os.Root // does not recreate a root that was removed in the meantime
	rnd  *rand.Rand
	out  *bufio.Writer
	err  error
}

// file writes one file. Its name is slash-separated and relative to root. body writes the
// content.
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

// text writes one file with fixed content.
func (w *treeWriter) text(name, content string) {
	w.file(name, func(out printf) { out("%s", content) })
}

// pick returns a random choice.
func (w *treeWriter) pick(choices ...string) string { return choices[w.rnd.IntN(len(choices))] }

type printf func(format string, args ...any)
