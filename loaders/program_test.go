package loaders

import (
	"crypto/sha256"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// A program may be larger than any configuration file. Anything that is not a file inside the root
// has no digest.
func TestProgramMayBeLarge(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, size int64) {
		path := filepath.Join(root, name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, size); err != nil { // sparse
			t.Fatal(err)
		}
	}
	write("fn", 10)
	write("large", yaml.MaxFile+1)
	write("huge", MaxProgram+1)
	os.Mkdir(filepath.Join(root, "sub"), 0o755)
	os.Symlink("../fn", filepath.Join(root, "sub", "in"))
	os.Symlink("/etc/passwd", filepath.Join(root, "sub", "out"))
	large := sha256.Sum256(append([]byte("#!/bin/sh\n"), make([]byte, yaml.MaxFile+1-10)...))
	for _, tt := range []struct {
		name, real string
		digest     krm.Digest
		err        string
	}{
		{"fn", root + "/fn", krm.DigestOf([]byte("#!/bin/sh\n")), ""},
		{"large", root + "/large", large, ""},
		{"huge", "", krm.Digest{}, `"huge" is larger than 1024 MiB`},
		{"sub/in", root + "/fn", krm.DigestOf([]byte("#!/bin/sh\n")), ""},
		{"sub/out", "/etc/passwd", krm.Digest{}, ""},
		{"sub", "", krm.Digest{}, `"sub" is a directory, not a file`},
		{"none", "", krm.Digest{}, `"none" does not exist`},
	} {
		// wider read permissions of layers change nothing
		p, err := NewLocal(t.Context(), Config{Cwd: root, Unrestricted: true}).Program(filepath.Join(root, tt.name), root)
		if err == nil && tt.err != "" || err != nil && (tt.err == "" || !strings.Contains(err.Error(), tt.err)) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.err)
		}
		if p.Digest != tt.digest || p.Real != tt.real {
			t.Errorf("%s: %s with digest %s", tt.name, p.Real, p.Digest)
		}
	}
}
