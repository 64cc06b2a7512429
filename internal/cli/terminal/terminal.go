// Package terminal detects the capabilities of the terminal, and writes progress and output to
// it.
package terminal

import (
	"fmt"
	"os"
	"strconv"
)

// Colors is a flag value that controls colored text. The value auto enables colors on a
// terminal that supports them, unless the user has turned them off. The other values are always
// and never.
type Colors string

// String returns the value of the flag.
func (c *Colors) String() string { return string(*c) }

// Type returns the name of the value in help.
func (*Colors) Type() string { return "string" }

// Set sets the value of the flag.
func (c *Colors) Set(value string) error {
	switch value {
	case "auto", "always", "never":
		*c = Colors(value)
		return nil
	}
	return fmt.Errorf("legal values: auto, always, never")
}

// On reports whether text written to f is colored.
func (c Colors) On(f *os.File) bool {
	if c == "auto" {
		return is(f) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	}
	return c == "always"
}

// Width returns the width of f in characters, or 0 if f is not a terminal or its width is
// unknown.
func Width(f *os.File) int {
	if !is(f) {
		return 0
	}
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	return width(f)
}

func is(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && info.Mode().Type()&os.ModeDevice != 0 && !isNull(info)
}

func isNull(info os.FileInfo) bool {
	null, err := os.Stat(os.DevNull)
	return err == nil && os.SameFile(info, null)
}
