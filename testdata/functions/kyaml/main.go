// Kyaml is a function written with the library that most functions are written with. It returns what it gets.
package main

import (
	"fmt"
	"os"

	"sigs.k8s.io/kustomize/kyaml/kio"
)

func main() {
	rw := &kio.ByteReadWriter{Reader: os.Stdin, Writer: os.Stdout, KeepReaderAnnotations: true}
	if err := (kio.Pipeline{Inputs: []kio.Reader{rw}, Outputs: []kio.Writer{rw}}).Execute(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
