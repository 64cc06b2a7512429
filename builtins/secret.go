// Follows api/internal/builtins/SecretGenerator.go, api/internal/generators/secret.go.

package builtins

import (
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// SecretArgs is an entry of a Kustomization's secretGenerator.
type SecretArgs struct {
	GeneratorArgs `json:",inline"`
	// Type is the type of the Secret, Opaque by default.
	Type string `json:"type,omitempty"`
}

// Generator returns the built-in for the entry. global holds the Kustomization's
// generatorOptions.
func (a SecretArgs) Generator(global *GeneratorOptions) *SecretGenerator {
	a.complete(global)
	return &SecretGenerator{SecretArgs: a}
}

// A SecretGenerator makes a Secret from literals and files. Its errors never contain a value.
type SecretGenerator struct {
	Metadata   ObjectName `json:"metadata"`
	SecretArgs `json:",inline"`

	made generated
}

// Configure reads the files.
func (g *SecretGenerator) Configure(env Env) error {
	read := env.Read
	env.Read = func(path string) (*yaml.Source, error) {
		src, err := read(path)
		if err == nil {
			src.HoldSecret()
		}
		return src, err
	}
	base, pairs, err := g.prepare("Secret", g.Metadata, env)
	if err != nil {
		return err
	}
	data := make(map[string]string, len(pairs))
	for i := range pairs {
		data[pairs[i].key] = pairs[i].base64()
	}
	secretType := g.Type
	if secretType == "" {
		secretType = "Opaque"
	}
	g.made = g.state(env)
	g.made.value = base.With("type", yaml.SetStr(secretType)).With("data", yaml.StrMap(data))
	return nil
}

// Generate returns the Secret.
func (g *SecretGenerator) Generate() ([]*krm.Resource, error) { return g.made.resources(), nil }

// Causes implements [Causer].
func (g *SecretGenerator) Causes(e Edit) Likelihood { return g.causes("Secret", g.Metadata, e) }

// StandsFor implements [FieldForm].
func (g *SecretGenerator) StandsFor() []KustomizationField {
	return []KustomizationField{{Name: "secretGenerator", Each: true}}
}
