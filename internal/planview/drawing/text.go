package drawing

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/krmflow/krmflow/diag"
)

const (
	// titleWidth and lineWidth are how wide the lines of a box may be, in letters of usual width.
	titleWidth = 26
	lineWidth  = 40
	// maxTip is how many lines a tooltip has.
	maxTip = 40
	// maxTipWidth bounds each of them, in letters.
	maxTipWidth = 200
)

// clean returns text of a tree as one line without anything that could steer or disguise.
func clean(text string) string {
	return strings.ReplaceAll(diag.OneLine(diag.Sanitise(text)), "\t", " ")
}

// short returns text with … in its middle if it is longer than max letters. The end of a path says more than its beginning.
func short(text string, max int) string {
	n := utf8.RuneCountInString(text)
	if n <= max {
		return text
	}
	letters := []rune(text)
	head := max / 3
	return string(letters[:head]) + "…" + string(letters[n-(max-head-1):])
}

// cut returns the first max letters of text.
func cut(text string, max int) string {
	if utf8.RuneCountInString(text) <= max {
		return text
	}
	return string([]rune(text)[:max-1]) + "…"
}

// some returns the first n of many lines, and how many there are besides.
func some(lines []string, n int) []string {
	if len(lines) <= n {
		return lines
	}
	return append(lines[:n:n], "and "+diag.Count(len(lines)-n, "other"))
}

// shortPath returns a path with … for directories in its middle, if it is longer than max letters: the first ones tell applications apart,
// the last ones what they are.
func shortPath(path string, max int) string {
	parts := strings.Split(path, "/")
	for head := 2; head > 0; head-- {
		for i := head + 1; i < len(parts) && utf8.RuneCountInString(path) > max; i++ {
			if cut := strings.Join(parts[:head], "/") + "/…/" + strings.Join(parts[i:], "/"); utf8.RuneCountInString(cut) <= max {
				return cut
			}
		}
	}
	return short(path, max)
}

// wrap breaks a name into at most three lines, after a slash if it can, or else after another mark.
func wrap(name string) []string {
	rest := []rune(shortPath(name, 2*titleWidth))
	var lines []string
	for len(rest) > titleWidth {
		at := titleWidth
		for _, marks := range []string{"/", "-_.@ "} {
			if i := strings.LastIndexAny(string(rest[:titleWidth]), marks); i > titleWidth/3 {
				at = utf8.RuneCountInString(string(rest[:titleWidth])[:i+1])
				break
			}
		}
		lines, rest = append(lines, string(rest[:at])), rest[at:]
	}
	return append(lines, string(rest))
}

// textWidth returns how wide a text is at most, in hundredths of the size of the letters. It knows no font: widths are those of a wide one.
func textWidth(text string) (w int) {
	for _, r := range text {
		switch {
		case unicode.Is(unicode.Mn, r):
		case r >= 0x1100 && unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana) || r >= 0x1F000:
			w += 105
		case strings.ContainsRune("ijlI.,:;|!'`()[]/ ", r):
			w += 38
		case strings.ContainsRune("mwMW@%…", r):
			w += 96
		case unicode.IsUpper(r):
			w += 70
		default:
			w += 62
		}
	}
	return w
}
