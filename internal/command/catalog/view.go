// Package catalog implements the commands for catalogs as documents: krmflow view catalog, lint
// catalog, edit generate-catalog, catalog publish and trust.
package catalog

import (
	"cmp"
	"fmt"
	"os"
	"strings"

	"github.com/krmflow/krmflow/catalog"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/cli/settings"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/trust"
)

// A View is a catalog as view catalog shows it.
type View struct {
	*catalog.Catalog
	// Digest is the digest of the document, as used in a pin.
	Digest krm.Digest
	// By names the source of the trust in this catalog without a flag. It is empty if the
	// catalog is not trusted.
	By string
}

func (v View) flag() string { return trust.FlagTrust + "=" + v.Ref.Pinned(v.Digest) }

func (v View) trusted() string {
	return cmp.Or(v.By, "no")
}

func (v View) findings() []*diag.Error { return append(v.Unusable(), v.Lint()...) }

// Text returns the view as text for people.
func (v View) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "catalog  %s\ndigest   %s\ntrusted  %s\n\n%s\n", v.Ref.Show(), v.Digest, v.trusted(), v.Describe())
	for _, f := range v.findings() {
		fmt.Fprintf(&b, "finding  %v\n", f)
	}
	if v.By != trust.ByBuiltIn {
		fmt.Fprintf(&b, "to trust it as it is now add %s\n", diag.ShellWord(v.flag()))
		if hint := trust.HiddenHint(v.Ref); hint != "" {
			fmt.Fprintf(&b, "%s\n", hint)
		}
	}
	return b.String()
}

// Form returns the view as one value for programs.
func (v View) Form() yaml.Value {
	var findings []yaml.Value
	for _, f := range v.findings() {
		findings = append(findings, yaml.Str(f.Error()))
	}
	return yaml.MapOf(
		yaml.Field{Key: "catalog", Value: v.Value()},
		yaml.Field{Key: "digest", Value: yaml.Str(v.Digest.String())},
		yaml.Field{Key: "findings", Value: yaml.SeqOf(findings...)},
		yaml.Field{Key: "flag", Value: yaml.Str(v.flag())},
		yaml.Field{Key: "reference", Value: yaml.Str(v.Ref.Show())},
		yaml.Field{Key: "trusted", Value: yaml.Str(v.trusted())},
	)
}

// TrustedBy returns the source of the trust in the catalog without a flag, or "" if it is not
// trusted.
func (v View) TrustedBy() (string, error) {
	config, err := settings.ReadConfig()
	if err != nil {
		return "", err
	}
	ref := realRef(v.Ref)
	for _, e := range config.Catalogs {
		if e.Covers(ref) && (e.Ref.Pin.IsZero() || e.Ref.Pin == v.Digest) {
			return "by " + e.Pos.String(), nil
		}
	}
	for _, p := range config.Publishers {
		if p.Covers(ref) {
			return "if it is signed by " + p.Name, nil
		}
	}
	return "", nil
}

// realRef returns ref with its symbolic links resolved.
func realRef(ref catalog.Ref) catalog.Ref {
	if ref.Remote() {
		return ref
	}
	if dir, err := os.Getwd(); err == nil {
		ref = ref.In(dir)
	}
	if real, err := loaders.Real(ref.Location); err == nil {
		ref = ref.At(real)
	}
	return ref
}
