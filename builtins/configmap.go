// Follows api/internal/builtins/ConfigMapGenerator.go, api/internal/generators/configmap.go,
// api/internal/generators/utils.go, api/types/generatoroptions.go.

package builtins

import (
	"cmp"
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/schema"
	"github.com/krmflow/krmflow/krm/yaml"
)

// GeneratorOptions are the options for generated ConfigMaps and Secrets.
type GeneratorOptions struct {
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	// DisableNameSuffixHash omits the content hash from the name.
	DisableNameSuffixHash bool `json:"disableNameSuffixHash,omitempty"`
	Immutable             bool `json:"immutable,omitempty"`
}

// MergeGeneratorOptions combines the options of a generator with the options of its
// Kustomization. Labels and annotations of local take precedence, and a switch is on if it is on
// in either. Both arguments may be nil and are not changed.
func MergeGeneratorOptions(local, global *GeneratorOptions) *GeneratorOptions {
	if global == nil {
		return local
	}
	if local == nil {
		return global
	}
	return &GeneratorOptions{
		Labels:                mergeMaps(local.Labels, global.Labels),
		Annotations:           mergeMaps(local.Annotations, global.Annotations),
		DisableNameSuffixHash: local.DisableNameSuffixHash || global.DisableNameSuffixHash,
		Immutable:             local.Immutable || global.Immutable,
	}
}

func mergeMaps(local, global map[string]string) map[string]string {
	merged := make(map[string]string, len(local)+len(global))
	for k, v := range global {
		merged[k] = v
	}
	for k, v := range local {
		merged[k] = v
	}
	return merged
}

// GeneratorArgs are the common fields of ConfigMap and Secret generators.
type GeneratorArgs struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	// Behavior is "create", "merge" or "replace". It determines how the result combines with an
	// existing resource of the same identity.
	Behavior        string `json:"behavior,omitempty"`
	KeyValueSources `json:",inline"`
	Options         *GeneratorOptions `json:"options,omitempty"`
}

// ConfigMapArgs is an entry of a Kustomization's configMapGenerator.
type ConfigMapArgs struct {
	GeneratorArgs `json:",inline"`
}

// Generator returns the built-in for the entry. global holds the Kustomization's
// generatorOptions.
func (a ConfigMapArgs) Generator(global *GeneratorOptions) *ConfigMapGenerator {
	a.complete(global)
	return &ConfigMapGenerator{ConfigMapArgs: a}
}

// complete converts an entry of a Kustomization to the configuration of a built-in, which has
// neither env nor global options.
func (a *GeneratorArgs) complete(global *GeneratorOptions) {
	a.Options = MergeGeneratorOptions(a.Options, global)
	if a.Env != "" {
		a.Envs = append(a.Envs[:len(a.Envs):len(a.Envs)], a.Env)
		a.Env = ""
	}
}

// Locate implements [Locator]. For an entry of the data it returns the literal, file or line of a
// file that the entry comes from; for a label or annotation it returns the option.
func (a *GeneratorArgs) Locate(c Change) (place Place, ok bool) {
	if len(c.Path) < 2 || c.Removed {
		return place, false
	}
	key, _ := c.Path[len(c.Path)-1].(string)
	if c.Path[0] == "metadata" {
		return Place{Path: []any{"options", c.Path[1], key}}, len(c.Path) == 3
	}
	for i, text := range a.Literals {
		if k, _, _ := strings.Cut(text, "="); k == key {
			return Place{Path: []any{"literals", i}}, true
		}
	}
	for i, text := range a.Files {
		k, name, named := strings.Cut(text, "=")
		if !named {
			k, name = text[strings.LastIndex(text, "/")+1:], text
		}
		if k == key {
			return Place{File: name, Path: []any{"files", i}}, true
		}
	}
	for i, name := range a.Envs {
		src := c.Files(name)
		if src == nil {
			continue
		}
		for line, text := range strings.Split(strings.TrimPrefix(src.Text(), "\ufeff"), "\n") {
			if k, _, _ := strings.Cut(strings.TrimSpace(text), "="); k == key {
				return Place{File: name, Line: line + 1, Path: []any{"envs", i}}, true
			}
		}
	}
	return place, false
}

// causes implements [Causer] for a generator of the given kind. The name is compared as a
// substring because prefixes and suffixes are added to it.
func (a *GeneratorArgs) causes(kind string, meta ObjectName, e Edit) Likelihood {
	name := cmp.Or(a.Name, meta.Name)
	return likelyIf(e.Kind == kind && name != "" && strings.Contains(e.Name, name))
}

// FileFields implements [FileReader]. It includes env, which only entries of a Kustomization
// have.
func (a *GeneratorArgs) FileFields() []FileField {
	return []FileField{{Path: "env"}, {Path: "envs"}, {Path: "files", Form: KeyedForm}}
}

// ObjectName is the metadata of a configuration document. It names the generated object if the
// fields of the generator do not.
type ObjectName struct {
	Name      string `json:"name,omitempty"`
	Namespace string `json:"namespace,omitempty"`
}

// A ConfigMapGenerator makes a ConfigMap from literals and files.
type ConfigMapGenerator struct {
	Metadata      ObjectName `json:"metadata"`
	ConfigMapArgs `json:",inline"`

	made generated
}

// Configure reads the files.
func (g *ConfigMapGenerator) Configure(env Env) error {
	base, pairs, err := g.prepare("ConfigMap", g.Metadata, env)
	if err != nil {
		return err
	}
	text, binary := make(map[string]string, len(pairs)), map[string]string{}
	for i := range pairs {
		if kv := &pairs[i]; utf8.ValidString(kv.value) {
			text[kv.key] = kv.value
		} else {
			binary[kv.key] = kv.base64()
		}
	}
	if len(text) > 0 {
		base = base.With("data", yaml.StrMap(text))
	}
	if len(binary) > 0 {
		base = base.With("binaryData", yaml.StrMap(binary))
	}
	g.made = g.state(env)
	g.made.value = base
	return nil
}

// Generate returns the ConfigMap.
func (g *ConfigMapGenerator) Generate() ([]*krm.Resource, error) { return g.made.resources(), nil }

// Causes implements [Causer].
func (g *ConfigMapGenerator) Causes(e Edit) Likelihood { return g.causes("ConfigMap", g.Metadata, e) }

// StandsFor implements [FieldForm].
func (g *ConfigMapGenerator) StandsFor() []KustomizationField {
	return []KustomizationField{{Name: "configMapGenerator", Each: true}}
}

// generated is the result of a configured generator. Each call of Generate returns it again.
type generated struct {
	value     yaml.Value
	schema    *schema.Schema
	behavior  string
	needsHash bool
}

func (g *generated) resources() []*krm.Resource {
	r := krm.NewResource(g.value, g.schema)
	r.Behavior, r.NeedsHash = g.behavior, g.needsHash
	return []*krm.Resource{r}
}

// prepare returns the object without its data, and the data separately.
func (a *GeneratorArgs) prepare(kind string, meta ObjectName, env Env) (base yaml.Value, pairs []keyValue, err error) {
	name, namespace := a.Name, a.Namespace
	if name == "" {
		name = meta.Name
	}
	if namespace == "" {
		namespace = meta.Namespace
	}
	fields := []yaml.Field{{Key: "name", Value: yaml.SetStr(name)}}
	if namespace != "" {
		fields = append(fields, yaml.Field{Key: "namespace", Value: yaml.SetStr(namespace)})
	}
	if a.Options != nil && len(a.Options.Labels) > 0 {
		fields = append(fields, yaml.Field{Key: "labels", Value: yaml.StrMap(a.Options.Labels)})
	}
	if a.Options != nil && len(a.Options.Annotations) > 0 {
		fields = append(fields, yaml.Field{Key: "annotations", Value: yaml.StrMap(a.Options.Annotations)})
	}
	base = yaml.MapOf(
		yaml.Field{Key: "apiVersion", Value: yaml.Str("v1")},
		yaml.Field{Key: "kind", Value: yaml.Str(kind)},
		yaml.Field{Key: "metadata", Value: yaml.MapOf(fields...)})
	if a.Options != nil && a.Options.Immutable {
		base = base.With("immutable", yaml.BoolValue(true))
	}
	pairs, err = a.load(env)
	env.doubtKeys(pairs)
	env.doubtNamespace(namespace, "namespace")
	if a.Options != nil {
		env.doubtLabels(a.Options.Labels, "a label", true, "options", "labels")
		env.doubtLabels(a.Options.Annotations, "an annotation", false, "options", "annotations")
	}
	if b := a.Behavior; env.Warn != nil && b != "" && !slices.Contains(behaviors, b) {
		w := diag.Errorf(diag.Pos{}, "", "unknown behavior %q is treated as create", b).With(diag.BadValue)
		if w.Hints = diag.DidYouMean(b, behaviors); w.Hints == nil {
			w.Hint("write create, merge or replace")
		}
		env.warnIn(w, "behavior")
	}
	if name == "" {
		err = errors.Join(advised(notGiven("name is missing"), "set name to the name of the generated resource"), err)
	}
	return base, pairs, err
}

var behaviors = []string{"create", "merge", "replace"}

// state returns the result without its value.
func (a *GeneratorArgs) state(env Env) generated {
	g := generated{schema: env.Schema, needsHash: a.Options == nil || !a.Options.DisableNameSuffixHash}
	switch a.Behavior {
	case "create", "merge", "replace":
		g.behavior = a.Behavior
	}
	return g
}

// base64Line is the length at which kustomize breaks encoded data into lines.
const base64Line = 70

// encodeBase64 encodes data in base64. Text of base64Line or more characters is broken into
// lines, each terminated by a newline.
func encodeBase64(data string) string {
	text := base64.StdEncoding.EncodeToString([]byte(data))
	if len(text) < base64Line {
		return text
	}
	out := make([]byte, 0, len(text)+len(text)/base64Line+1)
	for len(text) > 0 {
		n := min(base64Line, len(text))
		out = append(append(out, text[:n]...), '\n')
		text = text[n:]
	}
	return string(out)
}
