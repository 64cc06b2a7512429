// Package settings has the sources of trust other than flags, which are built-in catalogs and
// the user's configuration file. The file is rejected if other users can write to it. The
// package also sets flags from this file and from variables.
package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/output"
	"github.com/krmflow/krmflow/trust"
)

// maxSize is the maximum size of the user's configuration in bytes.
const maxSize = 1 << 20

// ConfigPath returns the path of the user's configuration:
// $XDG_CONFIG_HOME/krmflow/config.yaml, or krmflow/config.yaml below $HOME/.config. It is empty
// if the user has no home directory.
func ConfigPath() string {
	dir := os.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) { // the XDG specification requires relative paths to be ignored
		home := os.Getenv("HOME")
		if !filepath.IsAbs(home) {
			return ""
		}
		dir = filepath.Join(home, ".config")
	}
	return filepath.Join(dir, "krmflow", "config.yaml")
}

// OwnPath returns the path of the catalog of the user's installed programs, which is beside the
// configuration. It is empty if the user has no home directory.
func OwnPath() string {
	path := ConfigPath()
	if path == "" {
		return ""
	}
	return filepath.Join(filepath.Dir(path), "programs.yaml")
}

// shippedCatalog is the digest of the catalog of the functions that are released together with this
// krmflow. It is set by the linker, and empty in a build from source.
var shippedCatalog string

// ShippedCatalog returns a pinned reference to the catalog of the functions that are installed
// together with krmflow, "" if there is none. It is in the folder functions beside the program, or
// in ../lib/krmflow/functions. A file with a different digest there is not trusted.
func ShippedCatalog() string {
	if shippedCatalog == "" {
		return ""
	}
	program, err := os.Executable()
	if err == nil {
		program, err = filepath.EvalSymlinks(program)
	}
	if err != nil {
		return ""
	}
	for _, place := range []string{"functions", "../lib/krmflow/functions"} {
		path := filepath.Join(filepath.Dir(program), place, "catalog.yaml")
		if data, err := loaders.ReadFile(path, maxSize); err == nil && krm.DigestOf(data).String() == shippedCatalog {
			return path + "#sha256=" + strings.TrimPrefix(shippedCatalog, "sha256:")
		}
	}
	return ""
}

// OwnCatalog returns [OwnPath] if the file exists, "" otherwise. It returns an [*UnsafeError] if
// other users can write to the file.
func OwnCatalog() (string, error) {
	path := OwnPath()
	if path == "" || !loaders.Exists(path) {
		return "", nil
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	return path, checkOthers(real)
}

// checkOthers returns an [*UnsafeError] if other users can write to a file or its folder.
func checkOthers(real string) error {
	for _, p := range []string{filepath.Dir(real), real} {
		info, err := os.Stat(p)
		if err != nil {
			return err
		}
		if why := others(info); why != "" {
			return &UnsafeError{p, why, "remove write access for other users: chmod go-w " + p}
		}
	}
	return nil
}

// An UnsafeError reports that users other than the owner can change the user's configuration.
type UnsafeError struct {
	// Path is the file or its folder. Why is the reason.
	Path, Why string
	// Help is the hint for the user.
	Help string
}

func (e *UnsafeError) Error() string { return e.Diag().Error() }

// Kind returns the code of the message: see [diag.CodeOf].
func (e *UnsafeError) Kind() diag.Code { return diag.UnsafeConfig }

// Diag returns e as a [diag.Error].
func (e *UnsafeError) Diag() *diag.Error {
	err := &diag.Error{Msg: fmt.Sprintf("%s %s, but it controls what krmflow trusts", e.Path, e.Why), Err: e}
	return err.Hint("%s", e.Help)
}

// CheckPlace returns an [*UnsafeError] if the configuration is in a rendered tree.
// XDG_CONFIG_HOME or HOME can name such a file, and then anyone who can change the tree could
// choose trusted catalogs. within returns the tree that contains a path, or "" if none does.
func CheckPlace(within func(path string) string) error {
	for _, path := range []string{ConfigPath(), OwnPath()} {
		if _, err := os.Stat(path); path == "" || err != nil {
			continue // readConfig has reported the error
		}
		if tree := within(path); tree != "" {
			return &UnsafeError{path, "is inside " + tree + ", which is rendered",
				"move it out of that directory, and set XDG_CONFIG_HOME or HOME"}
		}
	}
	return nil
}

// ReadConfig reads the user's configuration, which is empty without a file. It returns an
// [*UnsafeError] if other users can write to the file, because they could make catalogs trusted
// (TR-28).
func ReadConfig() (*trust.Config, error) {
	src, err := readConfig()
	if src == nil || err != nil {
		return &trust.Config{}, err
	}
	return trust.ParseConfig(src)
}

// readConfig returns the configuration file, or nil if there is none. It returns the file even
// with an [*UnsafeError].
func readConfig() (*yaml.Source, error) {
	path := ConfigPath()
	_, err := os.Stat(path)
	// HOME=/dev/null means no home directory.
	if path == "" || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	unsafe := checkOthers(real)
	if unsafe != nil && !errors.As(unsafe, new(*UnsafeError)) {
		return nil, unsafe
	}
	data, err := loaders.ReadFile(real, maxSize)
	if err != nil {
		return nil, errors.Join(unsafe, fmt.Errorf("%s: %w", path, err))
	}
	return &yaml.Source{File: path, Data: data}, unsafe
}

// EditConfig adds an entry to the user's configuration, replacing an entry for the same
// catalog, or removes that entry. found reports whether there was one. The file is replaced
// atomically, even if its name is a symbolic link, and concurrent edits are safe.
func EditConfig(entry string, remove bool) (found bool, err error) {
	path := ConfigPath()
	if path == "" {
		return false, errors.New("the configuration has no location: HOME is not set")
	}
	src, err := readConfig()
	if err != nil || src == nil && remove {
		return false, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return false, err
	}
	real := path
	if src != nil {
		if real, err = filepath.EvalSymlinks(path); err != nil {
			return false, err
		}
	}
	err = output.EditFile(real, 0o600, func(old []byte) (data []byte, err error) {
		data, found, err = trust.EditConfig(&yaml.Source{File: path, Data: old}, entry, remove)
		return data, err
	})
	return found, err
}
