package yaml

import (
	"strconv"
	"strings"

	"github.com/krmflow/krmflow/krm/secret/words"
)

// explain converts an error of yaml/v3 in text to a line number and a plain message.
func explain(text string, err error) (line int, what string) {
	msg := strings.TrimPrefix(err.Error(), "yaml: ")
	line = 1
	named := false // yaml/v3 does not name the first line
	if rest, ok := strings.CutPrefix(msg, "line "); ok {
		if number, rest, ok := strings.Cut(rest, ": "); ok {
			line, _ = strconv.Atoi(number)
			msg, named = rest, true
		}
	}
	if rest, ok := strings.CutPrefix(msg, "unknown anchor '"); ok {
		name, _, _ := strings.Cut(rest, "'")
		before, _, _ := strings.Cut(text, "*"+name)
		line = 1 + strings.Count(before, "\n")
		if words.Text(text) {
			return line, "an alias refers to an anchor that does not exist; a value that starts with * needs quotes"
		}
		return line, "the alias *" + name + " refers to an anchor that does not exist"
	}
	for _, e := range explanations {
		if strings.HasPrefix(msg, e.theirs) {
			if named {
				line += e.lines
			}
			return line, e.ours
		}
	}
	return line, "this is not valid YAML: " + msg
}

// explanations maps messages of yaml/v3 to plain ones. lines corrects the line numbers of its
// parser, which start at 0.
var explanations = [...]struct {
	theirs string
	lines  int
	ours   string
}{
	{"found character that cannot start any token", 0, "found a character that cannot start a value: a tab, @, ` or %"},
	{"found a tab character", 0, "found a tab where indentation is expected"},
	{"found unexpected end of stream", 0, "the closing quote of this text is missing"},
	{"found unexpected document indicator", 0, "the closing quote of this text is missing"},
	{"mapping values are not allowed in this context", 0, secondColon},
	{"could not find expected ':'", 0, "expected a colon after the key"},
	{"did not find expected key", 1, "this mapping has a line that is not \"key: value\" at its indentation"},
	{"did not find expected '-' indicator", 1, "this list has a line that does not start with a dash at its indentation"},
	{"did not find expected ',' or ']'", 1, "expected a comma or ] in this list"},
	{"did not find expected ',' or '}'", 1, "expected a comma or } in this mapping"},
	{"did not find expected node content", 1, "expected a value"},
	{"exceeded max depth", 0, tooDeep},
	{"did not find expected <document start>", 1, "found more text after the end of the document"},
	{"block sequence entries are not allowed", 0, "a list item cannot start here"},
	{"found unknown escape character", 0, "found an unknown escape sequence in double quotes"},
	{"found undefined tag handle", 1, "found a tag whose prefix is not declared"},
	{"did not find expected comment or line break", 0, "found text after the | or > that starts a block of text"},
}
