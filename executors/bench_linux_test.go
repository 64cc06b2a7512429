package executors_test

import (
	"testing"

	"github.com/krmflow/krmflow/executors"
	"github.com/krmflow/krmflow/krm/yaml"
)

// The cost of starting and stopping an executor.
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		x, err := executors.Start(b.Context(), executors.Program{Kind: "exec"})
		if err != nil {
			b.Fatal(err)
		}
		x.Close()
	}
}

// The cost of a call through the process, without a function.
func BenchmarkCall(b *testing.B) {
	x, err := executors.Start(b.Context(), executors.Program{Kind: "env"})
	if err != nil {
		b.Fatal(err)
	}
	defer x.Close()
	for _, size := range []int{1 << 10, 1 << 20} {
		b.Run(map[int]string{1 << 10: "1KiB", 1 << 20: "1MiB"}[size], func(b *testing.B) {
			list, f := make([]byte, size), named(b)("copy")
			b.SetBytes(int64(size))
			for b.Loop() {
				if _, err := x.Execute(b.Context(), f, yaml.Chunks{list}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
