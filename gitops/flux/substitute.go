package flux

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/fluxcd/pkg/envsubst"
	"github.com/fluxcd/pkg/envsubst/parse"

	"github.com/krmflow/krmflow/builtins"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/gitops"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/secret"
	"github.com/krmflow/krmflow/krm/yaml"
)

// substituteKey is the label or annotation that excludes an object from substitution.
const substituteKey = "kustomize.toolkit.fluxcd.io/substitute"

// isVariable reports whether Flux accepts name as the name of a variable.
func isVariable(name string) bool {
	for i, c := range []byte(name) {
		letter := c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

// substitute adds the step for spec.postBuild.
func (r *root) substitute(k *kustomization) {
	t := &substitution{vars: map[string]string{}, secrets: map[string]bool{}, places: map[string]yaml.Place{}}
	sources := 0
	for i, ref := range k.Spec.PostBuild.SubstituteFrom {
		at := []any{"spec", "postBuild", "substituteFrom", i}
		if ref.Kind != "ConfigMap" && ref.Kind != "Secret" {
			r.fail(r.Object.Errorf(append(at, "kind"), "must be ConfigMap or Secret, not %q", ref.Kind).With(diag.BadValue))
			continue
		}
		data, places, ok := r.data(at, ref.Kind, ref.Name, ref.Optional)
		if !ok {
			continue
		}
		sources++
		for name, text := range data {
			t.vars[name], t.secrets[name], t.places[name] = oneLine(text), ref.Kind == "Secret", places[name]
		}
	}
	for name, text := range k.Spec.PostBuild.Substitute {
		t.vars[name], t.secrets[name] = oneLine(text), false
		t.places[name] = r.Object.Place("spec", "postBuild", "substitute", name)
	}
	for _, name := range slices.Sorted(maps.Keys(t.vars)) {
		if !isVariable(name) {
			r.fail(r.Object.Errorf([]any{"spec", "postBuild"}, "%q is not a name of a variable", name).With(diag.BadValue).
				Hint("use letters, digits and _, and no digit at the start"))
		}
	}
	if len(t.vars) == 0 {
		return // Flux substitutes nothing, not even defaults
	}
	summary := "substitutes " + diag.Count(len(t.vars), "variable")
	if sources > 0 {
		summary += " of " + diag.Count(sources, "object")
	}
	r.Steps = append(r.Steps, gitops.Step{Transformer: t, At: r.Object.Place("spec", "postBuild"), Summary: summary})
}

// oneLine removes line feeds, as Flux does for values of variables.
func oneLine(text string) string { return strings.ReplaceAll(text, "\n", "") }

// data returns the decoded data of a ConfigMap or Secret, and the places of the values. If the
// object is missing, ok is false, and data records an error unless optional is set. at is the field
// that refers to the object.
func (r *root) data(at []any, kind, name string, optional bool) (data map[string]string, places map[string]yaml.Place, ok bool) {
	o := r.f.env.Find(r.Object, "", kind, r.Object.Namespace, name)
	if o == nil {
		if !optional {
			r.fail(r.Object.Errorf(at, "%s %s is not in the searched directories", kind, path.Join(r.Object.Namespace, name)).
				With(diag.NoSuchFile).Hint("search the directory that declares it as well, or set optional: true"))
		}
		return nil, nil, false
	}
	r.use(o)
	data, places = map[string]string{}, map[string]yaml.Place{}
	for _, field := range []string{"data", "stringData"} {
		for _, f := range o.Value.Get(field).Fields() {
			places[f.Key] = o.Place(field, f.Key)
		}
	}
	if kind == "ConfigMap" {
		for _, f := range o.Value.Get("data").Fields() {
			data[f.Key] = f.Value.Text()
		}
		return data, places, true
	}
	o.Source.HoldSecret()
	if isEncrypted(o.Value) {
		r.f.warn(r.Object.Errorf(at, "Secret %s is encrypted by sops: placeholders are used for its values",
			path.Join(r.Object.Namespace, name)).With(diag.Encrypted))
		for _, field := range []string{"data", "stringData"} {
			for _, f := range o.Value.Get(field).Fields() {
				data[f.Key] = "ENCRYPTED_" + f.Key
			}
		}
		return data, places, true
	}
	for _, f := range o.Value.Get("data").Fields() {
		text, err := base64.StdEncoding.DecodeString(f.Value.Text())
		if err != nil {
			r.fail(o.Errorf([]any{"data", f.Key}, "not base64").With(diag.BadValue).Hint("encode the value, or move it to stringData"))
			continue
		}
		data[f.Key] = string(text)
	}
	for _, f := range o.Value.Get("stringData").Fields() {
		data[f.Key] = f.Value.Text()
	}
	return data, places, true
}

// A substitution replaces variables in resources as kustomize-controller does: it writes each
// resource as YAML, replaces the variables in the text, and parses the result. Strings may become
// numbers.
type substitution struct {
	vars    map[string]string
	secrets map[string]bool // the variables with values of Secrets
	places  map[string]yaml.Place
}

// Values implements [gitops.Placer].
func (t *substitution) Values() string {
	var b []byte
	for _, name := range slices.Sorted(maps.Keys(t.vars)) {
		b = fmt.Appendf(b, "%q=%q ", name, t.vars[name])
	}
	return string(b)
}

// Causes implements [gitops.Placer]. A substitution is a possible cause of an edit if the new text
// contains the value of a variable.
func (t *substitution) Causes(e builtins.Edit) builtins.Likelihood {
	if len(t.in(e)) == 0 {
		return builtins.Unlikely
	}
	return builtins.Possible
}

// PlaceOf implements [gitops.Placer].
func (t *substitution) PlaceOf(e builtins.Edit) (diag.Pos, bool) {
	names := t.in(e)
	if len(names) != 1 {
		return diag.Pos{}, false
	}
	return t.places[names[0]].Pos(), true
}

// in returns the variables whose values occur in the new value of an edit. Among these, it selects
// the variables with the longest value.
func (t *substitution) in(e builtins.Edit) (names []string) {
	text := string(yaml.AppendJSON(nil, e.New))
	longest := 1
	for _, name := range slices.Sorted(maps.Keys(t.vars)) {
		value := t.vars[name]
		switch {
		case len(value) < longest || !strings.Contains(text, value):
		case len(value) > longest:
			longest, names = len(value), []string{name}
		default:
			names = append(names, name)
		}
	}
	return names
}

// Configure implements builtins.Builtin.
func (t *substitution) Configure(builtins.Env) error { return nil }

// Transform replaces the variables. It warns once about each undefined variable, which becomes
// empty.
func (t *substitution) Transform(list *krm.List, warn builtins.Warn) error {
	var mu sync.Mutex
	undefined := map[string]int{} // variable -> index of the first resource
	err := list.Parts(func(part *krm.List) error {
		for i, r := range part.All() {
			v, taken, names, err := t.resource(r)
			if err != nil {
				return err
			}
			mu.Lock()
			for _, name := range names {
				if at, ok := undefined[name]; !ok || part.From()+i < at {
					undefined[name] = part.From() + i
				}
			}
			mu.Unlock()
			if !v.Same(r.Value()) {
				part.Change(i, func(r *krm.Resource) {
					r.Unlink()
					r.SetValue(v)
					r.Taken = append(r.Taken, taken...)
				})
			}
		}
		return part.CheckSize()
	})
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(undefined)) {
		warn(diag.BadValue, "the variable %s is not defined and replaced by nothing, first in %s", name, list.At(undefined[name]).ID())
	}
	return list.CheckUnique()
}

// resource returns the object of r after the substitution, the strings in it that come from
// Secrets, and the undefined variables.
func (t *substitution) resource(r *krm.Resource) (v yaml.Value, taken, undefined []string, err error) {
	v = r.Value()
	if r.Labels().Get(substituteKey).Text() == "disabled" || r.Annotations().Get(substituteKey).Text() == "disabled" {
		return v, nil, nil, nil
	}
	text := string(yaml.AppendYAML(nil, v))
	if !strings.Contains(text, "$") {
		return asJSON(v, false), nil, nil, nil
	}
	missing := map[string]bool{}
	hidden := map[string]bool{}
	v, err = t.evaluate(text, func(name string) string {
		value, ok := t.vars[name]
		if !ok {
			missing[name] = true
		} else if t.secrets[name] && value != "" {
			hidden[name] = true
		}
		return value
	})
	if err == nil && (v.Get("kind").Text() == "" || v.Get("apiVersion").Text() == "" || v.At("metadata", "name").Text() == "") {
		err = errors.New("it has no apiVersion, kind or metadata.name any more")
	}
	if err != nil {
		e := diag.Errorf(r.Pos, "", "the substitution of variables in %s failed: %s", r.ID(), err).With(diag.BadValue)
		return v, nil, nil, e.Hint("escape a dollar sign as $${, or exclude the object by the annotation %s: disabled", substituteKey)
	}
	if len(missing) > 0 {
		undefined = undefinedIn(text, missing)
	}
	if len(hidden) > 0 {
		taken = t.taken(text, v, hidden)
	}
	return v, taken, undefined, nil
}

// Limits of a text with variables. The parser recurses for each variable, and copies the text for
// each escaped dollar sign.
const (
	maxVariables = 100_000
	maxCopied    = 1 << 34
)

// evaluate replaces the variables in a text and parses the result as an object. Errors contain no
// values.
func (t *substitution) evaluate(text string, value func(name string) string) (v yaml.Value, err error) {
	if strings.Count(text, "${") > maxVariables || strings.Count(text, "$$")*len(text) > maxCopied {
		return v, diag.TooLarge.Errorf("it has too many variables")
	}
	out, err := expand(text, value)
	if err != nil {
		return v, err
	}
	if len(out) > yaml.MaxResource {
		return v, diag.TooLarge.Errorf("the result is larger than %s", diag.Size(yaml.MaxResource))
	}
	v, err = yaml.NewAnswer("result", []byte(out)).Value()
	if err != nil {
		e := diag.AsError(err)
		return v, fmt.Errorf("line %d of the result is not YAML", max(e.Pos.Line, 1))
	}
	if v.Type() != yaml.Map {
		return v, errors.New("the result is not an object")
	}
	return asJSON(v, true), nil
}

func expand(text string, value func(name string) string) (out string, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("bad substitution")
		}
	}()
	return envsubst.Eval(text, func(name string) (string, bool) { return value(name), true })
}

// asJSON returns v after a conversion to JSON and back: numbers are 64-bit floats. If parsed is
// set, v was parsed from a text, and strings lose their style.
func asJSON(v yaml.Value, parsed bool) yaml.Value {
	switch v.Type() {
	case yaml.Int, yaml.Float:
		return asFloat(v)
	case yaml.Time:
		if parsed {
			return yaml.QuotedStr(v.Text())
		}
	case yaml.String:
		if parsed {
			return yaml.QuotedStr(v.Text())
		}
	case yaml.Null:
		if parsed {
			return yaml.NullValue
		}
	case yaml.Seq:
		v, _ = v.EditItems(func(x yaml.Value) (yaml.Value, error) { return asJSON(x, parsed), nil })
		if parsed {
			return v.AsBlock()
		}
	case yaml.Map:
		v = v.EditFields(func(f yaml.Field) yaml.Value { return asJSON(f.Value, parsed) })
		if parsed {
			return v.AsBlock()
		}
	}
	return v
}

// asFloat returns a number after a conversion to a float and back. Only large numbers change.
func asFloat(v yaml.Value) yaml.Value {
	n, err := strconv.ParseFloat(string(yaml.AppendJSON(nil, v)), 64)
	if err != nil || math.Abs(n) < 1<<53 {
		return v
	}
	if n < 1<<64 && n >= -1<<63 {
		return yaml.Number(yaml.Int, strconv.FormatFloat(n, 'f', -1, 64))
	}
	return yaml.Number(yaml.Float, strconv.FormatFloat(n, 'g', -1, 64))
}

// taken returns the strings in v that depend on values of Secrets: the values, and all other
// strings that different values would change. hidden are the variables in text with values of
// Secrets.
func (t *substitution) taken(text string, v yaml.Value, hidden map[string]bool) (taken []string) {
	var values []string
	for name := range hidden {
		values = append(values, t.vars[name])
	}
	slices.Sort(values)
	without := map[string]bool{}
	other, err := t.evaluate(text, func(name string) string {
		if hidden[name] {
			return "x"
		}
		return t.vars[name]
	})
	if err == nil {
		eachLine(other, func(line string) { without[line] = true })
	}
	taken = values
	eachLine(v, func(line string) {
		if !without[line] && !slices.ContainsFunc(values, func(s string) bool {
			return s == line || len(s) >= secret.MinTaken && strings.Contains(line, s)
		}) {
			taken = append(taken, line)
		}
	})
	slices.Sort(taken)
	return slices.Compact(taken)
}

// eachLine calls do for each non-empty line of the scalars and keys in v.
func eachLine(v yaml.Value, do func(string)) {
	for _, x := range v.Items() {
		eachLine(x, do)
	}
	for _, f := range v.Fields() {
		eachLine(yaml.Str(f.Key), do)
		eachLine(f.Value, do)
	}
	if v.IsScalar() {
		for line := range strings.SplitSeq(v.Text(), "\n") {
			if line != "" {
				do(line)
			}
		}
	}
}

// undefinedIn returns the missing variables that a text uses without a default.
func undefinedIn(text string, missing map[string]bool) (names []string) {
	tree, err := parse.Parse(text)
	if err != nil {
		return nil
	}
	var visit func(n parse.Node)
	visit = func(n parse.Node) {
		for {
			switch x := n.(type) {
			case *parse.ListNode:
				for _, y := range x.Nodes[:len(x.Nodes)-1] {
					visit(y)
				}
				n = x.Nodes[len(x.Nodes)-1]
				continue
			case *parse.FuncNode:
				if missing[x.Param] && !slices.Contains([]string{"-", "+", "=", "?", ":-", ":+", ":=", ":?"}, x.Name) {
					names = append(names, x.Param)
				}
				for _, y := range x.Args {
					visit(y)
				}
			}
			return
		}
	}
	visit(tree.Root)
	slices.Sort(names)
	return slices.Compact(names)
}
