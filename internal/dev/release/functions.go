package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

// sopsModule is the folder of the module with the function krmflow-sops. It also has the template
// of the catalog for all functions.
const sopsModule = "functions/sops"

// modules are the modules of functions, by the name of the program.
var modules = []struct{ program, dir string }{{"krmflow-sops", sopsModule}, {"krmflow-cel", "functions/cel"}}

// buildFunctions builds the functions for a platform into the folder out, with a catalog that pins
// them, and returns the names of the programs, in the order of modules. From an empty build cache
// this takes minutes.
func buildFunctions(out, platform string) (names []string, err error) {
	out, err = filepath.Abs(out)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(out, 0o777); err != nil {
		return nil, err
	}
	system, arch, _ := strings.Cut(platform, "/")
	pins := map[string][]pinned{}
	for _, m := range modules {
		name := m.program
		if system == "windows" {
			name += ".exe"
		}
		program := filepath.Join(out, name)
		if err := runBuild(system, arch, m.dir, "env", "CGO_ENABLED=0", "go", "build", "-trimpath", "-buildvcs=false",
			"-ldflags", "-s -w", "-o", program, "."); err != nil {
			return nil, err
		}
		data, err := os.ReadFile(program)
		if err != nil {
			return nil, err
		}
		names = append(names, name)
		pins[m.program] = []pinned{{Bin: name, OS: system, Arch: arch, URI: name, SHA256: fmt.Sprintf("%x", sha256.Sum256(data))}}
	}
	return names, writeCatalog(filepath.Join(out, "catalog.yaml"), pins)
}

// pinned describes a program in the catalog. URI is relative to it.
type pinned struct{ Bin, OS, Arch, URI, SHA256 string }

// catalogDigest returns the digest of the catalog in the folder of the functions, in the form that
// krmflow compares: sha256:HEX.
func catalogDigest(functions string) (string, error) {
	data, err := os.ReadFile(filepath.Join(functions, "catalog.yaml"))
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256(data)), nil
}

// writeCatalog writes the catalog of the functions. pins has the platforms of each program.
func writeCatalog(to string, pins map[string][]pinned) error {
	t, err := template.ParseFiles(filepath.Join(sopsModule, "catalog.yaml"))
	if err != nil {
		return err
	}
	return create(to, func(w io.Writer) error {
		return t.Execute(w, struct{ Sops, CEL []pinned }{pins["krmflow-sops"], pins["krmflow-cel"]})
	})
}
