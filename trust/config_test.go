package trust

import (
	"strings"
	"testing"

	"github.com/krmflow/krmflow/catalog"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
)

const configHead = "apiVersion: krmflow.dev/v1alpha1\nkind: Config\n"

func TestConfigCovers(t *testing.T) {
	src := &yaml.Source{File: "config.yaml", Data: []byte(configHead + `trustedCatalogs:
- https://example.com/cat/*
- /home/me/catalogs/*
- oci://example.com/one:v1
`)}
	c, err := ParseConfig(src)
	if err != nil {
		t.Fatal(err)
	}
	for ref, want := range map[string]bool{
		"https://example.com/cat/a.yaml":      true,
		"https://example.com/cat/deep/a.yaml": true,
		"https://example.com/cat/":            false,
		"https://example.com/cat-evil/a.yaml": false,
		"https://example.com.evil/cat/a.yaml": false,
		"http://example.com/cat/a.yaml":       false,
		"/home/me/catalogs/x.yaml":            true,
		"/home/me/catalogs-evil/x.yaml":       false,
		"/home/me/catalogs/../x.yaml":         false,
		"oci://example.com/one:v1":            true,
		"oci://example.com/one:v2":            false,
	} {
		r, err := catalog.ParseRef(ref)
		got := false
		for _, e := range c.Catalogs {
			got = got || err == nil && e.Covers(r)
		}
		if got != want {
			t.Errorf("%s: %v, want %v", ref, got, want)
		}
	}
}

func TestConfigMistakes(t *testing.T) {
	for text, want := range map[string]string{
		configHead + "trustedCatalogs: [catalog.yaml]\n": `config.yaml:3: trustedCatalogs[0]: "catalog.yaml": the path must be absolute`,
		configHead +
			"trustedCatalogs: [/a/*/b]\n": `config.yaml:3: trustedCatalogs[0]: "/a/*/b": a * matches everything below a location, and is allowed only at the end, after a /`,
		"kind: Config\n":        `config.yaml:1: apiVersion: "" is not krmflow.dev/v1alpha1`,
		"kind: Kustomization\n": `config.yaml:1: kind: not a krmflow configuration: found kind "Kustomization"`,
		configHead +
			"trustedCatalogs: /a/b.yaml\n": `config.yaml:3: trustedCatalogs: must be a list, not a string`,
		"kind: KustomizeConfig\ntrustedCatalogs: ['s3::x/y']\n":           `config.yaml:2: trustedCatalogs[0]: "s3::x/y": s3 is not supported`,
		"kind: KustomizeConfig\ntrustedCatalogs: ['https://h/c?a=b/*']\n": `config.yaml:2: trustedCatalogs[0]: "https://h/c?a=xxxxx": a place must not have parameters or a pin`,
		configHead +
			"publishers: [{name: a, catalogs: [/c/*]}]\n": `config.yaml:3: publishers[0].keys: must have at least one entry`,
		configHead +
			"publishers: [{name: a, catalogs: [/c/*], keys: [/home/me/key.pub]}]\n": `config.yaml:3: publishers[0].keys[0]: not a public key: expected PEM, an SSH public key, or the second line of a minisign public key file`,
		"kind: KustomizeConfig\ntrustedCatalogs: [/a#sha256=12]\n": `config.yaml:2: trustedCatalogs[0]: "/a#sha256=12": the pin "#sha256=12" is not valid`,
	} {
		_, err := ParseConfig(&yaml.Source{File: "config.yaml", Data: []byte(text)})
		if text, _ := diag.Parts(err); err == nil || text != want {
			t.Errorf("%s\ngot  %v\nwant %s", text, err, want)
		}
	}
}

// Edits change one line and leave the rest as the user wrote it.
func TestEditConfig(t *testing.T) {
	const written = "# mine\n" + configHead +
		"trustedCatalogs: # from work\n  - /a/one.yaml # the first\n\n  # two\n  - '/a/two.yaml#sha256=" +
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'\n"
	for _, tt := range []struct {
		name, in, text string
		remove, found  bool
		want           string // empty if an error
	}{
		{"first", "", "/a.yaml", false, false, configHead + "trustedCatalogs:\n- \"/a.yaml\"\n"},
		{"no list yet", "# x\n" + configHead, "/a.yaml", false, false, "# x\n" + configHead + "trustedCatalogs:\n- \"/a.yaml\"\n"},
		{"one more", written, "/a/*", false, false, written + "  - \"/a/*\"\n"},
		{"another pin", written, "/a/two.yaml", false, true, written[:strings.Index(written, "  - '/a/two")] + "  - \"/a/two.yaml\"\n"},
		{"removed", written, "/a/one.yaml", true, true, strings.Replace(written, "  - /a/one.yaml # the first\n", "", 1)},
		{"not there", written, "/a/three.yaml", true, false, written},
		{"in one line", configHead + "trustedCatalogs: [/a.yaml]\n", "/b.yaml", false, false, ""},
		{"empty list", configHead + "trustedCatalogs: []\n", "/b.yaml", false, false, ""},
	} {
		data, found, err := EditConfig(&yaml.Source{File: "config.yaml", Data: []byte(tt.in)}, tt.text, tt.remove)
		if string(data) != tt.want || found != tt.found || (err != nil) != (tt.want == "") {
			t.Errorf("%s: %v, %v\ngot:\n%s\nwant:\n%s", tt.name, found, err, data, tt.want)
		}
	}
}
