package function

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/krmflow/krmflow/krm/yaml"
)

// stray returns an error if the function wrote text before or after its answer, or instead of one.
// It reports text before or after only if the rest is readable as an answer.
func (d *wireDecoder) stray(answer yaml.Chunks) error {
	const most = 16 << 20 // it is parsed several times
	if answer.Len() > most {
		return nil
	}
	text := string(answer.Join())
	before, rest := d.cutBefore(text)
	inner, after := cutAfter(rest)
	where, said := "", before
	switch {
	case before == "" && rest == "":
		if first := firstLine(text); !isMessage(first) {
			return nil
		}
		where, said = "and no ResourceList", text
	case before != "" && d.readable(rest):
		where = "before the ResourceList"
	case after == "" || !d.readable(inner):
		return nil
	case before != "":
		where = "before and after the ResourceList"
	default:
		where, said = "after the ResourceList", after
	}
	err := d.errorf("", "the function wrote text to stdout %s%s", where, quoted(firstLine(said)))
	return err.Hint("write only the ResourceList to stdout, and messages to stderr")
}

// cutBefore cuts off the lines before the start of an answer. Both results are empty if no line
// looks like one.
func (d *wireDecoder) cutBefore(text string) (before, rest string) {
	const tries = 4
	at, tried := 0, 0
	for line := range strings.Lines(text) {
		named := strings.HasPrefix(line, "apiVersion:") || strings.HasPrefix(line, "kind:") || strings.HasPrefix(line, "items:")
		if named || line[0] == '{' || strings.HasPrefix(line, "---") {
			switch {
			case strings.TrimSpace(text[:at]) == "" && named:
				return "", text
			case rest == "":
				before, rest = text[:at], text[at:]
			}
			if tried++; tried > tries {
				break
			}
			if inner, _ := cutAfter(text[at:]); d.readable(inner) {
				return text[:at], text[at:]
			}
		}
		at += len(line)
	}
	return before, rest
}

// cutAfter cuts off trailing lines that are not YAML.
func cutAfter(text string) (inner, after string) {
	end := len(text)
	for end > 0 {
		begin := strings.LastIndexByte(strings.TrimSuffix(text[:end], "\n"), '\n') + 1
		line := strings.TrimSpace(text[begin:end])
		if begin == 0 || line != "" && !isLog(line) && !isMessage(text[begin:end]) {
			break
		}
		end = begin
	}
	after = strings.TrimSpace(text[end:])
	if !strings.HasSuffix(text, "\n") && !strings.Contains(after, " ") {
		return text, "" // may be the beginning of a key
	}
	return text[:end], after
}

// readable reports whether text is an answer.
func (d *wireDecoder) readable(text string) bool {
	stream := d.WireOptions.stream()
	docs, err := stream.Read(yaml.Chunks{[]byte(text)})
	if err != nil || len(docs) == 0 {
		return false
	}
	for _, doc := range docs {
		kind := doc.Value.Get("kind").Text()
		if doc.Value.Get("apiVersion").Text() == "" || kind == "" || kind == "ResourceList" && !doc.Value.Get("items").Exists() {
			return false
		}
	}
	return true
}

// firstLine returns the first line of text that is not blank or a document marker.
func firstLine(text string) string {
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" && !strings.HasPrefix(line, "---") {
			return line
		}
	}
	return ""
}

// isMessage reports whether a line is a message for people: it does not look like a part of a
// list.
func isMessage(line string) bool {
	line = strings.TrimRight(line, "\r\n")
	if line == "" || strings.ContainsRune(" \t-#{}[]\"'&*!|>%@`?.", rune(line[0])) {
		return false
	}
	key, value, ok := strings.Cut(line, ":")
	if !ok || strings.ContainsAny(key, " \t") || value != "" && value[0] != ' ' {
		return true
	}
	return slices.Contains([]string{"debug", "info", "note", "warn", "warning", "error", "fatal", "panic", "usage"}, strings.ToLower(key))
}

// isLog reports whether a line is a log message in JSON.
func isLog(line string) bool {
	return strings.HasPrefix(line, `{"`) && strings.HasSuffix(line, "}") && !strings.Contains(line, "apiVersion")
}

// quoted returns a line for messages. It omits lines that may be a part of the list or a value,
// because those may come from a Secret. For the same reason it omits the word data and everything
// after it.
func quoted(line string) string {
	const most = 60
	line = strings.TrimSpace(line)
	if !isMessage(line) || len(line) > 20 && !strings.Contains(line, " ") {
		return ""
	}
	end := len(line)
	for _, word := range []string{"data", "Data"} {
		if i := strings.Index(line, word); i >= 0 {
			end = min(end, i)
		}
	}
	if end = min(end, most); end < len(line) {
		for !utf8.RuneStart(line[end]) {
			end--
		}
		line = line[:end] + "..."
	}
	return ": " + strconv.Quote(line)
}
