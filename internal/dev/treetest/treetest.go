// Package treetest generates and edits random trees of Kustomizations, for tests that compare
// results before and after edits. The edits change, add and remove files, replace files with
// links and directories, and make mistakes.
package treetest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A Tree is a random, editable tree of Kustomizations and Components.
type Tree struct {
	t   testing.TB
	rnd *rand.Rand
	dir string
}

// Layers is the number of layers of a Tree, in the directories l0, l1 and so on. The second and
// the fourth layer are Components.
const Layers = 7

// New returns a tree in a directory, without layers.
func New(t testing.TB, rnd *rand.Rand, dir string) *Tree { return &Tree{t, rnd, dir} }

// Fill writes random layers.
func (w *Tree) Fill() *Tree {
	for layer := range Layers {
		for _, name := range names {
			w.file(layer, name)
		}
		w.kustomization(layer, "kustomization.yaml")
	}
	return w
}

// Write writes a file of the tree. It sometimes keeps the modification time of the file.
func (w *Tree) Write(file, text string) {
	path := filepath.Join(w.dir, file)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	before, err := os.Stat(path)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
	if err == nil && w.rnd.IntN(3) == 0 { // as some tools do
		if err := os.Chtimes(path, before.ModTime(), before.ModTime()); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *Tree) pick(list ...string) string { return list[w.rnd.IntN(len(list))] }

// file writes a file that a layer may refer to, with random content.
func (w *Tree) file(dir int, name string) {
	text := ""
	n := w.rnd.IntN(3)
	switch name {
	case "a.yaml", "b.yaml":
		kind := w.pick("ConfigMap", "ConfigMap", "ConfigMap", "ConfigMap", "Service", "Service", "Service", "Secret")
		text = fmt.Sprintf("apiVersion: v1\nkind: %s\nmetadata:\n  name: l%d-%c\n  labels: {v: v%d}\n", kind, dir, name[0], n)
		if w.rnd.IntN(40) == 0 {
			text += "bad: [\n"
		}
	case "patch.yaml":
		text = fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: l%d-a\n  annotations: {p: p%d}\n", dir, n)
	case "data.txt":
		text = fmt.Sprintf("data %d\n", n)
	case "values.env":
		text = fmt.Sprintf("KEY=%d\n", n)
	}
	w.Write(fmt.Sprintf("l%d/%s", dir, name), text)
}

var names = []string{"a.yaml", "b.yaml", "patch.yaml", "data.txt", "values.env"}

// kustomization writes the kustomization file of a layer. It uses some of the earlier layers.
func (w *Tree) kustomization(dir int, name string) {
	var b strings.Builder
	component := dir == 1 || dir == 3
	if component {
		b.WriteString("apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n")
	}
	var resources, components []string
	for _, file := range []string{"a.yaml", "b.yaml"} {
		if w.rnd.IntN(2) == 0 {
			resources = append(resources, file)
		}
	}
	for other := range dir {
		if w.rnd.IntN(3) > 0 {
			continue
		}
		if other == 1 || other == 3 {
			components = append(components, fmt.Sprintf("../l%d", other))
		} else {
			resources = append(resources, fmt.Sprintf("../l%d", other))
		}
	}
	if w.rnd.IntN(25) == 0 {
		resources = append(resources, w.pick("missing.yaml", "../link", "../l9"))
	}
	fmt.Fprintf(&b, "resources: [%s]\n", strings.Join(resources, ", "))
	fmt.Fprintf(&b, "components: [%s]\n", strings.Join(components, ", "))
	for _, line := range []string{
		fmt.Sprintf("namePrefix: p%d-\n", w.rnd.IntN(2)), "namespace: ns\n", "commonLabels: {c: d}\n", "patches: [{path: patch.yaml}]\n",
		fmt.Sprintf("configMapGenerator: [{name: g%d, files: [data.txt]}]\n", dir),
		fmt.Sprintf("configMapGenerator: [{name: e%d, envs: [values.env]}]\n", dir),
		"images: [{name: none, newTag: x}]\n", "buildMetadata: [originAnnotations]\n",
	} {
		if w.rnd.IntN(4) == 0 && !strings.Contains(b.String(), strings.SplitAfter(line, ":")[0]) {
			b.WriteString(line)
		}
	}
	if w.rnd.IntN(15) == 0 { // its output is never cached
		fmt.Fprintf(&b, "secretGenerator: [{name: s%d, envs: [values.env]}]\n", dir)
	}
	w.Write(fmt.Sprintf("l%d/%s", dir, name), b.String())
}

// Edit makes a random change and returns a description of it.
func (w *Tree) Edit() string {
	dir := w.rnd.IntN(Layers)
	file := names[w.rnd.IntN(len(names))]
	path := filepath.Join(w.dir, fmt.Sprintf("l%d", dir), file)
	switch w.rnd.IntN(24) {
	case 0:
		w.kustomization(dir, "kustomization.yaml")
		return fmt.Sprintf("kustomization of l%d", dir)
	case 1:
		os.Remove(path)
		return "remove " + path
	case 2:
		other := filepath.Join(w.dir, fmt.Sprintf("l%d", dir), w.pick("kustomization.yml", "Kustomization"))
		if os.Remove(other) != nil {
			w.kustomization(dir, filepath.Base(other))
		}
		return "another kustomization of " + other
	case 3:
		link := filepath.Join(w.dir, "link")
		os.Remove(link)
		os.Symlink(fmt.Sprintf("l%d", w.rnd.IntN(Layers)), link)
		return "link"
	case 4:
		os.Remove(path)
		os.Symlink(filepath.Join("..", fmt.Sprintf("l%d", w.rnd.IntN(Layers)), file), path)
		return "link for " + path
	case 5:
		data, err := os.ReadFile(path)
		os.Remove(path)
		if err == nil {
			os.WriteFile(path, data, 0o644)
		}
		return "rewrite " + path
	case 6:
		os.Remove(path)
		os.Mkdir(path, 0o755)
		return "a directory in the place of " + path
	}
	os.RemoveAll(path)
	w.file(dir, file)
	return "change " + path
}

// Mend removes all mistakes from the tree except syntax errors in resources.
func (w *Tree) Mend() {
	for dir := range Layers {
		for _, name := range []string{"kustomization.yml", "Kustomization"} {
			os.Remove(filepath.Join(w.dir, fmt.Sprintf("l%d", dir), name))
		}
		for _, name := range names {
			path := filepath.Join(w.dir, fmt.Sprintf("l%d", dir), name)
			if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
				os.RemoveAll(path)
				w.file(dir, name)
			}
		}
		if data, err := os.ReadFile(filepath.Join(w.dir, fmt.Sprintf("l%d", dir), "kustomization.yaml")); err != nil ||
			bytes.Contains(data, []byte("link")) || bytes.Contains(data, []byte("l9")) || bytes.Contains(data, []byte("missing")) {
			w.kustomization(dir, "kustomization.yaml")
		}
	}
}
