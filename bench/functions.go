package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Functions is a tree of n Deployments that are passed through the given number of function
// calls. The function is a shell script that copies its input, so the result measures everything
// except the function itself.
func Functions(calls, n int) Tree {
	return functions(calls, n, "functions", "a copying script", func() ([]byte, error) { return []byte("#!/bin/sh\nexec cat\n"), nil })
}

// FunctionsOf is [Functions] with program as the function. The function must not change the
// resources.
func FunctionsOf(calls, n int, program string) Tree {
	return functions(calls, n, "functions-given", filepath.Base(program), func() ([]byte, error) { return os.ReadFile(program) })
}

func functions(calls, n int, name, what string, program func() ([]byte, error)) Tree {
	t := Tree{
		Name: fmt.Sprintf("%s-%d", name, calls), Title: fmt.Sprintf("%d calls of %s, %d resources", calls, what, n), Roots: []string{"."},
		Flags: []string{"--enable-alpha-plugins", "--enable-exec"},
	}
	t.fill = func(w *treeWriter) {
		var files, configs []string
		for i := range n {
			a := w.app(fmt.Sprintf("app-%03d", i))
			files = append(files, a.name+".yaml")
			w.file(a.name+".yaml", func(out printf) { deployment(w, a, out) })
		}
		var transformers strings.Builder
		for i := range calls {
			configs = append(configs, fmt.Sprintf("call-%d.yaml", i))
			w.text(configs[i], fmt.Sprintf(functionConfig, i))
		}
		list(func(format string, args ...any) { fmt.Fprintf(&transformers, format, args...) }, "transformers", configs)
		w.kustomization(".", files, transformers.String())
		data, err := program()
		if err == nil && w.err == nil {
			err = w.root.WriteFile("fn", data, 0o755)
		}
		if w.err == nil {
			w.err = err
		}
	}
	return t
}

const functionConfig = `apiVersion: example.com/v1
kind: Copy
metadata:
  name: call-%d
  annotations:
    config.kubernetes.io/function: |
      exec:
        path: ./fn
`

// unsandboxed returns t with functions that krmflow, like kustomize, does not isolate.
func (t Tree) unsandboxed() Tree {
	t.Name += "-unsandboxed"
	t.Title += ", no sandbox"
	t.KrmflowFlags = []string{"--allow-unsandboxed"}
	return t
}
