package gotemplate

import (
	"bytes"
	"cmp"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base32"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"unicode"
)

// textFunctions returns functions for strings.
func textFunctions() template.FuncMap {
	return template.FuncMap{
		"trim":       strings.TrimSpace,
		"trimAll":    func(a, b string) string { return strings.Trim(b, a) },
		"trimall":    func(a, b string) string { return strings.Trim(b, a) },
		"trimPrefix": func(a, b string) string { return strings.TrimPrefix(b, a) },
		"trimSuffix": func(a, b string) string { return strings.TrimSuffix(b, a) },
		"upper":      strings.ToUpper,
		"lower":      strings.ToLower,
		"title":      title,
		"untitle":    func(s string) string { return strings.ToLower(s[:min(1, len(s))]) + s[min(1, len(s)):] },
		"nospace": func(s string) string {
			return strings.Map(func(c rune) rune {
				if unicode.IsSpace(c) {
					return -1
				}
				return c
			}, s)
		},
		"repeat":    repeat,
		"contains":  func(sub, s string) bool { return strings.Contains(s, sub) },
		"hasPrefix": func(sub, s string) bool { return strings.HasPrefix(s, sub) },
		"hasSuffix": func(sub, s string) bool { return strings.HasSuffix(s, sub) },
		"replace":   func(old, with, s string) string { return strings.ReplaceAll(s, old, with) },
		"substr":    substr,
		"trunc":     trunc,
		"indent":    indent,
		"nindent":   func(n int, s string) (string, error) { s, err := indent(n, s); return "\n" + s, err },
		"quote":     func(list ...any) string { return joined(list, func(v any) string { return strconv.Quote(textOf(v)) }) },
		"squote":    func(list ...any) string { return joined(list, func(v any) string { return fmt.Sprintf("'%v'", v) }) },
		"cat":       func(list ...any) string { return joined(list, func(v any) string { return fmt.Sprintf("%v", v) }) },
		"plural": func(one, many string, n int) string {
			if n == 1 {
				return one
			}
			return many
		},
		"join":      func(sep string, v any) string { return strings.Join(textsOf(v), sep) },
		"splitList": func(sep, s string) []string { return strings.Split(s, sep) },
		"split":     func(sep, s string) map[string]string { return numbered(strings.Split(s, sep)) },
		"splitn":    func(sep string, n int, s string) map[string]string { return numbered(strings.SplitN(s, sep, n)) },
		"sortAlpha": func(v any) []string { return slices.Sorted(slices.Values(textsOf(v))) },
		"b64enc":    func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
		"b64dec":    func(s string) string { return decoded(base64.StdEncoding.DecodeString(s)) },
		"b32enc":    func(s string) string { return base32.StdEncoding.EncodeToString([]byte(s)) },
		"b32dec":    func(s string) string { return decoded(base32.StdEncoding.DecodeString(s)) },
		"sha1sum":   func(s string) string { return fmt.Sprintf("%x", sha1.Sum([]byte(s))) },
		"sha256sum": func(s string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(s))) },
		"sha512sum": func(s string) string { return fmt.Sprintf("%x", sha512.Sum512([]byte(s))) },
		"base":      path.Base,
		"dir":       path.Dir,
		"clean":     path.Clean,
		"ext":       path.Ext,
		"isAbs":     path.IsAbs,

		"regexMatch":     matches,
		"mustRegexMatch": matches,
		"regexFind": func(exp, s string) (string, error) {
			e, err := expression(exp)
			if err != nil {
				return "", err
			}
			return e.FindString(s), nil
		},
		"regexFindAll": func(exp, s string, n int) ([]string, error) {
			e, err := expression(exp)
			if err != nil {
				return nil, err
			}
			return e.FindAllString(s, n), nil
		},
		"regexSplit": func(exp, s string, n int) ([]string, error) {
			e, err := expression(exp)
			if err != nil {
				return nil, err
			}
			return e.Split(s, n), nil
		},
		"regexReplaceAll":            replaceAll,
		"mustRegexReplaceAll":        replaceAll,
		"regexReplaceAllLiteral":     replaceAllLiteral,
		"mustRegexReplaceAllLiteral": replaceAllLiteral,
		"regexQuoteMeta":             regexp.QuoteMeta,
	}
}

func matches(exp, s string) (bool, error) {
	e, err := expression(exp)
	return err == nil && e.MatchString(s), err
}

func replaceAll(exp, s, with string) (string, error) {
	e, err := expression(exp)
	if err != nil {
		return "", err
	}
	return e.ReplaceAllString(s, with), nil
}

func replaceAllLiteral(exp, s, with string) (string, error) {
	e, err := expression(exp)
	if err != nil {
		return "", err
	}
	return e.ReplaceAllLiteralString(s, with), nil
}

// title makes the first letter of each word upper case.
func title(s string) string {
	last := ' '
	return strings.Map(func(c rune) rune {
		first := !unicode.IsLetter(last) && !unicode.IsDigit(last) && last != '_' && last != '\''
		last = c
		if first {
			return unicode.ToTitle(c)
		}
		return c
	}, s)
}

// maxText limits the size of strings in results of functions.
const maxText = 1 << 20

var errTooLong = errors.New("the text is too long")

func repeat(n int, s string) (string, error) {
	if n < 0 || n > maxText || n*len(s) > maxText {
		return "", errTooLong
	}
	return strings.Repeat(s, n), nil
}

func indent(n int, s string) (string, error) {
	if n < 0 || n > maxText || n*(1+strings.Count(s, "\n")) > maxText {
		return "", errTooLong
	}
	pad := strings.Repeat(" ", n)
	return pad + strings.ReplaceAll(s, "\n", "\n"+pad), nil
}

func substr(start, end int, s string) (string, error) {
	switch {
	case start < 0:
		start = 0
	case end < 0 || end > len(s):
		end = len(s)
	}
	if end < start || end > len(s) || start > len(s) {
		return "", errors.New("substr: index out of range")
	}
	return s[start:end], nil
}

func trunc(n int, s string) string {
	switch {
	case n < 0 && len(s)+n > 0:
		return s[len(s)+n:]
	case n >= 0 && len(s) > n:
		return s[:n]
	}
	return s
}

func joined(list []any, format func(any) string) string {
	var texts []string
	for _, v := range list {
		if v != nil {
			texts = append(texts, format(v))
		}
	}
	return strings.Join(texts, " ")
}

func numbered(list []string) map[string]string {
	m := map[string]string{}
	for i, s := range list {
		m["_"+strconv.Itoa(i)] = s
	}
	return m
}

func decoded(data []byte, err error) string {
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// listFunctions returns functions for lists.
func listFunctions() template.FuncMap {
	return template.FuncMap{
		"list":  func(list ...any) []any { return list },
		"tuple": func(list ...any) []any { return list },
		"first": func(v any) (any, error) { return part(v, func(l []any) any { return l[0] }, nil) },
		"last":  func(v any) (any, error) { return part(v, func(l []any) any { return l[len(l)-1] }, nil) },
		"rest":  func(v any) (any, error) { return part(v, func(l []any) any { return slices.Clone(l[1:]) }, []any(nil)) },
		"initial": func(v any) (any, error) {
			return part(v, func(l []any) any { return slices.Clone(l[:len(l)-1]) }, []any(nil))
		},
		"append":  push,
		"push":    push,
		"prepend": func(v, x any) ([]any, error) { l, err := listOf(v); return append([]any{x}, l...), err },
		"concat": func(lists ...any) (all []any, err error) {
			for _, v := range lists {
				l, err := listOf(v)
				if err != nil {
					return nil, err
				}
				all = append(all, l...)
			}
			return all, nil
		},
		"reverse": func(v any) ([]any, error) {
			l, err := listOf(v)
			l = slices.Clone(l)
			slices.Reverse(l)
			return l, err
		},
		"uniq": func(v any) ([]any, error) {
			l, err := listOf(v)
			out := []any{}
			for _, x := range l {
				if !contained(out, x) {
					out = append(out, x)
				}
			}
			return out, err
		},
		"without": func(v any, omit ...any) ([]any, error) {
			l, err := listOf(v)
			return slices.DeleteFunc(slices.Clone(l), func(x any) bool { return contained(omit, x) }), err
		},
		"compact": func(v any) ([]any, error) {
			l, err := listOf(v)
			return slices.DeleteFunc(slices.Clone(l), isEmpty), err
		},
		"has": func(x, v any) (bool, error) {
			if v == nil {
				return false, nil
			}
			l, err := listOf(v)
			return contained(l, x), err
		},
		"slice": func(v any, indexes ...any) (any, error) {
			l, err := listOf(v)
			if err != nil || len(l) == 0 {
				return nil, err
			}
			start, end := 0, len(l)
			if len(indexes) > 0 {
				start = int(integer(indexes[0]))
			}
			if len(indexes) > 1 {
				end = int(integer(indexes[1]))
			}
			if start < 0 || end < start || end > len(l) {
				return nil, errors.New("slice: index out of range")
			}
			return l[start:end], nil
		},
		"chunk": func(n int, v any) ([][]any, error) {
			l, err := listOf(v)
			if err != nil || n < 1 {
				return nil, cmp.Or(err, errors.New("chunk: the size must be positive"))
			}
			return slices.Collect(slices.Chunk(l, n)), nil
		},
		"until":     func(n int) ([]int, error) { return steps(0, n, cmp.Compare(n, 0)) },
		"untilStep": steps,
		"toStrings": textsOf,
	}
}

func part(v any, of func([]any) any, none any) (any, error) {
	l, err := listOf(v)
	if err != nil || len(l) == 0 {
		return none, err
	}
	return of(l), nil
}

func push(v, x any) ([]any, error) {
	l, err := listOf(v)
	return append(slices.Clip(l), x), err
}

func contained(list []any, v any) bool {
	return slices.ContainsFunc(list, func(x any) bool { return reflect.DeepEqual(x, v) })
}

func steps(start, stop, step int) ([]int, error) {
	var list []int
	if step == 0 || stop > start != (step > 0) {
		return list, nil
	}
	for i := start; step > 0 && i < stop || step < 0 && i > stop; i += step {
		if list = append(list, i); len(list) > maxText {
			return nil, errors.New("the list is too long")
		}
	}
	return list, nil
}

// dictFunctions returns functions for mappings.
func dictFunctions() template.FuncMap {
	return template.FuncMap{
		"dict": func(pairs ...any) map[string]any {
			m := map[string]any{}
			for i := 0; i < len(pairs); i += 2 {
				m[textOf(pairs[i])] = ""
				if i+1 < len(pairs) {
					m[textOf(pairs[i])] = pairs[i+1]
				}
			}
			return m
		},
		"get": func(m any, key string) (any, error) {
			d, err := dictOf(m)
			if v, ok := d[key]; ok {
				return v, err
			}
			return "", err
		},
		"hasKey": func(m any, key string) (bool, error) {
			d, err := dictOf(m)
			_, ok := d[key]
			return ok, err
		},
		// set and unset change a copy, so parameters of other Applications stay unchanged.
		"set": func(m any, key string, v any) (map[string]any, error) {
			d, err := dictOf(m)
			d = maps.Clone(d)
			if err == nil {
				d[key] = v
			}
			return d, err
		},
		"unset": func(m any, key string) (map[string]any, error) {
			d, err := dictOf(m)
			d = maps.Clone(d)
			delete(d, key)
			return d, err
		},
		"keys": func(dicts ...any) ([]string, error) {
			keys := []string{}
			for _, m := range dicts {
				d, err := dictOf(m)
				if err != nil {
					return nil, err
				}
				keys = append(keys, slices.Sorted(maps.Keys(d))...)
			}
			return keys, nil
		},
		"values": func(m any) ([]any, error) {
			d, err := dictOf(m)
			values := []any{}
			for _, key := range slices.Sorted(maps.Keys(d)) {
				values = append(values, d[key])
			}
			return values, err
		},
		"pick": func(m any, keys ...string) (map[string]any, error) {
			d, err := dictOf(m)
			out := map[string]any{}
			for _, key := range keys {
				if v, ok := d[key]; ok {
					out[key] = v
				}
			}
			return out, err
		},
		"omit": func(m any, keys ...string) (map[string]any, error) {
			d, err := dictOf(m)
			out := maps.Clone(d)
			for _, key := range keys {
				delete(out, key)
			}
			return out, err
		},
		"pluck": func(key string, dicts ...any) ([]any, error) {
			out := []any{}
			for _, m := range dicts {
				d, err := dictOf(m)
				if err != nil {
					return nil, err
				}
				if v, ok := d[key]; ok {
					out = append(out, v)
				}
			}
			return out, nil
		},
		"dig":            dig,
		"merge":          func(dicts ...any) (map[string]any, error) { return merged(dicts, false) },
		"mergeOverwrite": func(dicts ...any) (map[string]any, error) { return merged(dicts, true) },
		"deepCopy":       func(v any) any { return v },
		"mustDeepCopy":   func(v any) any { return v },
		"toJson":         func(v any) (string, error) { return jsonOf(v, true, "") },
		"mustToJson":     func(v any) (string, error) { return jsonOf(v, true, "") },
		"toRawJson":      func(v any) (string, error) { return jsonOf(v, false, "") },
		"toPrettyJson":   func(v any) (string, error) { return jsonOf(v, true, "  ") },
		"fromJson":       fromJSON,
		"mustFromJson":   fromJSON,
	}
}

func dictOf(v any) (map[string]any, error) {
	switch m := v.(type) {
	case map[string]any:
		return m, nil
	case map[string]string:
		d := make(map[string]any, len(m))
		for key, x := range m {
			d[key] = x
		}
		return d, nil
	}
	return nil, fmt.Errorf("not a mapping: %T", v)
}

func dig(args ...any) (any, error) {
	if len(args) < 3 {
		return nil, errors.New("dig needs at least three arguments")
	}
	v, none := args[len(args)-1], args[len(args)-2]
	for _, key := range args[:len(args)-2] {
		d, err := dictOf(v)
		if err != nil {
			return nil, err
		}
		var ok bool
		if v, ok = d[textOf(key)]; !ok {
			return none, nil
		}
	}
	return v, nil
}

func merged(dicts []any, overwrite bool) (map[string]any, error) {
	out := map[string]any{}
	for _, m := range dicts {
		d, err := dictOf(m)
		if err != nil {
			return nil, err
		}
		mergeInto(out, d, overwrite)
	}
	return out, nil
}

func mergeInto(to, from map[string]any, overwrite bool) {
	for key, v := range from {
		a, isMap := to[key].(map[string]any)
		b, ok := v.(map[string]any)
		switch {
		case isMap && ok:
			a = maps.Clone(a)
			mergeInto(a, b, overwrite)
			to[key] = a
		case overwrite, isEmpty(to[key]):
			to[key] = v
		}
	}
}

func jsonOf(v any, escape bool, indent string) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(escape)
	e.SetIndent("", indent)
	err := e.Encode(v)
	return strings.TrimSuffix(b.String(), "\n"), err
}

func fromJSON(text string) (v any, err error) {
	err = json.Unmarshal([]byte(text), &v)
	return v, err
}

// valueFunctions returns functions for values of any type.
func valueFunctions() template.FuncMap {
	return template.FuncMap{
		"default": func(none any, given ...any) any {
			if len(given) == 0 || isEmpty(given[0]) {
				return none
			}
			return given[0]
		},
		"empty": isEmpty,
		"coalesce": func(list ...any) any {
			for _, v := range list {
				if !isEmpty(v) {
					return v
				}
			}
			return nil
		},
		"all": func(list ...any) bool { return !slices.ContainsFunc(list, isEmpty) },
		"any": func(list ...any) bool { return slices.ContainsFunc(list, func(v any) bool { return !isEmpty(v) }) },
		"ternary": func(yes, no any, v bool) any {
			if v {
				return yes
			}
			return no
		},
		"fail":       func(text string) (string, error) { return "", errors.New(text) },
		"toString":   textOf,
		"kindOf":     kindOf,
		"kindIs":     func(kind string, v any) bool { return kindOf(v) == kind },
		"typeOf":     func(v any) string { return fmt.Sprintf("%T", v) },
		"typeIs":     func(name string, v any) bool { return fmt.Sprintf("%T", v) == name },
		"typeIsLike": func(name string, v any) bool { t := fmt.Sprintf("%T", v); return t == name || t == "*"+name },
		"deepEqual":  func(a, b any) bool { return reflect.DeepEqual(a, b) },
		"atoi":       func(s string) int { n, _ := strconv.Atoi(s); return n },
		"int":        func(v any) int { return int(integer(v)) },
		"int64":      integer,
		"float64":    float,
		"add": func(list ...any) (n int64) {
			for _, v := range list {
				n += integer(v)
			}
			return n
		},
		"add1": func(v any) int64 { return integer(v) + 1 },
		"sub":  func(a, b any) int64 { return integer(a) - integer(b) },
		"mul": func(a any, list ...any) int64 {
			n := integer(a)
			for _, v := range list {
				n *= integer(v)
			}
			return n
		},
		"div": func(a, b any) (int64, error) {
			if integer(b) == 0 {
				return 0, errors.New("division by zero")
			}
			return integer(a) / integer(b), nil
		},
		"mod": func(a, b any) (int64, error) {
			if integer(b) == 0 {
				return 0, errors.New("division by zero")
			}
			return integer(a) % integer(b), nil
		},
		"max": func(a any, list ...any) int64 {
			n := integer(a)
			for _, v := range list {
				n = max(n, integer(v))
			}
			return n
		},
		"min": func(a any, list ...any) int64 {
			n := integer(a)
			for _, v := range list {
				n = min(n, integer(v))
			}
			return n
		},
		"ceil":  func(v any) float64 { return math.Ceil(float(v)) },
		"floor": func(v any) float64 { return math.Floor(float(v)) },
	}
}

func kindOf(v any) string { return reflect.ValueOf(v).Kind().String() }

func float(v any) float64 {
	r := reflect.ValueOf(v)
	switch {
	case r.CanInt():
		return float64(r.Int())
	case r.CanUint():
		return float64(r.Uint())
	case r.CanFloat():
		return r.Float()
	case r.Kind() == reflect.Bool && r.Bool():
		return 1
	case r.Kind() == reflect.String:
		f, _ := strconv.ParseFloat(r.String(), 64)
		return f
	}
	return 0
}

func integer(v any) int64 {
	r := reflect.ValueOf(v)
	switch {
	case r.CanInt():
		return r.Int()
	case r.Kind() == reflect.String:
		text := r.String()
		if whole, decimals, ok := strings.Cut(text, "."); ok && strings.Trim(decimals, "0") == "" {
			text = whole
		}
		n, _ := strconv.ParseInt(text, 0, 64)
		return n
	}
	return int64(float(v))
}
