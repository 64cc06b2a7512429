package validate

import (
	"sync"

	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/secret"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/validate/internal/openapi"
)

// A Validator checks objects for one version of Kubernetes. It may be used concurrently.
type Validator struct {
	release *release

	mu          sync.Mutex
	definitions map[yaml.Value]map[krm.GVK]*property // by the spec of the CustomResourceDefinition
}

// New returns a Validator for a minor version of Kubernetes. See [ParseVersion].
func New(minor int) *Validator {
	return &Validator{release: &release{minor: minor, schemas: map[openapi.Node]*schema{}},
		definitions: map[yaml.Value]map[krm.GVK]*property{}}
}

// Knows reports whether g is or was a kind of Kubernetes itself, or at least is in one of its
// groups.
func (v *Validator) Knows(g krm.GVK) bool {
	_, ok := openapi.Lookup(g.Group, g.Version, g.Kind)
	return ok || isOwnGroup(g.Group)
}

var ownGroups = sync.OnceValue(func() map[string]bool {
	groups := map[string]bool{}
	for k := range openapi.Kinds() {
		groups[k.Group] = true
	}
	return groups
})

func isOwnGroup(group string) bool { return ownGroups()[group] }

// Check returns the findings for an object of a kind for which [Validator.Knows] is true.
func (v *Validator) Check(r *krm.Resource) []Finding {
	g := r.ID().GVK
	c := v.checker(r)
	k, ok := openapi.Lookup(g.Group, g.Version, g.Kind)
	if !ok {
		c.noSuchKind(g)
		return c.findings
	}
	c.served(k)
	if k.From <= v.release.minor && v.release.minor <= k.To {
		c.object(v.release.schema(k.Node), r.Value())
		c.names(k, r.Value())
	}
	return c.findings
}

func (v *Validator) checker(r *krm.Resource) *checker {
	return &checker{release: v.release, secret: secret.In(r.Value()), sealed: r.Value().At("sops", "mac").Exists()}
}

// CheckWith validates an object against those CustomResourceDefinitions in definitions that
// define its kind. If there are several, it returns the findings of the best match, so one match
// is enough. known is false if definitions has none for the kind.
func (v *Validator) CheckWith(r *krm.Resource, definitions []yaml.Value) (findings []Finding, known bool) {
	for _, d := range definitions {
		p := v.definition(d)[r.ID().GVK]
		if p == nil {
			continue
		}
		if found := v.checker(r).object(v.release.of(p), r.Value()); !known || len(found) < len(findings) {
			findings = found
		}
		known = true
		if len(findings) == 0 {
			break
		}
	}
	return findings, known
}

// Config validates the configuration of a function against an OpenAPI v3 schema. Unlike an API
// server, it allows unknown fields unless additionalProperties is false, checks no formats and
// applies no defaults; a null must be nullable. It ignores invalid parts of the schema.
func Config(schema, config yaml.Value) []Finding {
	c := &checker{config: true, secret: secret.In(config)}
	return c.object((&reader{config: true, keepAll: true}).schema(schema), config)
}

// definition returns the schemas in a CustomResourceDefinition. It compiles them once.
func (v *Validator) definition(crd yaml.Value) map[krm.GVK]*property {
	spec := crd.Get("spec")
	v.mu.Lock()
	defer v.mu.Unlock()
	found, ok := v.definitions[spec]
	if !ok {
		found = definition(crd)
		v.definitions[spec] = found
	}
	return found
}

// DefinesKind returns the group and kind that a CustomResourceDefinition defines.
func DefinesKind(crd yaml.Value) (group, kind string) {
	return crd.At("spec", "group").Text(), crd.At("spec", "names", "kind").Text()
}

// Unknown returns a finding for an object of an unknown kind.
func (v *Validator) Unknown(r *krm.Resource) Finding {
	return Finding{Code: UnknownKind, Path: []any{"kind"}, Msg: "unknown kind " + r.ID().GVK.String(), Value: r.Value().Get("kind"),
		Hints: []string{"use --crds DIR to add CustomResourceDefinitions that are not rendered"}}
}
