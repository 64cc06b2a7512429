package flux

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/krmflow/krmflow/krm/yaml"
)

// An assignment is one KEY=VALUE pair of helm's --set.
type assignment struct {
	path  []any // mapping keys and list indexes
	value yaml.Value
}

// parseSet parses a target path and its value as Flux does. The syntax is helm's --set, or
// --set-string for a value in quotes. The value may contain further assignments after commas. If
// literal is set, the value is used unchanged. Errors contain no text of the value.
func parseSet(target, value string, literal bool) (list []assignment, err error) {
	p := &setParser{rest: target + "=" + value, literal: literal, start: len(target)}
	if !literal {
		for _, q := range []string{"'", `"`} {
			if strings.HasPrefix(value, q) && strings.HasSuffix(value, q) {
				p.rest, p.text = target+"="+strings.Trim(value, `'"`), true
				break
			}
		}
	}
	for first := true; first || p.rest != ""; first = false {
		a, err := p.assignment()
		if err != nil {
			return list, err
		}
		list = append(list, a)
		if literal {
			break
		}
	}
	return list, nil
}

type setParser struct {
	rest          string
	text, literal bool
	start         int
}

var errSet = errors.New("the path is not valid in helm's --set: write it as a.b[0].c")

// until returns the unescaped text before the first character of stops, and this character. At the
// end of the input, the character is 0.
func (p *setParser) until(stops string) (string, byte) {
	var b strings.Builder
	for i := 0; i < len(p.rest); i++ {
		c := p.rest[i]
		switch {
		case strings.IndexByte(stops, c) >= 0:
			p.rest = p.rest[i+1:]
			return b.String(), c
		case c == '\\' && !p.literal:
			if i++; i < len(p.rest) {
				b.WriteByte(p.rest[i])
			}
		default:
			b.WriteByte(c)
		}
	}
	p.rest = ""
	return b.String(), 0
}

// assignment parses one assignment and the comma after it.
func (p *setParser) assignment() (a assignment, err error) {
	stops := "=[,."
	if p.literal {
		stops = "=[."
	}
	for {
		key, stop := p.until(stops)
		switch {
		case key != "":
			a.path = append(a.path, key)
		case stop == 0 && len(a.path) == 0, stop != '=' && stop != '[' && stop != '.', len(a.path) == 0:
			return a, errSet
		case stop == '.' || stop == '=':
			if _, index := a.path[len(a.path)-1].(int); !index {
				return a, errSet
			}
		}
		switch stop {
		case '=':
			a.value, err = p.value()
			return a, err
		case '[':
			text, end := p.until("]")
			n, err := strconv.Atoi(text)
			if end == 0 || err != nil || n < 0 || n > maxIndex {
				return a, fmt.Errorf("the path has an index that is not a number up to %d", maxIndex)
			}
			a.path = append(a.path, n)
		case '.':
		default:
			return a, errSet
		}
	}
}

// maxIndex is helm's limit of list indexes.
const maxIndex = 65536

// value parses the value of an assignment: a list in braces or a scalar.
func (p *setParser) value() (yaml.Value, error) {
	if p.literal {
		v := yaml.QuotedStr(p.rest)
		p.rest = ""
		return v, nil
	}
	if !strings.HasPrefix(p.rest, "{") {
		text, _ := p.until(",")
		return p.scalar(text), nil
	}
	p.rest = p.rest[1:]
	var items []yaml.Value
	for {
		text, stop := p.until(",}")
		switch stop {
		case 0:
			return yaml.Value{}, errors.New("the value has a list that does not end in }")
		case '}':
			if len(items) > 0 || text != "" {
				items = append(items, p.scalar(text))
			}
			p.rest = strings.TrimPrefix(p.rest, ",")
			return yaml.SeqOf(items...), nil
		}
		items = append(items, p.scalar(text))
	}
}

// scalar converts text to a boolean, null, integer or string, as helm does.
func (p *setParser) scalar(text string) yaml.Value {
	switch {
	case p.text:
	case strings.EqualFold(text, "true"), strings.EqualFold(text, "false"):
		return yaml.BoolValue(strings.EqualFold(text, "true"))
	case strings.EqualFold(text, "null"):
		return yaml.NullValue
	case text == "0":
		return yaml.Number(yaml.Int, "0")
	case text != "" && text[0] != '0':
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return yaml.Number(yaml.Int, strconv.FormatInt(n, 10))
		}
	}
	return yaml.QuotedStr(text)
}

// apply returns v after the assignment.
func (a assignment) apply(v yaml.Value) (yaml.Value, error) { return assign(v, a.path, a.value) }

func assign(v yaml.Value, path []any, x yaml.Value) (yaml.Value, error) {
	if len(path) == 0 {
		return x, nil
	}
	switch step := path[0].(type) {
	case string:
		if !v.IsNull() && v.Type() != yaml.Map {
			return v, fmt.Errorf("%q is inside a value that is not a mapping", step)
		}
		if v.IsNull() {
			v = yaml.MapOf()
		}
		inner, err := assign(v.Get(step), path[1:], x)
		return v.With(step, inner), err
	case int:
		if !v.IsNull() && v.Type() != yaml.Seq {
			return v, fmt.Errorf("[%d] is inside a value that is not a list", step)
		}
		items := slices.Clone(v.Items())
		for len(items) <= step {
			items = append(items, yaml.NullValue)
		}
		inner, err := assign(items[step], path[1:], x)
		items[step] = inner
		return yaml.SeqOf(items...), err
	}
	return v, errSet
}
