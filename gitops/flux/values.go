package flux

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/builtins"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/gitops"
	"github.com/krmflow/krmflow/gitops/internal/setvalues"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/secret"
	"github.com/krmflow/krmflow/krm/yaml"
)

// A valuesFrom is an entry of spec.valuesFrom.
type valuesFrom struct {
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	ValuesKey  string `json:"valuesKey"`
	TargetPath string `json:"targetPath"`
	Optional   bool   `json:"optional"`
	Literal    bool   `json:"literal"`
}

// values are the merged values of a HelmRelease.
type values struct {
	merged yaml.Value
	// places are the places of values outside of spec.values, with paths relative to merged.
	places []yaml.Place
	// hidden are the strings that come from Secrets.
	hidden []string
}

// maxPlaces limits the number of places of values.
const maxPlaces = 1000

// values merges the values of a HelmRelease: the entries of valuesFrom in order, then spec.values.
func (r *root) values(h *release) *values {
	all := &values{merged: yaml.MapOf()}
	own := h.Spec.Values
	if own.IsNull() {
		own = yaml.MapOf()
	}
	if own.Type() != yaml.Map {
		r.fail(r.Object.Errorf([]any{"spec", "values"}, "must be a mapping").With(diag.WrongType))
		own = yaml.MapOf()
	}
	for i, ref := range h.Spec.ValuesFrom {
		r.valuesFrom(all, ref, "spec", "valuesFrom", i)
	}
	all.places = slices.DeleteFunc(all.places, func(p yaml.Place) bool { return own.Follow(p.Path...).Exists() })
	all.merged = mergeValues(all.merged, own)
	all.places = slices.DeleteFunc(all.places, func(p yaml.Place) bool { return !all.merged.Follow(p.Path...).Exists() })
	return all
}

// valuesFrom merges the values of an entry of valuesFrom. at is the path of the entry.
func (r *root) valuesFrom(all *values, ref valuesFrom, at ...any) {
	if ref.Kind != "ConfigMap" && ref.Kind != "Secret" {
		r.fail(r.Object.Errorf(append(at, "kind"), "must be ConfigMap or Secret, not %q", ref.Kind).With(diag.BadValue))
		return
	}
	data, _, ok := r.data(at, ref.Kind, ref.Name, ref.Optional)
	if !ok {
		return
	}
	key := ref.ValuesKey
	if key == "" {
		key = "values.yaml"
	}
	o := r.f.env.Find(r.Object, "", ref.Kind, r.Object.Namespace, ref.Name)
	name := ref.Kind + " " + path.Join(r.Object.Namespace, ref.Name)
	text, ok := data[key]
	if !ok {
		if !ref.Optional {
			e := r.Object.Errorf(at, "%s has no key %q", name, key).With(diag.BadValue)
			var keys []string
			for k := range data {
				keys = append(keys, k)
			}
			slices.Sort(keys)
			e.Hints = diag.DidYouMean(key, keys)
			r.fail(e)
		}
		return
	}
	private := ref.Kind == "Secret" && !isEncrypted(o.Value)
	place := o.Place("data", key)
	if !o.Value.At("data", key).Exists() {
		place = o.Place("stringData", key)
	}
	if ref.TargetPath != "" {
		sets, err := parseSet(ref.TargetPath, text, ref.Literal)
		for _, s := range sets {
			if err == nil {
				if all.merged, err = s.Set(all.merged); err != nil {
					err = errPath
				}
				all.record(s.Path, place)
			}
			if private {
				all.hide(s.Value)
			}
		}
		if err != nil {
			r.fail(r.Object.Errorf(append(at, "targetPath"), "%s", err).With(diag.BadValues))
		}
		return
	}
	if ref.Kind == "Secret" && !private {
		return // the placeholder for an encrypted Secret contains no values
	}
	v, err := yaml.NewAnswer(name, []byte(text)).Value()
	if err == nil && !v.IsNull() && v.Type() != yaml.Map {
		err = errors.New("not a mapping")
	}
	if err != nil {
		// The text may be secret, so the message contains only the line number.
		e := diag.AsError(err)
		r.fail(r.Object.Errorf(at, "the key %s of %s is not a file of values (line %d)", key, name, max(e.Pos.Line, 1)).
			With(diag.BadValues))
		return
	}
	if private {
		all.hide(v)
	}
	all.merged = mergeValues(all.merged, v)
	leaves(v, nil, func(path []any) { all.record(path, place) })
}

// The errors of targetPath have no text of the value, which may be secret.
var (
	errSet  = errors.New(`not valid in helm's --set: write the path as a.b[0].c, and commas in the value as \,`)
	errPath = errors.New("the path leads through a value that is not a mapping or list")
)

// parseSet parses a target path with its value as Flux does: in the syntax of helm's --set, or
// --set-string if the value is in quotes. A value may contain further assignments after commas.
// With literal, the value is taken as it is.
func parseSet(target, value string, literal bool) ([]setvalues.Assignment, error) {
	mode := setvalues.Typed
	if literal {
		mode = setvalues.Literal
	}
	for _, q := range []string{"'", `"`} {
		if mode == setvalues.Typed && strings.HasPrefix(value, q) && strings.HasSuffix(value, q) {
			value, mode = strings.Trim(value, `'"`), setvalues.Text
		}
	}
	list, err := setvalues.Parse(target+"="+value, mode)
	if err != nil {
		err = errSet
	}
	return list, err
}

// hide adds the strings in v to hidden.
func (all *values) hide(v yaml.Value) {
	eachLine(v, func(line string) { all.hidden = append(all.hidden, line) })
}

// record sets the place of the value at path.
func (all *values) record(path []any, at yaml.Place) {
	all.places = slices.DeleteFunc(all.places, func(p yaml.Place) bool { return slices.Equal(p.Path, path) })
	if len(all.places) < maxPlaces {
		at.Path = path
		all.places = append(all.places, at)
	}
}

// leaves calls do for the path of each value that is not a mapping, in nested mappings.
func leaves(v yaml.Value, path []any, do func([]any)) {
	if v.Type() != yaml.Map {
		if len(path) > 0 {
			do(path)
		}
		return
	}
	for _, f := range v.Fields() {
		leaves(f.Value, slices.Concat(path, []any{f.Key}), do)
	}
}

// mergeValues merges two mappings as Flux does. Lists and scalars of b take precedence, and null is
// a value like any other.
func mergeValues(a, b yaml.Value) yaml.Value {
	for _, f := range b.Fields() {
		x := f.Value
		if old := a.Get(f.Key); old.Type() == yaml.Map && x.Type() == yaml.Map {
			x = mergeValues(old, x)
		}
		a = a.With(f.Key, x)
	}
	return a
}

// defaults applies valuesFiles, which replace the file values.yaml of a chart. Helm reads
// values.yaml in any case, so defaults sets its other values to null.
func (r *root) defaults(c *chart, all *values) {
	if len(c.valuesFiles) == 0 || slices.Equal(c.valuesFiles, []string{"values.yaml"}) {
		return
	}
	at := slices.Concat(c.field, []any{"valuesFiles"})
	if c.repo != "" {
		r.fail(c.from.Errorf(at, "files of values in a chart from a HelmRepository are not supported").With(diag.Unsupported).
			Hint("copy their content to spec.values"))
		return
	}
	files := c.tree.files(r.f.env)
	if files == nil {
		r.fail(c.from.Errorf(at, "files of values in a chart of another repository are not supported").With(diag.Unsupported).
			Hint("map the repository to a directory: --source URL=DIR"))
		return
	}
	read := func(name string, field ...any) (yaml.Value, bool) {
		// Paths are relative to the repository, not to the chart.
		data, err := fs.ReadFile(files, path.Clean(name))
		if errors.Is(err, fs.ErrNotExist) && c.ignoreMissing {
			return yaml.MapOf(), true
		}
		src := &yaml.Source{File: path.Join(c.dir, name), Data: data}
		var v yaml.Value
		if err == nil {
			v, err = src.Value()
		}
		if err != nil {
			r.fail(c.from.Errorf(slices.Concat(at, field), "%s", err).With(diag.BadValues))
			return v, false
		}
		r.Files = append(r.Files, src)
		return v, true
	}
	merged := yaml.MapOf()
	for i, name := range c.valuesFiles {
		v, ok := read(strings.TrimPrefix(path.Clean("/"+name), "/"), i)
		if !ok {
			return
		}
		merged = mergeValues(merged, v)
	}
	if own, ok := read(path.Join(c.tree.sub, "values.yaml")); ok {
		all.merged = mergeValues(without(own, merged), all.merged)
	}
}

// without returns v with a null for each value of own that v lacks.
func without(own, v yaml.Value) yaml.Value {
	for _, f := range own.Fields() {
		switch x := v.Get(f.Key); {
		case !x.Exists():
			v = v.With(f.Key, yaml.NullValue)
		case x.Type() == yaml.Map && f.Value.Type() == yaml.Map:
			v = v.With(f.Key, without(f.Value, x))
		}
	}
	return v
}

// hide adds a step that marks the values of Secrets in the output of the chart. Marked values are
// not displayed.
func (r *root) hide(all *values) {
	set := &secret.Set{}
	var texts []string
	for _, text := range all.hidden {
		one := &secret.Set{}
		one.AddValue(text)
		if one.HideValue(yaml.Str(text)).Text() != text { // not a common word or number
			texts = append(texts, text)
			set.AddTaken(text)
		}
	}
	if len(texts) == 0 {
		return
	}
	slices.Sort(texts)
	r.Steps = append(r.Steps, gitops.Step{Transformer: &hiding{slices.Compact(texts), set}, At: r.Object.Place("spec", "valuesFrom"),
		Summary: "hides values of Secrets"})
}

// hiding marks strings that come from Secrets.
type hiding struct {
	texts []string
	set   *secret.Set
}

// Configure implements builtins.Builtin.
func (t *hiding) Configure(builtins.Env) error { return nil }

// Transform marks each resource that contains one of the texts. It does not change objects.
func (t *hiding) Transform(list *krm.List, _ builtins.Warn) error {
	for i, r := range list.All() {
		if !t.set.HideValue(r.Value()).Same(r.Value()) {
			list.Change(i, func(r *krm.Resource) { r.Taken = append(r.Taken, t.texts...) })
		}
	}
	return nil
}
