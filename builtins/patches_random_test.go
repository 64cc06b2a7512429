package builtins

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	yamlv3 "go.yaml.in/yaml/v3"
)

// TestRandomPatchTrees compares the output for random trees with kustomize's, if kustomize v5.8.2
// is on PATH.
func TestRandomPatchTrees(t *testing.T) {
	if version, err := exec.Command("kustomize", "version").Output(); err != nil || strings.TrimSpace(string(version)) != "v5.8.2" {
		t.Skip("needs kustomize v5.8.2")
	}
	rendered := 0
	for seed := range uint64(30) {
		g := &treeGen{Rand: rand.New(rand.NewPCG(seed, 2)), tame: true}
		a := g.tree(t)
		want, failed := runKustomize(t, a)
		if strings.Contains(failed, "unsupported type") || strings.Contains(want, "internal.config.kubernetes.io") {
			continue // kustomize fails on its own annotations and on keys that look like numbers
		}
		got, err := renderPatchTree(a)
		switch {
		case (err != nil) != (failed != ""):
			t.Errorf("seed %d: got error %v, want %q\n%s", seed, err, failed, txtar.Format(a))
		case err == nil && got != want:
			t.Errorf("seed %d: got\n%s\nwant\n%s\n%s", seed, got, want, txtar.Format(a))
		case err == nil:
			rendered++
		}
	}
	if rendered < 5 {
		t.Errorf("only %d trees could be rendered", rendered)
	}
}

func (g *treeGen) tree(t *testing.T) *txtar.Archive {
	kinds := []string{"Deployment", "Service", "Thing"}
	var rs []string
	for _, k := range kinds {
		rs = append(rs, blockStyle(t, g.object(k)))
	}
	g.patch = true
	var patches strings.Builder
	for range 1 + g.IntN(3) {
		kind := g.pick(kinds...)
		target := "- target: {kind: " + g.pick(kind, kind+"|Service", ".*", "Foo") +
			g.pick("", ", name: a", ", name: .*a", ", namespace: default") + "}\n  patch: |\n"
		switch g.IntN(4) {
		case 0:
			patches.WriteString("- patch: |\n" + indented(blockStyle(t, g.object(kind))))
		case 1:
			patches.WriteString(target + indented(blockStyle(t, g.object(g.pick(kinds...)))))
			patches.WriteString("  options: {allowNameChange: " + g.pick("true", "false") + ", allowKindChange: " +
				g.pick("true", "false") + "}\n")
		default:
			patches.WriteString(target + indented(g.jsonPatch()))
		}
	}
	return &txtar.Archive{Files: []txtar.File{
		{Name: "kustomization.yaml", Data: []byte("resources: [r.yaml]\nsortOptions: {order: fifo}\npatches:\n" + patches.String())},
		{Name: "r.yaml", Data: []byte(strings.Join(rs, "---\n"))},
	}}
}

func (g *treeGen) jsonPatch() string {
	value := g.pick(g.scalar(), g.strMap(), g.list(g.scalar), g.container(), "yes", "1:30", "1e3", "012", "1000000", "2001-01-01")
	if value == "" {
		value = "~"
	}
	op := g.pick("add", "add", "add", "replace", "replace", "remove", "copy", "move", "test")
	return fmt.Sprintf("- {op: %s, path: %s, from: %s, value: %s}\n", op, g.jsonPath(), g.jsonPath(), value)
}

func (g *treeGen) jsonPath() string {
	path := g.pick("/metadata/annotations", "/metadata/labels", "/metadata/finalizers", "/spec", "/spec/replicas", "/spec/ports",
		"/spec/template", "/spec/template/spec/containers", "/new")
	if g.chance(50) {
		path += "/" + g.pick("a", "b", "name", "0", "-", "-1", "1")
	}
	return path
}

func blockStyle(t *testing.T, text string) string {
	var n yamlv3.Node
	if err := yamlv3.Unmarshal([]byte(text), &n); err != nil {
		t.Fatal(err)
	}
	clearFlow(&n)
	var b bytes.Buffer
	if err := yamlv3.NewEncoder(&b).Encode(&n); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func indented(s string) string {
	return "    " + strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n    ") + "\n"
}
