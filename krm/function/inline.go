package function

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
)

// The fields and annotations in which a configuration can name its function. They are read in this
// order. If several are present, they must agree.
const (
	PlaceRuntime     = "runtime"
	PlaceProvider    = "provider"
	PlaceAnnotation  = "config.kubernetes.io/function"
	PlaceAnnotation2 = "config.k8s.io/function"
	PlaceConfigFn    = "metadata.configFn"
	PlaceContainer   = "config.kubernetes.io/container"
)

// An Inline is the function that a configuration document names itself. Exactly one of Container,
// Exec and Starlark is set.
type Inline struct {
	Container *InlineContainer
	Exec      *InlineExec
	// Starlark is the path of a script.
	Starlark string
	// Places lists the fields and annotations that name the function, by descending precedence.
	// Pos is the position of the first one.
	Places []string
	Pos    diag.Pos
}

// An InlineContainer is a function in a container image, with the permissions that it requests.
type InlineContainer struct {
	Image   string
	Network *bool // nil if not specified
	Mounts  []Mount
	Env     []string // NAME=value, or NAME for a variable of the host
}

// An InlineExec is a function that is a program.
type InlineExec struct {
	// Runtime is the name of a third-party runtime, empty for [RuntimeExec]. Programs of
	// third-party runtimes are configured like exec programs.
	Runtime Runtime
	Path    string
	Args    []string
	Env     []string
}

// An InlineConflict reports that two places in a configuration name different functions. krmflow
// does not choose between them: the user must.
type InlineConflict struct {
	Err    *diag.Error
	Places [2]string
}

func (e *InlineConflict) Error() string { return e.Err.Error() }
func (e *InlineConflict) Unwrap() error { return e.Err }

// ReadInline returns the function that config names in any of its places, nil if it names none.
// locate returns the position in the file of a path in config. A nil locate means that config has
// no positions. The error joins one [*diag.Error] per mistake, or is an [*InlineConflict].
func ReadInline(config yaml.Value, locate func(path ...any) diag.Pos) (*Inline, error) {
	if locate == nil {
		locate = func(...any) diag.Pos { return diag.Pos{} }
	}
	r := inlineReader{root: yaml.NewCursor(config, locate)}
	meta := r.root.Field("metadata")
	Misplaced(meta)
	r.field(PlaceRuntime, r.root.Field(PlaceRuntime))
	r.field(PlaceProvider, r.root.Field(PlaceProvider))
	annotations := meta.Field("annotations")
	r.annotation(annotations, PlaceAnnotation)
	r.annotation(annotations, PlaceAnnotation2)
	if c := meta.Field("configFn"); c.Exists() {
		r.field(PlaceConfigFn, c)
	}
	if c := annotations.Field(PlaceContainer); c.Text() != "" {
		r.add(PlaceContainer, c, &Inline{Container: &InlineContainer{Image: image(c)}})
	}
	return r.result()
}

// Without returns config without the function named in place, and without mappings that are empty
// afterwards.
func Without(config yaml.Value, place string) yaml.Value {
	meta := config.Get("metadata")
	switch place {
	case PlaceRuntime, PlaceProvider:
		return config.Without(place)
	case PlaceConfigFn:
		meta = meta.Without("configFn")
	default:
		if annotations := meta.Get("annotations").Without(place); annotations.Len() > 0 {
			meta = meta.With("annotations", annotations)
		} else {
			meta = meta.Without("annotations")
		}
	}
	if meta.Len() == 0 {
		return config.Without("metadata")
	}
	return config.With("metadata", meta)
}

// Misplaced reports whether meta, the metadata of a configuration, names a function. A function is
// not read from there, so Misplaced also records an error (PR-21).
func Misplaced(meta yaml.Cursor) (found bool) {
	for _, key := range []string{PlaceProvider, PlaceRuntime} {
		if c := meta.Field(key); c.Exists() {
			c.Errorf("a function must not be named in metadata").With(diag.BadFunction).Hint("move it beside metadata, as %s:",
				PlaceRuntime)
			found = true
		}
	}
	return found
}

type inlineReader struct {
	root  yaml.Cursor
	found []*Inline
}

func (r *inlineReader) add(place string, c yaml.Cursor, f *Inline) {
	f.Places, f.Pos = []string{place}, c.Pos()
	r.found = append(r.found, f)
}

func (r *inlineReader) field(place string, c yaml.Cursor) {
	if !c.Value().Exists() {
		return
	}
	r.add(place, c, readInline(c))
}

// annotation reads the text of an annotation, in YAML or JSON.
func (r *inlineReader) annotation(annotations yaml.Cursor, key string) {
	c := annotations.Field(key)
	text := c.Text()
	if text == "" {
		return
	}
	doc, err := (&yaml.Source{File: key, Data: []byte(text)}).Strict()
	if err != nil {
		if inner := (*diag.Error)(nil); errors.As(err, &inner) {
			c.Errorf("line %d of its text: %s", max(inner.Pos.Line, 1), inner.Msg).With(diag.BadFunction)
		} else {
			c.Errorf("%v", err)
		}
		return
	}
	r.add(key, c, readInline(c.On(doc.Value)))
}

func (r *inlineReader) result() (*Inline, error) {
	if mistakes := r.root.Mistakes(); len(mistakes) > 0 {
		errs := make([]error, len(mistakes))
		for i, err := range mistakes {
			errs[i] = err
		}
		return nil, errors.Join(errs...)
	}
	if len(r.found) == 0 {
		return nil, nil
	}
	first := r.found[0]
	for _, other := range r.found[1:] {
		a, b := first.Value(), other.Value()
		if !a.Equal(b) {
			places := [2]string{first.Places[0], other.Places[0]}
			err := diag.Errorf(other.Pos, "", "the configuration names two functions: %s in %s and %s in %s",
				first, places[0], other, places[1]).With(diag.TwoFunctions)
			return nil, &InlineConflict{Err: err.Hint("remove one of them"), Places: places}
		}
		first.Places = append(first.Places, other.Places...)
	}
	return first, nil
}

func readInline(c yaml.Cursor) *Inline {
	f := &Inline{}
	kinds := []string{"container", "exec", "starlark", "deferFailure"}
	other := OtherRuntime(c.Value(), kinds)
	if other != "" {
		kinds = append(kinds, string(other))
	}
	if !c.Known(kinds...) {
		return f
	}
	c.Field("deferFailure").Bool() // without effect, as in kustomize
	n := 0
	if x := c.Field("container"); x.Exists() {
		n++
		f.Container = readInlineContainer(x)
	}
	if x := c.Field("exec"); x.Exists() {
		n++
		f.Exec = readInlineExec(x)
	}
	if other != "" {
		n++
		f.Exec = readInlineExec(c.Field(string(other)))
		f.Exec.Runtime = other
	}
	if x := c.Field("starlark"); x.Exists() {
		n++
		f.Starlark = ReadStarlark(x)
	}
	switch {
	case n > 1:
		c.Errorf("names more than one of container, exec and starlark; keep one").With(diag.BadFunction)
	case n == 0:
		c.Errorf("must name a container or exec").With(diag.BadFunction)
	}
	return f
}

// OtherRuntime returns the first key of v that names a third-party runtime, "" if there is none:
// its value is a mapping with the location of a program, and the key is not similar to one of
// krmflow's own keys, which would be a misspelling.
func OtherRuntime(v yaml.Value, own []string) Runtime {
	for _, f := range v.Fields() {
		located := f.Value.Get("path").Exists() || f.Value.Get("uri").Exists() || f.Value.Get("platforms").Exists()
		if r := Runtime(f.Key); located && r.Valid() && !slices.Contains(own, f.Key) && len(diag.DidYouMean(f.Key, own)) == 0 {
			return r
		}
	}
	return ""
}

// ReadStarlark reads the path of a Starlark script: a string, or the field path of a mapping.
func ReadStarlark(c yaml.Cursor) string {
	if c.Value().Type() == yaml.Map {
		c.Known("path", "name", "url", "sha256")
		return c.Field("path").Line()
	}
	return c.Line()
}

// image reads an image reference.
func image(c yaml.Cursor) string {
	text := c.Required()
	if text != "" {
		if _, err := ParseImage(text); err != nil {
			c.Errorf("%v", err)
		}
	}
	return text
}

func readInlineContainer(c yaml.Cursor) *InlineContainer {
	x := &InlineContainer{}
	if !c.Known("image", "network", "mounts", "envs", "env") {
		return x
	}
	x.Image = image(c.Field("image"))
	x.Network = c.Field("network").Bool()
	x.Env = readEnv(c.Either("envs", "env"))
	for _, m := range c.Field("mounts").Items() {
		if !m.Known("type", "src", "dst", "rw") {
			continue
		}
		mount := Mount{Type: m.Field("type").Required(), Source: m.Field("src").Text(), Dest: m.Field("dst").Required()}
		if rw := m.Field("rw").Bool(); rw != nil {
			mount.Writable = *rw
		}
		switch mount.Type {
		case "bind", "volume", "tmpfs", "":
		default:
			m.Field("type").Errorf("unknown mount type %q: expected bind, volume or tmpfs", mount.Type).With(diag.BadFunction)
		}
		x.Mounts = append(x.Mounts, mount)
	}
	return x
}

func readInlineExec(c yaml.Cursor) *InlineExec {
	x := &InlineExec{}
	if !c.Known("path", "args", "envs", "env") {
		return x
	}
	x.Path = c.Field("path").Line()
	x.Args = c.Field("args").Strings()
	x.Env = readEnv(c.Either("envs", "env"))
	return x
}

func (x *InlineExec) runtime() Runtime { return cmp.Or(x.Runtime, RuntimeExec) }

func readEnv(c yaml.Cursor) []string {
	env := c.Strings()
	for i, item := range env {
		name, _, _ := strings.Cut(item, "=")
		if name == "" || strings.ContainsAny(item, "\x00\n") {
			c.Errorf("item %d: %q is not NAME or NAME=value", i, item).With(diag.BadFunction)
		}
	}
	return env
}

// String returns the form for messages.
func (f *Inline) String() string {
	switch {
	case f.Container != nil:
		return "container " + diag.Redact(f.Container.Image)
	case f.Exec != nil:
		return string(f.Exec.runtime()) + " " + diag.Redact(f.Exec.Path)
	}
	return "starlark " + diag.Redact(f.Starlark)
}

// Deprecated returns the places of f that have a newer form.
func (f *Inline) Deprecated() []string {
	var old []string
	for _, place := range f.Places {
		if place != PlaceRuntime && place != PlaceProvider {
			old = append(old, place)
		}
	}
	return old
}

// Value returns the value of the field runtime that names f.
func (f *Inline) Value() yaml.Value {
	var spec yaml.Value
	add := func(key string, v yaml.Value) {
		if !v.IsNull() {
			spec = spec.With(key, v)
		}
	}
	switch {
	case f.Container != nil:
		add("image", yaml.Str(f.Container.Image))
		if f.Container.Network != nil {
			add("network", yaml.BoolValue(*f.Container.Network))
		}
		add("mounts", mountList(f.Container.Mounts))
		add("envs", strList(f.Container.Env))
		return yaml.MapOf(yaml.Field{Key: "container", Value: spec})
	case f.Exec != nil:
		add("path", yaml.Str(path.Clean(f.Exec.Path)))
		add("args", strList(f.Exec.Args))
		add("envs", strList(f.Exec.Env))
		return yaml.MapOf(yaml.Field{Key: string(f.Exec.runtime()), Value: spec})
	}
	return yaml.MapOf(yaml.Field{Key: "starlark", Value: yaml.Str(f.Starlark)})
}

func strList(list []string) yaml.Value {
	if len(list) == 0 {
		return yaml.Value{}
	}
	items := make([]yaml.Value, len(list))
	for i, s := range list {
		items[i] = yaml.Str(s)
	}
	return yaml.SeqOf(items...)
}

func mountList(mounts []Mount) yaml.Value {
	if len(mounts) == 0 {
		return yaml.Value{}
	}
	items := make([]yaml.Value, len(mounts))
	for i, m := range mounts {
		items[i] = yaml.MapOf(yaml.Field{Key: "type", Value: yaml.Str(m.Type)}, yaml.Field{Key: "src", Value: yaml.Str(m.Source)},
			yaml.Field{Key: "dst", Value: yaml.Str(m.Dest)},
			yaml.Field{Key: "rw", Value: yaml.BoolValue(m.Writable)})
	}
	return yaml.SeqOf(items...)
}

// LegacyHint returns advice for a configuration of a legacy kustomize plugin, which kustomize
// finds by a path convention. It returns "" for other configurations.
func LegacyHint(config yaml.Value) string {
	for _, key := range []string{"argsFromFile", "argsOneLiner"} {
		if config.Get(key).Exists() {
			return fmt.Sprintf("%s is for legacy exec plugins, which are not supported: "+
				"name the program in the configuration, as runtime: {exec: {path: ./program, args: [...]}}", key)
		}
	}
	return ""
}
