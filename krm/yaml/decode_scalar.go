package yaml

import (
	"math"
	"strconv"
	"strings"
)

// AsInt returns the integer value of v. 1.0 and 1e2 are integers as well.
func (v Value) AsInt() (n int64, ok bool) {
	switch v.Type() {
	case Int:
		n, err := strconv.ParseInt(plainNumber(v.Text()), 0, 64)
		return n, err == nil
	case Float:
		f, err := strconv.ParseFloat(plainNumber(v.Text()), 64)
		return int64(f), err == nil && f == math.Trunc(f) && math.Abs(f) < 1<<53
	}
	return 0, false
}

func (v Value) asFloat() (float64, bool) {
	if n, ok := v.AsInt(); ok {
		return float64(n), true
	}
	if v.Type() != Int && v.Type() != Float {
		return 0, false
	}
	f, err := strconv.ParseFloat(plainNumber(v.Text()), 64)
	return f, err == nil
}

// plainNumber converts the text of a YAML number to a form that strconv can parse.
func plainNumber(s string) string {
	if strings.Contains(s, "_") {
		s = strings.ReplaceAll(s, "_", "")
	}
	switch strings.ToLower(strings.TrimLeft(s, "+-")) {
	case ".inf", ".nan":
		return strings.Replace(s, ".", "", 1)
	}
	return s
}

// canonicalText returns the text of a scalar where a string is expected. For instance, numbers
// lose leading zeros and underscores.
func (v Value) canonicalText() string {
	switch v.Type() {
	case Int:
		if n, ok := v.AsInt(); ok {
			return strconv.FormatInt(n, 10)
		}
	case Float:
		// kustomize formats with the precision of a 32-bit number.
		if f, ok := v.asFloat(); ok {
			return strconv.FormatFloat(f, 'g', -1, 32)
		}
	case Bool:
		return strconv.FormatBool(v.isTrue())
	case Time:
		return timeText(v.Text())
	}
	return v.Text()
}

// plain returns v in the types of encoding/json: map[string]any, []any, string, float64, bool,
// nil.
func (v Value) plain() any {
	switch v.Type() {
	case Map:
		m := make(map[string]any, v.Len())
		for _, f := range v.Fields() {
			m[f.Key] = f.Value.plain()
		}
		return m
	case Seq:
		s := make([]any, v.Len())
		for i, x := range v.Items() {
			s[i] = x.plain()
		}
		return s
	case String:
		return v.Text()
	case Time:
		return timeText(v.Text())
	case Bool:
		return v.isTrue()
	case Int, Float:
		f, _ := v.asFloat()
		return f
	}
	return nil
}
