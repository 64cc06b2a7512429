package gotemplate

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"text/template"

	"github.com/krmflow/krmflow/krm/yaml"
)

// functions returns the functions of Go templates in ApplicationSets. Argo CD provides the
// functions of sprig, without env, expandenv and getHostByName, and adds a few functions.
//
// The module sprig is not used: it compiles large regular expressions when a program starts, and
// would add some milliseconds to every run. The functions that generators need are below. A call of
// any other sprig function is an error.
var functions = sync.OnceValue(func() template.FuncMap {
	all := template.FuncMap{"normalize": Normalize, "slugify": slugify, "toYaml": toYAML, "fromYaml": fromYAML,
		"fromYamlArray": fromYAMLArray}
	for _, m := range []template.FuncMap{textFunctions(), listFunctions(), dictFunctions(), valueFunctions()} {
		maps.Copy(all, m)
	}
	for _, name := range strings.Fields(otherFunctions) {
		all[name] = func(...any) (any, error) {
			return nil, fmt.Errorf("the function %s of sprig is not supported", name)
		}
	}
	return all
})

// otherFunctions are the sprig functions that krmflow refuses. Some have a different result in each
// run.
const otherFunctions = `abbrev abbrevboth adler32sum ago atan bcrypt buildCustomCert camelcase cospf date dateInZone
	dateModify date_in_zone date_modify decryptAES derivePassword duration durationRound encryptAES genCA genCAWithKey
	genPrivateKey genSelfSignedCert genSelfSignedCertWithKey genSignedCert genSignedCertWithKey hello htmlDate htmlDateInZone
	htpasswd initials kebabcase mustDateModify mustToDate must_date_modify now osBase osClean osDir osExt osIsAbs randAlpha
	randAlphaNum randAscii randBytes randInt randNumeric semver semverCompare shuffle snakecase swapcase toDate toDecimal
	unixEpoch urlJoin urlParse uuidv4 wrap wrapWith`

// Normalize converts name to a DNS name.
func Normalize(name string) string {
	name = strings.Map(func(c rune) rune {
		if c == '-' || c == '.' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' {
			return c
		}
		return '-'
	}, strings.ToLower(name))
	return strings.Trim(name[:min(len(name), 253)], "-.")
}

// slugify converts a name to at most 50 characters, cut at a dash. The optional first arguments are
// a different maximum, and false to cut anywhere.
func slugify(args ...any) (string, error) {
	most, smart, name := 50, true, ""
	for i, arg := range args {
		ok := true
		switch {
		case i == len(args)-1:
			name, ok = arg.(string)
		case i == 0:
			most, ok = arg.(int)
		case i == 1:
			smart, ok = arg.(bool)
		}
		if !ok {
			return "", fmt.Errorf("slugify: argument %d has the wrong type", i+1)
		}
	}
	name = Normalize(name)
	if !smart && len(name) >= most {
		name = name[:max(most, 0)]
	}
	name = strings.Join(strings.FieldsFunc(name, func(c rune) bool { return c == '-' || c == '.' }), "-")
	if most <= 0 || !smart || len(name) <= most {
		return name, nil
	}
	if i := strings.LastIndexByte(name[:most+1], '-'); i >= 0 {
		return name[:i], nil
	}
	return name[:most], nil
}

func toYAML(v any) string {
	return strings.TrimSuffix(string(yaml.AppendYAML(nil, valueOf(v))), "\n")
}

func fromYAML(text string) (map[string]any, error) {
	v, err := (&yaml.Source{File: "fromYaml", Data: []byte(text)}).Value()
	if err != nil || v.IsNull() {
		return map[string]any{}, err
	}
	m := map[string]any{}
	if errs := yaml.Decode(v, &m); len(errs) > 0 {
		return nil, errors.New("fromYaml: not a mapping")
	}
	return m, nil
}

func fromYAMLArray(text string) ([]any, error) {
	v, err := (&yaml.Source{File: "fromYamlArray", Data: []byte(text)}).Value()
	if err != nil || v.IsNull() {
		return []any{}, err
	}
	var list []any
	if errs := yaml.Decode(v, &list); len(errs) > 0 {
		return nil, errors.New("fromYamlArray: not a list")
	}
	return list, nil
}

// valueOf converts a value of a Go template. It sorts the keys of mappings.
func valueOf(v any) yaml.Value {
	r := reflect.ValueOf(v)
	switch r.Kind() {
	case reflect.Invalid:
		return yaml.NullValue
	case reflect.String:
		return yaml.SetStr(r.String())
	case reflect.Bool:
		return yaml.BoolValue(r.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return yaml.Number(yaml.Int, fmt.Sprint(v))
	case reflect.Float32, reflect.Float64:
		if f := r.Float(); f == float64(int64(f)) && max(f, -f) < 1<<53 {
			return yaml.Number(yaml.Int, fmt.Sprint(int64(f)))
		}
		return yaml.Number(yaml.Float, fmt.Sprint(v))
	case reflect.Slice, reflect.Array:
		items := make([]yaml.Value, r.Len())
		for i := range items {
			items[i] = valueOf(r.Index(i).Interface())
		}
		return yaml.SeqOf(items...)
	case reflect.Map:
		var fields []yaml.Field
		for _, key := range r.MapKeys() {
			fields = append(fields, yaml.Field{Key: fmt.Sprint(key.Interface()), Value: valueOf(r.MapIndex(key).Interface())})
		}
		slices.SortFunc(fields, func(a, b yaml.Field) int { return strings.Compare(a.Key, b.Key) })
		return yaml.MapOf(fields...)
	}
	return yaml.SetStr(fmt.Sprint(v))
}

// textOf formats a value as sprig does.
func textOf(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []byte:
		return string(v)
	}
	return fmt.Sprintf("%v", v)
}

// isEmpty reports whether the function default replaces a value.
func isEmpty(v any) bool {
	r := reflect.ValueOf(v)
	switch r.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Slice, reflect.Array, reflect.Map, reflect.String:
		return r.Len() == 0
	case reflect.Struct:
		return false
	}
	return r.IsZero()
}

// listOf converts a list of any type to a list of values.
func listOf(v any) ([]any, error) {
	if list, ok := v.([]any); ok {
		return list, nil
	}
	r := reflect.ValueOf(v)
	if r.Kind() != reflect.Slice && r.Kind() != reflect.Array {
		return nil, fmt.Errorf("not a list: %T", v)
	}
	list := make([]any, r.Len())
	for i := range list {
		list[i] = r.Index(i).Interface()
	}
	return list, nil
}

// textsOf converts a value to strings: the items of a list without nulls, or a single value.
func textsOf(v any) []string {
	list, err := listOf(v)
	if err != nil {
		if v == nil {
			return []string{}
		}
		return []string{textOf(v)}
	}
	texts := []string{}
	for _, x := range list {
		if x != nil {
			texts = append(texts, textOf(x))
		}
	}
	return texts
}

func expression(text string) (*regexp.Regexp, error) { return regexp.Compile(text) }
