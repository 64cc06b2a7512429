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

// maxExcerpt is how many characters of a line are shown.
const maxExcerpt = 100

// excerpt returns the line of text that an error of a kind is about and one that underlines what is wrong in it; nothing if there is no such
// line, the message has all of it, or it may have a password or a token.
func excerpt(text string, e *diag.Error, code diag.Code) []string {
	line, ok := lineOf(text, e.Pos.Line)
	trimmed := strings.TrimSpace(line)
	if !ok || trimmed == "" || strings.Contains(e.Msg, `"`+trimmed+`"`) || strings.Contains(line, "\x00") || hasCredentials(line) {
		return nil
	}
	from, to, found := marked(line, e)
	if !found && e.Field == "" && (code == diag.Nameless || !strings.HasPrefix(string(code), "KF012")) {
		return nil // the error is about all that begins here, and not about this line
	}
	before, mark, after := window(line, from, to)
	number := fmt.Sprintf("%5d | ", e.Pos.Line)
	carets := strings.Repeat("^", max(1, utf8.RuneCountInString(mark)))
	return []string{number + before + mark + after, strings.Repeat(" ", len(number)-2) + "| " + blank(before) + carets}
}

// hasCredentials reports whether a line names something secret, or messages must not show a word of it as it is.
func hasCredentials(line string) bool {
	return words.Line(line) || slices.ContainsFunc(strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\"'`,[]{}", r) }), func(word string) bool {
		return strings.ContainsAny(word, "@=") && diag.Redact(word) != word
	})
}

// lineOf returns a line of text, counted from 1.
func lineOf(text string, n int) (line string, ok bool) {
	for ; n > 1; n-- {
		if _, text, ok = strings.Cut(text, "\n"); !ok {
			return "", false
		}
	}
	line, _, _ = strings.Cut(text, "\n")
	return strings.TrimRight(line, "\r"), true
}

// marked returns which part of line an error is about: what its message quotes, else what its field names, else all but the blanks around; found is false
// in that case.
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

// quoted matches what a message quotes. It is made when there is a message.
var quoted = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`"([^"\\]+)"`) })

// indexWord returns where word is in line, and neither begins nor ends within another word; -1 if nowhere.
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

// isWord reports whether the text ends, or begins, with a letter, a digit or what names consist of besides.
func isWord(text string, end bool) bool {
	r, _ := utf8.DecodeRuneInString(text)
	if end {
		r, _ = utf8.DecodeLastRuneInString(text)
	}
	return r == '_' || r == '-' || r == '.' || r == '/' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}

// lastKey returns the key that a field ends with, "" if that is an index.
func lastKey(field string) string {
	if strings.HasSuffix(field, "]") {
		return ""
	}
	return strings.Trim(field[strings.LastIndexAny(field, ".: ")+1:], `"`)
}

// window cuts a line to the part around line[from:to], in pieces that are safe to print. Tabs before the mark stay.
func window(line string, from, to int) (before, mark, after string) {
	before, mark, after = diag.Sanitise(line[:from]), diag.Sanitise(line[from:to]), diag.Sanitise(line[to:])
	if long := utf8.RuneCountInString(mark) - maxExcerpt*3/4; long > 0 {
		mark, after = string([]rune(mark)[:maxExcerpt*3/4]), "…"
	}
	if room := maxExcerpt - utf8.RuneCountInString(mark); utf8.RuneCountInString(before) > room/2 && utf8.RuneCountInString(before+mark+after) > maxExcerpt {
		r := []rune(before)
		before = "…" + string(r[len(r)-room/2:])
	}
	if room := maxExcerpt - utf8.RuneCountInString(before+mark); utf8.RuneCountInString(after) > room {
		after = string([]rune(after)[:max(0, room)]) + "…"
	}
	return before, mark, after
}

// blank returns what is as wide as text.
func blank(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' {
			return r
		}
		return ' '
	}, text)
}
