// Package terminal decides what a terminal can show, and writes progress, colors and long output
// to it.
package terminal

import (
	"os"
	"strconv"
)

// Width returns the width of f in characters, or 0 if f is not a terminal or its width is
// unknown. The variable COLUMNS takes precedence.
func Width(f *os.File) int {
	width, _ := size(f)
	return width
}

// size returns the width and height of f, with 0 for a size that is unknown. The variables
// COLUMNS and LINES take precedence.
func size(f *os.File) (width, height int) {
	if !Is(f) {
		return 0, 0
	}
	width, height = windowSize(f)
	for _, v := range []struct {
		name string
		n    *int
	}{{"COLUMNS", &width}, {"LINES", &height}} {
		if n, err := strconv.Atoi(os.Getenv(v.name)); err == nil && n > 0 {
			*v.n = n
		}
	}
	return width, height
}

// Is reports whether f is a terminal.
func Is(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && info.Mode().Type()&os.ModeDevice != 0 && !isNull(info)
}

func isNull(info os.FileInfo) bool {
	null, err := os.Stat(os.DevNull)
	return err == nil && os.SameFile(info, null)
}

// isDumb reports whether the terminal cannot move the cursor or show colors.
func isDumb() bool { return os.Getenv("TERM") == "dumb" }
