// Follows api/internal/builtins/ConfigMapGenerator.go, api/internal/generators/configmap.go, api/internal/generators/utils.go,
// api/types/generatoroptions.go.

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

// GeneratorOptions apply to generated ConfigMaps and Secrets.
type GeneratorOptions struct {
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	// DisableNameSuffixHash leaves the name without the hash of the contents.
	DisableNameSuffixHash bool `json:"disableNameSuffixHash,omitempty"`
	Immutable             bool `json:"immutable,omitempty"`
}

// MergeGeneratorOptions returns the options of one generator completed by those of its Kustomization: labels and
// annotations of local win, switches that are on in either are on. Neither argument is changed; both may be nil.
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

// GeneratorArgs are the fields that generators of ConfigMaps and Secrets have in common.
type GeneratorArgs struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	// Behavior says how the result combines with a resource of the same identity: "create", "merge" or "replace".
	Behavior        string `json:"behavior,omitempty"`
	KeyValueSources `json:",inline"`
	Options         *GeneratorOptions `json:"options,omitempty"`
}

// ConfigMapArgs is an entry of a Kustomization's configMapGenerator.
type ConfigMapArgs struct {
	GeneratorArgs `json:",inline"`
}

// Generator returns the built-in that the entry stands for; global are the generatorOptions of the Kustomization.
func (a ConfigMapArgs) Generator(global *GeneratorOptions) *ConfigMapGenerator {
	a.complete(global)
	return &ConfigMapGenerator{ConfigMapArgs: a}
}

// complete makes a the configuration of a built-in, which knows neither env nor options of a whole Kustomization.
func (a *GeneratorArgs) complete(global *GeneratorOptions) {
	a.Options = MergeGeneratorOptions(a.Options, global)
	if a.Env != "" {
		a.Envs = append(a.Envs[:len(a.Envs):len(a.Envs)], a.Env)
		a.Env = ""
	}
}

// Locate implements [Locator]: the literal, the file or the line of a file that an entry of the
// data comes from, or the option that a label or annotation comes from.
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

// causes is [Causer] for a generator of a kind. Prefixes and suffixes are added to names.
func (a *GeneratorArgs) causes(kind string, meta ObjectName, e Edit) Likelihood {
	name := cmp.Or(a.Name, meta.Name)
	return likelyIf(e.Kind == kind && name != "" && strings.Contains(e.Name, name))
}

// FileFields implements [FileReader]. An entry of a Kustomization may also have env.
func (a *GeneratorArgs) FileFields() []FileField {
	return []FileField{{Path: "env"}, {Path: "envs"}, {Path: "files", Form: KeyedForm}}
}

// ObjectName is the part of a configuration document's metadata that names what is generated if its fields do not.
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
	text, binary := map[string]string{}, map[string]string{}
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

// generated is what a configured generator returns again and again.
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

// prepare returns the object without its data, and the data.
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
	env.doubtNamespace(namespace)
	if a.Options != nil {
		env.doubtLabels(a.Options.Labels, "a label", true)
		env.doubtLabels(a.Options.Annotations, "an annotation", false)
	}
	if b := a.Behavior; env.Warn != nil && b != "" && !slices.Contains(behaviors, b) {
		w := diag.Errorf(diag.Pos{}, "", "behavior %q is unknown, and taken for create", b).With(diag.BadValue)
		if w.Hints = diag.DidYouMean(b, behaviors); w.Hints == nil {
			w.Hint("write create, merge or replace")
		}
		env.Warn(w)
	}
	if name == "" {
		err = errors.Join(advised(notGiven("name is missing"), "add name: with the name of what is made"), err)
	}
	return base, pairs, err
}

var behaviors = []string{"create", "merge", "replace"}

// state returns what is known of the result before its value.
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

// encodeBase64 returns data in base64; what does not fit into a line is broken into lines, each ended by a newline.
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
