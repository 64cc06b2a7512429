package exec_test

import (
	"testing"

	"github.com/krmflow/krmflow/executors/exec"
	"github.com/krmflow/krmflow/krm/yaml"
)

// The cost of a call with a shell as the function, which starts in a millisecond.
func BenchmarkCall(b *testing.B) {
	r := self(b)
	x := exec.New()
	defer x.Close()
	for _, name := range []string{"plain", "sandbox"} {
		b.Run(name, func(b *testing.B) {
			f := r.script(b, "cat", "#!/bin/cat\n")
			f.Unsandboxed = name == "plain"
			for b.Loop() {
				if _, err := x.Execute(b.Context(), f, yaml.Chunks{[]byte(input)}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
