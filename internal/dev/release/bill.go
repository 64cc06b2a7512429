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

// The parts of a bill of materials in CycloneDX 1.6 format. It omits the optional timestamp and
// serial number, because they would make the file different for each build.
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

// billOf returns the bill of materials of a program. The modules are those in its build
// information.
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
	text, _ := json.MarshalIndent(b, "", "  ") // cannot fail for strings and numbers
	return append(text, '\n')
}

func componentOf(kind, path, version string) component {
	purl := "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
	return component{Type: kind, Ref: purl, Name: path, Version: version, PURL: purl}
}

var licenseFile = regexp.MustCompile(`(?i)^(licen[cs]e|notice|copying|patents)(\.\w+)?$`)

// licensesOf returns the licenses of Go and of modules, which are dependencies of the module in
// dir. They must be included in every distribution.
func licensesOf(dir string, modules []*debug.Module) ([]byte, error) {
	var b bytes.Buffer
	root, err := goOutput("env", "GOROOT")
	if err != nil {
		return nil, err
	}
	if err := appendLicenses(&b, "Go", root); err != nil {
		return nil, err
	}
	args := []string{"-C", dir, "list", "-m", "-f", "{{.Dir}}"}
	for _, m := range modules {
		args = append(args, m.Path)
	}
	dirs, err := goOutput(args...)
	if err != nil {
		return nil, err
	}
	for i, dir := range strings.Split(dirs, "\n") {
		if err := appendLicenses(&b, modules[i].Path+" "+modules[i].Version, dir); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

// goOutput returns the trimmed output of a go command.
func goOutput(args ...string) (string, error) {
	text, err := exec.Command("go", args...).Output()
	return strings.TrimSpace(string(text)), err
}

// appendLicenses appends the license files in dir. It returns an error if there are none,
// because such a module must not be distributed.
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
