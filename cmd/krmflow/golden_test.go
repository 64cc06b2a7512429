package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/internal/cli/program"
)

// TestGoldenTreesMatchKustomize renders every root under testdata/kustomize and compares it with
// the output of kustomize v5.8.2.
func TestGoldenTreesMatchKustomize(t *testing.T) {
	const trees = "../../testdata/kustomize"
	n := 0
	err := filepath.WalkDir(trees, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(trees, path)
		tree, rest, ok := strings.Cut(filepath.ToSlash(rel), "/golden/")
		if err != nil || d.IsDir() || !ok || !strings.HasSuffix(rest, ".yaml") {
			return err
		}
		n++
		t.Run(tree+"/"+rest, func(t *testing.T) {
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			args := []string{"build", filepath.Join(trees, tree, strings.TrimSuffix(rest, ".yaml"))}
			if tree == "functions" {
				if runtime.GOOS != "linux" {
					t.Skip("the functions are shell scripts")
				}
				args = append(args, "--enable-alpha-plugins", "--enable-exec", "--allow-unsandboxed")
			}
			var out, stderr bytes.Buffer
			if code := start(program.Name{}, args, nil, &out, &stderr); code != 0 {
				t.Fatalf("exit code %d\n%s", code, stderr.String())
			}
			if got := out.String(); got != string(want) {
				t.Error(firstDifference(got, string(want)))
			}
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n < 30 {
		t.Fatalf("only %d golden files under %s", n, trees)
	}
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			from := max(0, i-5)
			return "line " + strings.Join(w[from:i], "\n") + "\n- " + w[i] + "\n+ " + g[i]
		}
	}
	return "one is longer than the other"
}
