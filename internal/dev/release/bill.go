package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
)

// The parts of a bill of materials in the form of CycloneDX 1.6. It has neither a time nor a number of its own: both would make it another
// one each time.
type (
	bill struct {
		Format      string      `json:"bomFormat"`
		SpecVersion string      `json:"specVersion"`
		Version     int         `json:"version"`
		Metadata    metadata    `json:"metadata"`
		Components  []component `json:"components"`
	}
	metadata struct {
		Component  component  `json:"component"`
		Properties []property `json:"properties"`
	}
	component struct {
		Type       string     `json:"type"`
		Ref        string     `json:"bom-ref"`
		Name       string     `json:"name"`
		Version    string     `json:"version"`
		PURL       string     `json:"purl"`
		Properties []property `json:"properties,omitempty"`
	}
	property struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
)

// billOf returns the bill of materials of a program: its modules, as it says itself.
func billOf(version string, info *debug.BuildInfo) []byte {
	b := bill{Format: "CycloneDX", SpecVersion: "1.6", Version: 1}
	b.Metadata.Component = componentOf("application", info.Main.Path, version)
	for _, s := range info.Settings {
		if s.Key == "GOOS" || s.Key == "GOARCH" {
			b.Metadata.Properties = append(b.Metadata.Properties, property{"go:" + s.Key, s.Value})
		}
	}
	goVersion, _, _ := strings.Cut(strings.TrimPrefix(info.GoVersion, "go"), " ")
	b.Components = append(b.Components, componentOf("library", "std", goVersion))
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		c := componentOf("library", m.Path, m.Version)
		if m.Sum != "" {
			c.Properties = []property{{"go:sum", m.Sum}}
		}
		b.Components = append(b.Components, c)
	}
	text, _ := json.MarshalIndent(b, "", "  ") // texts and numbers always can be
	return append(text, '\n')
}

func componentOf(kind, path, version string) component {
	purl := "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
	return component{Type: kind, Ref: purl, Name: path, Version: version, PURL: purl}
}

var licenseFile = regexp.MustCompile(`(?i)^(licen[cs]e|notice|copying|patents)(\.\w+)?$`)

// licensesOf returns the licenses of modules, which those who pass them on have to pass on, too, and that of Go.
func licensesOf(modules []*debug.Module) ([]byte, error) {
	var b bytes.Buffer
	root, err := goOutput("env", "GOROOT")
	if err != nil {
		return nil, err
	}
	if err := appendLicenses(&b, "Go", root); err != nil {
		return nil, err
	}
	for _, m := range modules {
		dir, err := goOutput("list", "-m", "-f", "{{.Dir}}", m.Path)
		if err != nil {
			return nil, err
		}
		if err := appendLicenses(&b, m.Path+" "+m.Version, dir); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

// goOutput returns what a go command prints on its own line.
func goOutput(args ...string) (string, error) {
	text, err := exec.Command("go", args...).Output()
	return strings.TrimSpace(string(text)), err
}

// appendLicenses appends the licenses in dir. A module without one may not be passed on.
func appendLicenses(b *bytes.Buffer, name, dir string) error {
	list, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	found := false
	for _, f := range list {
		if f.IsDir() || !licenseFile.MatchString(f.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			return err
		}
		found = true
		fmt.Fprintf(b, "==== %s: %s\n\n%s\n\n", name, f.Name(), bytes.TrimSpace(text))
	}
	if !found {
		return fmt.Errorf("%s has no license", name)
	}
	return nil
}
