package exec_test

import (
	"os"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/executors"
	"github.com/krmflow/krmflow/executors/exec"
	"github.com/krmflow/krmflow/krm/yaml"
)

// A held program runs from the hashed content, and its file is not read again. The digest of a
// program that is not held is not trusted.
func TestHeldProgramRunsAsHashed(t *testing.T) {
	r := self(t)
	f := r.script(t, "held", "#!/bin/cat\n")
	f.Unsandboxed = true
	held, err := executors.Hold(f.Program)
	if err != nil {
		t.Fatal(err)
	}
	if held.Digest() != f.Digest {
		t.Fatalf("digest %v, want %v", held.Digest(), f.Digest)
	}
	if err := os.Chmod(f.Program, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(f.Program, []byte("#!/bin/false\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	name, value, _ := strings.Cut(held.Env()[0], "=")
	if name != executors.HeldVariable {
		t.Errorf("variable %s", name)
	}
	_, place, _ := strings.Cut(value, "=")
	for _, test := range []struct {
		variable string
		ok       bool
	}{
		{value, true},
		{"", false},
		{"sha256:" + strings.Repeat("0", 64) + "=" + place, false},
		{f.Digest.String() + "=" + f.Program, false}, // a file that others can change
		{f.Digest.String() + "=/nothing", false},
	} {
		x := exec.NewHeld(test.variable)
		defer x.Close()
		out, err := x.Execute(t.Context(), f, yaml.Chunks{[]byte(input)})
		switch {
		case test.ok && (err != nil || !strings.Contains(string(out.List.Join()), "/bin/cat")):
			t.Errorf("%q: %q, %v", test.variable, out.List.Join(), err)
		case !test.ok && (err == nil || !strings.Contains(err.Error(), "does not match its digest")):
			t.Errorf("%q: %v", test.variable, err)
		}
	}
}
