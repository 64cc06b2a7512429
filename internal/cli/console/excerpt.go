package console

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/secret/words"
)

// maxExcerpt is the maximum number of characters of a source line that are shown.
const maxExcerpt = 100

// excerpt returns the source line that an error refers to and a second line that underlines the
// faulty part. It returns nil if the line does not exist, if the message quotes the whole line,
// or if the line may contain a password or token.
func excerpt(text string, e *diag.Error, code diag.Code) []string {
	line, ok := lineOf(text, e.Pos.Line)
	trimmed := strings.TrimSpace(line)
	if !ok || trimmed == "" || strings.Contains(e.Msg, `"`+trimmed+`"`) || strings.Contains(line, "\x00") || hasCredentials(line) {
		return nil
	}
	from, to, found := marked(line, e)
	if !found && e.Field == "" && (code == diag.Nameless || !strings.HasPrefix(string(code), "KF012")) {
		return nil // the error refers to the whole block that starts here, not to this line
	}
	before, mark, after := window(line, from, to)
	number := fmt.Sprintf("%5d | ", e.Pos.Line)
	carets := strings.Repeat("^", max(1, utf8.RuneCountInString(mark)))
	return []string{number + before + mark + after, strings.Repeat(" ", len(number)-2) + "| " + blank(before) + carets}
}

// hasCredentials reports whether a line mentions a secret, or contains a word that messages
// must redact.
func hasCredentials(line string) bool {
	return words.Line(line) || slices.ContainsFunc(strings.FieldsFunc(line,
		func(r rune) bool { return strings.ContainsRune(" \t\"'`,[]{}", r) }), func(word string) bool {
		return strings.ContainsAny(word, "@=") && diag.Redact(word) != word
	})
}

// lineOf returns the nth line of text, counted from 1.
func lineOf(text string, n int) (line string, ok bool) {
	for ; n > 1; n-- {
		if _, text, ok = strings.Cut(text, "\n"); !ok {
			return "", false
		}
	}
	line, _, _ = strings.Cut(text, "\n")
	return strings.TrimRight(line, "\r"), true
}

// marked returns the part of line that an error refers to: the text that its message quotes, or
// the value or key of its field. Otherwise it returns the whole line without surrounding
// blanks, and found is false.
func marked(line string, e *diag.Error) (from, to int, found bool) {
	for _, m := range quoted().FindAllStringSubmatch(e.Msg, -1) {
		if i := indexWord(line, m[1]); i >= 0 {
			return i, i + len(m[1]), true
		}
	}
	from = len(line) - len(strings.TrimLeft(line, " \t"))
	for strings.HasPrefix(line[from:], "- ") { // the dashes of list items
		from += len(line[from:]) - len(strings.TrimLeft(line[from+1:], " "))
	}
	if key := lastKey(e.Field); key != "" {
		if i := indexWord(line, key+":"); i >= 0 {
			from, found = i, true
			if value := strings.TrimSpace(line[i+len(key)+1:]); value != "" && value[0] != '#' {
				from = len(line) - len(strings.TrimLeft(line[i+len(key)+1:], " "))
			}
		}
	}
	if value, _, ok := strings.Cut(line[from:], " #"); ok && !strings.ContainsAny(value, `"'`) {
		line = line[:from+len(value)]
	}
	return from, max(from, len(strings.TrimRight(line, " \t"))), found
}

// quoted matches quoted text in a message. It is compiled on first use.
var quoted = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`"([^"\\]+)"`) })

// indexWord returns the index of the first occurrence of word in line that neither begins nor
// ends within another word, or -1.
func indexWord(line, word string) int {
	for at := 0; word != ""; {
		i := strings.Index(line[at:], word)
		if i < 0 {
			break
		}
		from, to := at+i, at+i+len(word)
		if !isWord(line[:from], true) && !(isWord(line[to:], false) && !strings.HasSuffix(word, ":")) {
			return from
		}
		at = to
	}
	return -1
}

// isWord reports whether text ends (or, if end is false, begins) with a letter, a digit or
// another character that names consist of.
func isWord(text string, end bool) bool {
	r, _ := utf8.DecodeRuneInString(text)
	if end {
		r, _ = utf8.DecodeLastRuneInString(text)
	}
	return r == '_' || r == '-' || r == '.' || r == '/' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}

// lastKey returns the last key of a field path, or "" if the path ends with an index.
func lastKey(field string) string {
	if strings.HasSuffix(field, "]") {
		return ""
	}
	return strings.Trim(field[strings.LastIndexAny(field, ".: ")+1:], `"`)
}

// window truncates a line around line[from:to]. The returned pieces are safe to print. Tabs
// before the mark are kept, so that the underline stays aligned.
func window(line string, from, to int) (before, mark, after string) {
	before, mark, after = diag.Sanitise(line[:from]), diag.Sanitise(line[from:to]), diag.Sanitise(line[to:])
	if long := utf8.RuneCountInString(mark) - maxExcerpt*3/4; long > 0 {
		mark, after = string([]rune(mark)[:maxExcerpt*3/4]), "…"
	}
	if room := maxExcerpt - utf8.RuneCountInString(mark); utf8.RuneCountInString(before) > room/2 &&
		utf8.RuneCountInString(before+mark+after) > maxExcerpt {
		r := []rune(before)
		before = "…" + string(r[len(r)-room/2:])
	}
	if room := maxExcerpt - utf8.RuneCountInString(before+mark); utf8.RuneCountInString(after) > room {
		after = string([]rune(after)[:max(0, room)]) + "…"
	}
	return before, mark, after
}

// blank returns white space of the same width as text.
func blank(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' {
			return r
		}
		return ' '
	}, text)
}
