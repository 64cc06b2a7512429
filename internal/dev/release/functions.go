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

// sopsModule is the folder of the module that is the function krmflow-sops.
const sopsModule = "functions/sops"

// buildFunctions builds the functions for a platform into the folder out, with a catalog that pins
// them, and returns the name of the program. From an empty build cache this takes minutes.
func buildFunctions(out, platform string) (name string, err error) {
	out, err = filepath.Abs(out)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(out, 0o777); err != nil {
		return "", err
	}
	system, arch, _ := strings.Cut(platform, "/")
	name = "krmflow-sops"
	if system == "windows" {
		name += ".exe"
	}
	program := filepath.Join(out, name)
	if err := runBuild(system, arch, sopsModule, "env", "CGO_ENABLED=0", "go", "build", "-trimpath", "-buildvcs=false",
		"-ldflags", "-s -w", "-o", program, "."); err != nil {
		return "", err
	}
	data, err := os.ReadFile(program)
	if err != nil {
		return "", err
	}
	return name, writeCatalog(filepath.Join(out, "catalog.yaml"),
		[]pinned{{Bin: name, OS: system, Arch: arch, URI: name, SHA256: fmt.Sprintf("%x", sha256.Sum256(data))}})
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

// writeCatalog writes the catalog of the functions.
func writeCatalog(to string, platforms []pinned) error {
	t, err := template.ParseFiles(filepath.Join(sopsModule, "catalog.yaml"))
	if err != nil {
		return err
	}
	return create(to, func(w io.Writer) error {
		return t.Execute(w, struct{ Platforms []pinned }{platforms})
	})
}
