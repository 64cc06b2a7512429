package yaml

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/yaml"
)

// oracle returns kustomize's output for a resource file without changes.
func oracle(data []byte) (string, error) {
	nodes, err := resource.NewFactory(nil).RNodesFromBytes(data)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for i, n := range nodes {
		j, err := n.MarshalJSON()
		if err != nil {
			return "", err
		}
		y, err := yaml.JSONToYAML(j)
		if err != nil {
			return "", err
		}
		if i > 0 {
			out.WriteString("---\n")
		}
		out.Write(y)
	}
	return out.String(), nil
}

// ours returns the output of this package for the same input.
func ours(data []byte) (string, error) {
	rs, err := (&Source{File: "f.yaml", Data: data}).Documents()
	if err != nil {
		return "", err
	}
	return string(appendAll(rs)), nil
}

// TestRealFilesMatchOracle compares all YAML files below the directory in KRM_YAML_TREE.
func TestRealFilesMatchOracle(t *testing.T) {
	root := os.Getenv("KRM_YAML_TREE")
	if root == "" {
		t.Skip("KRM_YAML_TREE is not set")
	}
	var files, fastFiles, bytes, fastBytes int
	filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !(strings.HasSuffix(path, ".yaml") || strings.HasSuffix(path, ".yml") ||
			strings.HasSuffix(path, ".json")) {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return nil
		}
		want, werr := oracle(data)
		got, gerr := ours(data)
		if (werr == nil) != (gerr == nil) {
			t.Errorf("%s: kustomize says %v, we say %v", path, werr, gerr)
		} else if got != want {
			t.Errorf("%s: -kustomize +ours\n%s", path, cmp.Diff(want, got))
		}
		files++
		bytes += len(data)
		if fast(data) {
			fastFiles++
			fastBytes += len(data)
		} else {
			t.Logf("slow: %s", path)
		}
		return nil
	})
	t.Logf("fast: %d of %d files, %d of %d bytes", fastFiles, files, fastBytes, bytes)
}

// fast reports whether data takes only the fast path.
func fast(data []byte) bool {
	s := &Source{Data: data}
	text, _ := s.readText()
	pieces, err := s.split(text)
	p := parser{}
	for _, pc := range pieces {
		if !simpleText(pc.text) {
			return false
		}
		if _, ok := p.parse(pc.text); !ok {
			return false
		}
	}
	return err == nil
}

// appendAll encodes documents as output.
func appendAll(docs []Document) []byte {
	var b bytes.Buffer
	enc := NewEncoder(&b, false)
	for _, d := range docs {
		_ = enc.Encode(d.Value)
	}
	_ = enc.Close()
	return b.Bytes()
}
