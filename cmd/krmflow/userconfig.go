package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/krmflow/krmflow/catalog"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/trust"
)

// maxConfig is the size in bytes up to which a user's configuration is read.
const maxConfig = 1 << 20

// userConfigPath returns where the user's configuration is, empty if the user has no home.
func userConfigPath() string {
	dir := os.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) { // the specification: a relative path is ignored
		home := os.Getenv("HOME")
		if !filepath.IsAbs(home) {
			return ""
		}
		dir = filepath.Join(home, ".config")
	}
	return filepath.Join(dir, "krmflow", "config.yaml")
}

// readUserConfig reads the user's configuration; without one it is empty. What others can write to is refused: they would decide what
// is trusted (TR-28).
func readUserConfig() (*trust.Config, error) {
	path := userConfigPath()
	if path == "" {
		return &trust.Config{}, nil
	}
	src, err := readOwn(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &trust.Config{}, nil
	}
	if err != nil {
		return nil, err
	}
	return trust.ParseConfig(src)
}

// readOwn reads a file that nobody but the user and root can change.
func readOwn(path string) (*yaml.Source, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	for _, p := range []string{filepath.Dir(real), real} {
		info, err := os.Stat(p)
		if err != nil {
			return nil, err
		}
		if why := others(info); why != "" {
			err := diag.Errorf(diag.Pos{}, "", "%s %s, and it decides what is trusted", p, why)
			return nil, &exitError{exitTrust, err.Hint("only you may be able to change it: chmod go-w %s", p)}
		}
	}
	data, err := loaders.ReadFile(real, maxConfig)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &yaml.Source{File: path, Data: data}, nil
}

// realRef returns ref with the path that it really has.
func realRef(ref catalog.Ref) catalog.Ref {
	if ref.Remote() {
		return ref
	}
	if dir, err := os.Getwd(); err == nil {
		ref = ref.In(dir)
	}
	if real, err := loaders.Real(ref.Location); err == nil {
		ref = ref.At(real)
	}
	return ref
}
