package container

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/executors/internal/sources"
	"github.com/krmflow/krmflow/krm/function"
)

// checkNetwork rejects names that do not denote a separate network, such as the networks of the
// host or of a different container.
func checkNetwork(name string) error {
	switch {
	case name == "":
		return nil
	case name == "host":
		return errors.New("the network of the host cannot be granted; name a bridge")
	case !plainName(name):
		return fmt.Errorf("%q is not the name of a network", name)
	}
	return nil
}

// plainName reports whether s matches [a-zA-Z0-9][a-zA-Z0-9_.-]* and has at most 255 bytes.
func plainName(s string) bool {
	for i, r := range s {
		if plainRune(r) < 0 && (i == 0 || r != '_' && r != '.') || i == 0 && r == '-' {
			return false
		}
	}
	return s != "" && len(s) <= 255
}

// plainRune returns r if it is a letter, a digit or a dash, and -1 otherwise. It is also used
// with strings.Map, which drops the other characters.
func plainRune(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' {
		return r
	}
	return -1
}

// checkEnv checks that an engine reads env as a variable with a value. Engines take a name
// without a value from their own environment.
func checkEnv(env string) error {
	name, value, ok := strings.Cut(env, "=")
	for i, r := range name {
		if r != '_' && (plainRune(r) < 0 || r == '-' || i == 0 && r >= '0' && r <= '9') {
			ok = false
		}
	}
	if !ok || name == "" {
		return fmt.Errorf("the environment variable %q must have the form NAME=value", name)
	}
	if strings.ContainsAny(value, "\n\r\x00") {
		return fmt.Errorf("the environment variable %s has a line break, which engines cannot pass on", name)
	}
	return nil
}

// checkMount rejects mounts that would expose more than was granted or hide the container's own
// files.
func checkMount(m function.Mount, root string) error {
	if err := checkDest(m.Dest); err != nil {
		return err
	}
	switch m.Type {
	case "tmpfs":
		if m.Source != "" {
			return errors.New("a tmpfs has no source")
		}
		return nil
	case "volume":
		if !plainName(m.Source) {
			return fmt.Errorf("%q is not the name of a volume", m.Source)
		}
		return nil
	case "bind":
		f, err := openSource(m.Source, root)
		if err == nil {
			f.Close()
		}
		return err
	}
	return fmt.Errorf("%q is not a type of mount; expected bind, volume or tmpfs", m.Type)
}

func checkDest(dest string) error {
	if !strings.HasPrefix(dest, "/") || filepath.ToSlash(filepath.Clean(dest)) != dest || awkward(dest) {
		return errors.New("the destination must be an absolute path without . and .., commas and quotes")
	}
	for _, own := range []string{"/local", "/proc", "/sys", "/dev"} {
		if dest == own || strings.HasPrefix(dest, own+"/") {
			return fmt.Errorf("it would hide %s", own)
		}
	}
	if dest == "/" {
		return errors.New("it would hide everything else")
	}
	return nil
}

// openSource opens the source of a mount. It returns an error if the source must not be mounted.
func openSource(source, root string) (*os.File, error) {
	if !filepath.IsAbs(source) || filepath.Clean(source) != source || awkward(source) {
		return nil, errors.New("the source must be an absolute path without . and .., commas and quotes")
	}
	if root != "" && !diag.Within(source, root) {
		return nil, fmt.Errorf("the source %s is outside of %s", source, root)
	}
	if home, err := os.UserHomeDir(); source == filepath.Dir(source) || err == nil && source == filepath.Clean(home) {
		return nil, fmt.Errorf("the source %s is too broad", source)
	}
	f, err := sources.Open(source)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		err = fmt.Errorf("the source %s is neither a directory nor a regular file", source)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// awkward reports whether a path cannot be used in the option list of --mount.
func awkward(path string) bool {
	return strings.ContainsAny(path, ",\"") || strings.ContainsFunc(path, func(r rune) bool { return r < ' ' || r == 0x7f })
}
