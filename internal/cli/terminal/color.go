package terminal

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/krmflow/krmflow/diag"
)

// Colors is a flag value that controls colored text: auto, always or never. The zero value means
// auto.
type Colors string

// String returns the value of the flag.
func (c *Colors) String() string {
	if *c == "" {
		return "auto"
	}
	return string(*c)
}

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

// On reports whether text written to f is colored. This is the only place that decides it. The
// value auto turns colors off if NO_COLOR is set, on if CLICOLOR_FORCE is set to anything but 0,
// and otherwise on if f is a terminal and TERM is not dumb.
func (c Colors) On(f *os.File) Palette {
	switch force := os.Getenv("CLICOLOR_FORCE"); {
	case c == "always" || c == "never":
		return c == "always"
	case os.Getenv("NO_COLOR") != "":
		return false
	case force != "" && force != "0":
		return true
	}
	return Palette(Is(f) && !isDumb())
}

// A Color is the parameter of the escape sequence that selects a color or weight.
type Color string

// The colors of text, by meaning.
const (
	Plain   Color = ""
	Bold    Color = "1"
	Dim     Color = "2"
	Red     Color = "31"
	Green   Color = "32"
	Yellow  Color = "33"
	Cyan    Color = "36"
	Magenta Color = "35"
	BoldRed Color = "1;31"
	// BoldYellow is for the word Warning.
	BoldYellow Color = "1;33"
)

// A Palette paints text, or leaves it unchanged if it is false.
type Palette bool

// Paint returns text in a color. Foreign text must have been made safe for a terminal.
func (p Palette) Paint(c Color, text string) string {
	if !p || c == Plain || text == "" {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}

// A Span is a part of a line with one color. Its text may be foreign.
type Span struct {
	Color Color
	Text  string
}

// A Painter prints messages.
type Painter struct {
	// Safe makes all text that is written to it safe for a terminal: see [diag.SanitisingWriter].
	Safe io.Writer
	// Colored receives colored text, which is safe already. It is nil if messages are not
	// colored.
	Colored io.Writer
}

// Line prints a line. Write errors are ignored: there is no other place to report them.
func (p Painter) Line(spans ...Span) {
	var b strings.Builder
	for _, s := range spans {
		if p.Colored == nil {
			b.WriteString(s.Text)
		} else {
			b.WriteString(Palette(true).Paint(s.Color, diag.Sanitise(s.Text)))
		}
	}
	b.WriteByte('\n')
	to := p.Safe
	if p.Colored != nil {
		to = p.Colored
	}
	_, _ = io.WriteString(to, b.String())
}
