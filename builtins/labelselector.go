// Follows kyaml/yaml/internal/k8sgen/pkg/labels/selector.go.

package builtins

import (
	"slices"
	"strconv"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
)

// A labelSelector is a list of requirements on labels or annotations, for instance "app=web,tier
// in (a,b),!legacy". All of them must be met.
type labelSelector []requirement

type requirement struct {
	key    string
	op     string // one of = != in notin > < exists !
	values []string
}

func (sel labelSelector) match(labels yaml.Value) bool {
	for i := range sel {
		if !sel[i].match(labels) {
			return false
		}
	}
	return true
}

func (r *requirement) match(labels yaml.Value) bool {
	v := labels.Get(r.key)
	has := v.Exists()
	switch r.op {
	case "exists":
		return has
	case "!":
		return !has
	case "=", "in":
		return has && slices.Contains(r.values, v.Text())
	case "!=", "notin":
		return !has || !slices.Contains(r.values, v.Text())
	}
	n, err := strconv.ParseInt(v.Text(), 10, 64)
	if !has || err != nil {
		return false
	}
	limit, _ := strconv.ParseInt(r.values[0], 10, 64) // checked by the parser
	return r.op == ">" && n > limit || r.op == "<" && n < limit
}

// parseLabelSelector accepts the same syntax as Kubernetes, including its treatment of empty
// values in lists.
func parseLabelSelector(text string) (labelSelector, error) {
	p := labelParser{tokens: labelTokens(text)}
	var sel labelSelector
	for {
		if p.peek().isEnd() {
			return sel, nil
		}
		r, err := p.requirement()
		if err != nil {
			return nil, err
		}
		sel = append(sel, r)
		switch t := p.next(); {
		case t.isEnd():
			return sel, nil
		case !t.is(","):
			return nil, diag.BadSelector.Errorf("found %s, expected ',' or the end", t)
		case !p.peek().word && !p.peek().is("!"):
			return nil, diag.BadSelector.Errorf("found %s, expected a key after ','", p.peek())
		}
	}
}

// A labelToken is a word or a special symbol. The zero token is the end of the text.
type labelToken struct {
	text string
	word bool
}

func (t labelToken) is(symbol string) bool { return !t.word && t.text == symbol }
func (t labelToken) isEnd() bool           { return t.is("") }

func (t labelToken) String() string {
	if t.isEnd() {
		return "the end"
	}
	return "'" + t.text + "'"
}

const (
	labelBlanks  = " \t\r\n"
	labelSymbols = "=!(),><"
)

func labelTokens(s string) []labelToken {
	var tokens []labelToken
	for {
		s = strings.TrimLeft(s, labelBlanks)
		n := 1
		switch {
		case s == "":
			return tokens
		case strings.HasPrefix(s, "==") || strings.HasPrefix(s, "!="):
			n = 2
		case !strings.Contains(labelSymbols, s[:1]):
			if n = strings.IndexAny(s, labelSymbols+labelBlanks); n < 0 {
				n = len(s)
			}
			tokens = append(tokens, labelToken{s[:n], true})
			s = s[n:]
			continue
		}
		tokens = append(tokens, labelToken{s[:n], false})
		s = s[n:]
	}
}

type labelParser struct{ tokens []labelToken }

func (p *labelParser) peek() labelToken {
	if len(p.tokens) == 0 {
		return labelToken{}
	}
	return p.tokens[0]
}

func (p *labelParser) next() labelToken {
	t := p.peek()
	if !t.isEnd() {
		p.tokens = p.tokens[1:]
	}
	return t
}

func (p *labelParser) requirement() (r requirement, err error) {
	if p.peek().is("!") {
		p.next()
		r.op = "!"
	}
	t := p.next()
	if !t.word {
		return r, diag.BadSelector.Errorf("found %s, expected a key", t)
	}
	r.key = t.text
	if !isQualifiedName(r.key) {
		return r, diag.BadSelector.Errorf("invalid key %q", r.key)
	}
	switch {
	case r.op == "!":
		return r, nil
	case p.peek().isEnd() || p.peek().is(","):
		r.op = "exists"
		return r, nil
	}
	if r.op, err = p.operator(); err != nil {
		return r, err
	}
	if r.op == "in" || r.op == "notin" {
		r.values, err = p.valueList()
	} else {
		r.values, err = p.value()
	}
	if err != nil {
		return r, err
	}
	return r, r.check()
}

func (p *labelParser) operator() (string, error) {
	t := p.next()
	switch t.text {
	case "=", "!=", ">", "<", "in", "notin":
		return t.text, nil
	case "==":
		return "=", nil
	}
	return "", diag.BadSelector.Errorf("found %s, expected one of = == != in notin", t)
}

func (p *labelParser) value() ([]string, error) {
	if t := p.peek(); t.isEnd() || t.is(",") {
		return []string{""}, nil
	}
	t := p.next()
	if !t.word {
		return nil, diag.BadSelector.Errorf("found %s, expected a value", t)
	}
	return []string{t.text}, nil
}

func (p *labelParser) valueList() ([]string, error) {
	if t := p.next(); !t.is("(") {
		return nil, diag.BadSelector.Errorf("found %s, expected '('", t)
	}
	if p.peek().is(")") {
		p.next()
		return []string{""}, nil
	}
	var values []string
	for {
		switch t := p.next(); {
		case t.word:
			values = append(values, t.text)
			if p.peek().is(")") {
				p.next()
				return values, nil
			}
			if !p.peek().is(",") {
				return nil, diag.BadSelector.Errorf("found %s, expected ',' or ')'", p.peek())
			}
		case t.is(","):
			if len(values) == 0 || p.peek().is(",") || p.peek().is(")") {
				values = append(values, "")
			}
			if p.peek().is(")") {
				p.next()
				return values, nil
			}
			if p.peek().is(",") {
				p.next()
			}
		default:
			return nil, diag.BadSelector.Errorf("found %s, expected ',' or a value", t)
		}
	}
}

func (r *requirement) check() error {
	for _, v := range r.values {
		if r.op == ">" || r.op == "<" {
			if _, err := strconv.ParseInt(v, 10, 64); err != nil {
				return diag.BadSelector.Errorf("%s must be followed by an integer, not %q", r.op, v)
			}
		}
		if len(v) > 63 || v != "" && !isLabelWord(v) {
			return diag.BadSelector.Errorf("invalid value %q of key %q", v, r.key)
		}
	}
	return nil
}

// isQualifiedName reports whether key is a label key: a word, or a DNS name, a slash and a word.
func isQualifiedName(key string) bool {
	prefix, name, ok := strings.Cut(key, "/")
	if !ok {
		name = prefix
	} else if len(prefix) > 253 || !isDNSName(prefix) {
		return false
	}
	return len(name) <= 63 && isLabelWord(name)
}

func isLabelWord(s string) bool {
	for i := range len(s) {
		if !isAlnum(s[i]) && (i == 0 || i == len(s)-1 || s[i] != '-' && s[i] != '_' && s[i] != '.') {
			return false
		}
	}
	return s != ""
}

func isDNSName(s string) bool {
	for label := range strings.SplitSeq(s, ".") {
		if strings.ContainsFunc(label, func(r rune) bool { return r == '_' || 'A' <= r && r <= 'Z' }) || !isLabelWord(label) {
			return false
		}
	}
	return true
}

func isAlnum(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}
