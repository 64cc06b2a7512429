package run

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/internal/command/run/tree"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/planner"
)

// A pipeline is the pipeline field of a Kptfile.
type pipeline struct {
	Mutators   []step `json:"mutators"`
	Validators []step `json:"validators"`
}

// A step is a function of a pipeline.
type step struct {
	Name       string     `json:"name"`
	Image      string     `json:"image"`
	Exec       string     `json:"exec"`
	ConfigPath string     `json:"configPath"`
	ConfigMap  yaml.Value `json:"configMap"`
	Selectors  []selector `json:"selectors"`
	Exclude    []selector `json:"exclude"`
}

// program returns the program of the step without its version, so that edits of generated
// resources survive an upgrade.
func (s step) program() string {
	if s.Exec != "" {
		return s.Exec
	}
	m, err := function.ParseImage(s.Image)
	if err != nil {
		return s.Image // the plan reports the error
	}
	return m.Registry + "/" + m.Repository
}

// A selector matches resources that meet all of its conditions.
type selector struct {
	APIVersion  string            `json:"apiVersion"`
	Kind        string            `json:"kind"`
	Name        string            `json:"name"`
	Namespace   string            `json:"namespace"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

func matchesAny(list []selector, r *krm.Resource) bool {
	return slices.ContainsFunc(list, func(s selector) bool { return s.matches(r.Value()) })
}

func (s selector) matches(v yaml.Value) bool {
	meta := v.Get("metadata")
	for _, x := range []struct {
		want string
		is   yaml.Value
	}{{s.APIVersion, v.Get("apiVersion")}, {s.Kind, v.Get("kind")}, {s.Name, meta.Get("name")}, {s.Namespace, meta.Get("namespace")}} {
		if x.want != "" && x.is.Text() != x.want {
			return false
		}
	}
	return hasAll(meta.Get("labels"), s.Labels) && hasAll(meta.Get("annotations"), s.Annotations)
}

func hasAll(m yaml.Value, want map[string]string) bool {
	for key, text := range want {
		if x := m.Get(key); !x.IsScalar() || x.SourceText() != text {
			return false
		}
	}
	return true
}

// pipelines returns the calls of the pipelines of all kpt packages. The call order is inner
// packages first, and mutators before validators. used are the objects that configure these
// functions.
func pipelines(t *tree.Tree) (calls []*call, used map[*tree.Object]bool, err error) {
	used = map[*tree.Object]bool{}
	times := map[string]int{} // number of calls of a program per pipeline
	var errs []error
	for _, f := range t.Files {
		if o := f.Objects[0]; path.Base(f.Path) == tree.Kptfile && o.Value.Get("kind").Text() != "Kptfile" {
			errs = append(errs, diag.Errorf(o.Locate("kind"), "kind", "must be Kptfile, and is %s",
				diag.OneLine(o.Value.Get("kind").Text())).With(diag.WrongKind))
		}
	}
	for _, o := range packages(t) {
		var p pipeline
		src, _ := o.Source()
		v := o.Value.Get("pipeline")
		var mistakes []*yaml.DecodeError
		if v.Exists() {
			mistakes = yaml.Decode(v, &p)
		}
		for _, m := range mistakes {
			m.Path = append([]any{"pipeline"}, m.Path...)
			errs = append(errs, m.In(src))
		}
		for _, list := range []struct {
			field string
			steps []step
			role  function.Role
		}{{"mutators", p.Mutators, function.TransformerRole}, {"validators", p.Validators, function.ValidatorRole}} {
			for i, s := range list.steps {
				c, err := piped(t, o, s, list.role, []any{"pipeline", list.field, i}, used)
				if errs = append(errs, err); err == nil {
					c.key = fmt.Sprintf("%s#pipeline.%s %s", o.File.Path, list.field, s.program())
					if times[c.key]++; times[c.key] > 1 {
						c.key += fmt.Sprintf("[%d]", times[c.key]-1)
					}
					calls = append(calls, c)
				}
			}
		}
	}
	return calls, used, errors.Join(errs...)
}

// packages returns the Kptfiles, inner packages first.
func packages(t *tree.Tree) (list []*tree.Object) {
	for _, f := range t.Files {
		for _, o := range f.Objects {
			if path.Base(f.Path) == tree.Kptfile && o.Value.Get("kind").Text() == "Kptfile" {
				list = append(list, o)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b *tree.Object) int { return depthFirst(folders(a), folders(b)) })
	return list
}

// folders returns the folder names on the path of an object's file.
func folders(o *tree.Object) []string {
	names := strings.Split(o.File.Path, "/")
	return names[:len(names)-1]
}

// depthFirst compares paths so that the content of a folder comes before the folder.
func depthFirst(a, b []string) int {
	for i := range min(len(a), len(b)) {
		if n := strings.Compare(a[i], b[i]); n != 0 {
			return n
		}
	}
	return len(b) - len(a)
}

// piped returns the call of a step of the pipeline in o.
func piped(t *tree.Tree, o *tree.Object, s step, role function.Role, at []any, used map[*tree.Object]bool) (*call, error) {
	folder := path.Dir(o.File.Path)
	errorf := func(field, format string, args ...any) error {
		where := at
		if field != "" {
			where = append(slices.Clip(at), field)
		}
		return diag.Errorf(o.Locate(where...), diag.FieldPath(where), format, args...).With(diag.BadFunction)
	}
	runtime := yaml.Value{}
	switch words := strings.Fields(s.Exec); {
	case s.Image != "" && s.Exec != "":
		return nil, errorf("", "image and exec cannot be combined")
	case s.Image != "":
		if !strings.Contains(s.Image, "/") {
			return nil, errorf("image", "%q has no repository: write the whole reference", s.Image)
		}
		runtime = mapOf("container", mapOf("image", yaml.Str(s.Image)))
	case len(words) > 0:
		exec := mapOf("path", yaml.Str(words[0]))
		if len(words) > 1 {
			args := make([]yaml.Value, len(words)-1)
			for i, w := range words[1:] {
				args[i] = yaml.Str(w)
			}
			exec = exec.With("args", yaml.SeqOf(args...))
		}
		runtime = mapOf("exec", exec)
	default:
		return nil, errorf("", "needs image or exec")
	}
	var configuredBy *tree.Object
	config := mapOf("apiVersion", yaml.Str("v1")).With("kind", yaml.Str("ConfigMap")).With("metadata",
		mapOf("name", yaml.Str("function-input")))
	switch {
	case s.ConfigPath != "" && s.ConfigMap.Exists():
		return nil, errorf("", "configPath and configMap cannot be combined")
	case s.ConfigMap.Exists():
		config = config.With("data", s.ConfigMap)
	case s.ConfigPath != "":
		found := find(t, path.Join(folder, s.ConfigPath))
		if found == nil || !filepath.IsLocal(filepath.FromSlash(s.ConfigPath)) {
			return nil, errorf("configPath", "%q is not a file of the package with exactly one resource", s.ConfigPath)
		}
		used[found], config, configuredBy = true, found.Value, found
	}
	r := krm.NewResource(withoutFunction(config).With(function.PlaceRuntime, runtime), nil)
	r.Pos = o.Locate(at...)
	src, _ := o.Source()
	c := &call{tree: t, scope: folder, home: folder, selects: s.Selectors, leaves: s.Exclude, config: r.Pos, configObject: configuredBy}
	c.plan = planner.FileCall{
		File: filepath.Join(t.Dir, filepath.FromSlash(o.File.Path)), Origin: graph.Origin{Source: src, Path: at},
		Dir:    filepath.Join(t.Dir, filepath.FromSlash(folder)),
		Config: r, Role: role, Files: c, ByProgram: true,
	}
	return c, nil
}

// withoutFunction returns a configuration without the fields that name its function, because the
// Kptfile takes precedence.
func withoutFunction(config yaml.Value) yaml.Value {
	for _, place := range []string{function.PlaceRuntime, function.PlaceProvider, function.PlaceAnnotation, function.PlaceAnnotation2,
		function.PlaceConfigFn, function.PlaceContainer} {
		config = function.Without(config, place)
	}
	return config
}

func mapOf(key string, v yaml.Value) yaml.Value { return yaml.MapOf(yaml.Field{Key: key, Value: v}) }

// find returns the only object of a file, or nil.
func find(t *tree.Tree, p string) *tree.Object {
	for _, f := range t.Files {
		if f.Path == p && len(f.Objects) == 1 {
			return f.Objects[0]
		}
	}
	return nil
}
