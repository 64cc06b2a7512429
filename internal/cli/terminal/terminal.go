// Package terminal knows what the terminal can show that a command prints to.
package terminal

import (
	"fmt"
	"os"
	"strconv"
)

// Colors says when text is coloured: auto, which means on a terminal that can and whose user wants it, always or never.
type Colors string

// String returns the value of the flag.
func (c *Colors) String() string { return string(*c) }

// Type is what help calls the value.
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

// On reports whether text is coloured that is written to f.
func (c Colors) On(f *os.File) bool {
	if c == "auto" {
		return is(f) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	}
	return c == "always"
}

// Width returns how many characters a line of f shows, 0 if f is no terminal or does not say.
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
