package fn

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/catalog"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/cli/options"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/spf13/cobra"
)

// catalogFile is the name of the catalog in a directory.
const catalogFile = "catalog.yaml"

func docCommand(a *cli.Invocation) *cobra.Command {
	var form string
	cmd := &cobra.Command{
		Use:   "doc CATALOG|DIR [NAME]",
		Short: "Print the documentation of a function in a catalog",
		Long: `Print the catalog's description of its functions as a page: purpose, versions, program or image with digest, capabilities, and the fields of the configuration
with an example. NAME is the kind of a configuration; without it the page has all functions. A directory stands for its catalog.yaml. Nothing is
executed and nothing is trusted: the content is the claim of the catalog's author.`,
		Example: "  krmflow fn doc hello\n  krmflow fn doc catalog.yaml Stamp > stamp.md\n  krmflow fn doc oci://ghcr.io/example/catalog:v1 Stamp -o json",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return options.UsageError(
					diag.Arguments.Errorf("fn doc needs a catalog or a directory with one, and optionally the kind of a configuration"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if form != "markdown" && form != "json" {
				return options.UsageError(diag.FlagValue.Errorf("illegal value --output %s; legal values: markdown, json",
					diag.OneLine(form)))
			}
			if err := a.SourceFlags.Validate(); err != nil {
				return err
			}
			pages, err := readPages(cmd.Context(), a, args[0])
			if err == nil && len(args) > 1 {
				pages, err = named(pages, args[1])
			}
			if err != nil {
				return err
			}
			if form == "json" {
				e := json.NewEncoder(a.Stdout)
				e.SetIndent("", "  ")
				e.SetEscapeHTML(false)
				return e.Encode(pages)
			}
			var b strings.Builder
			for i, p := range pages {
				if i > 0 {
					b.WriteString("\n")
				}
				p.markdown(&b)
			}
			return a.Print(diag.Sanitise(b.String()))
		},
	}
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveDefault // also complete files
	}
	a.SourceFlags.Register(cmd)
	cmd.Flags().StringVarP(&form, "output", "o", "markdown", "output `format`: markdown or json")
	return cmd
}

// A page describes a function of a catalog. Its JSON form is the output of krmflow fn doc -o
// json; fields may be added.
type page struct {
	Kind        string        `json:"kind"`
	Group       string        `json:"group"`
	Description string        `json:"description,omitempty"`
	Publisher   string        `json:"publisher,omitempty"`
	Maintainers []string      `json:"maintainers,omitempty"`
	Home        string        `json:"home,omitempty"`
	Tags        []string      `json:"tags,omitempty"`
	Versions    []pageVersion `json:"versions"`
}

// A pageVersion describes one version of the function.
type pageVersion struct {
	APIVersion   string        `json:"apiVersion"`
	Idempotent   bool          `json:"idempotent"`
	License      string        `json:"license,omitempty"`
	Usage        string        `json:"usage,omitempty"`
	Definition   string        `json:"definition,omitempty"`
	Examples     []string      `json:"examples,omitempty"`
	Runtimes     []pageRuntime `json:"runtimes"`
	Capabilities []string      `json:"capabilities"`
	// Schema reports whether the catalog has a schema. Without one, every configuration is
	// valid.
	Schema bool        `json:"schema"`
	Fields []pageField `json:"fields"`
	// More reports that fields were omitted because they are too many or too deeply nested.
	More    bool   `json:"moreFields,omitempty"`
	Example string `json:"example"`
	// Valid reports whether the example is valid according to the schema.
	Valid bool `json:"exampleIsValid"`
}

// A pageRuntime is one way to run the function.
type pageRuntime struct {
	Runtime  string `json:"runtime"`
	Source   string `json:"source"`
	Platform string `json:"platform,omitempty"`
	Digest   string `json:"digest,omitempty"`
	// Problem is the reason why the function cannot run from this entry.
	Problem string `json:"problem,omitempty"`
}

// verified sets the digest that the catalog requires, or the problem with it.
func (r *pageRuntime) verified(d krm.Digest, err error) {
	switch {
	case err != nil:
		r.Problem = err.Error()
	case !d.IsZero():
		r.Digest = d.String()
	}
}

// readPages returns the pages of a catalog.
func readPages(ctx context.Context, a *cli.Invocation, place string) ([]*page, error) {
	if info, err := os.Stat(place); err == nil && info.IsDir() {
		file := filepath.Join(place, catalogFile)
		if _, err := os.Stat(file); err != nil {
			return nil, diag.NoSuchFile.Errorf("%s has no file %s", place, catalogFile)
		}
		if place = file; !filepath.IsAbs(place) {
			place = "." + string(filepath.Separator) + place // so that it is not parsed as a host
		}
	}
	ref, err := options.ParseRef("catalog", place)
	if err != nil {
		return nil, err
	}
	if a.Log == nil {
		a.Log = a.Logger()
	}
	c, _, err := a.Fetching().ReadCatalog(ctx, ref)
	if err != nil {
		return nil, err
	}
	var pages []*page
	last := -1
	for _, e := range c.Entries {
		if e.Index != last {
			pages = append(pages, &page{Kind: e.Kind, Group: e.Group, Description: strings.TrimSpace(e.Description), Publisher: e.Publisher,
				Maintainers: e.Maintainers, Home: diag.Redact(e.Home), Tags: e.Tags})
			last = e.Index
		}
		p := pages[len(pages)-1]
		p.Versions = append(p.Versions, versionOf(e))
	}
	if len(pages) == 0 {
		return nil, diag.NoResource.Errorf("%s lists no function", ref.Show())
	}
	return pages, nil
}

// named returns the pages for a kind, given as KIND or KIND.GROUP.
func named(pages []*page, name string) ([]*page, error) {
	var kinds []string
	found := slices.DeleteFunc(slices.Clone(pages), func(p *page) bool {
		kinds = append(kinds, p.Kind)
		return p.Kind != name && p.Kind+"."+p.Group != name
	})
	if len(found) == 0 {
		e := diag.Arguments.Errorf("the catalog has no function with the kind %s", diag.OneLine(name))
		at := diag.AsError(e)
		if at.Hints = diag.DidYouMean(name, kinds); at.Hints == nil {
			at.Hint("it has %s", diag.Some(kinds))
		}
		return nil, options.UsageError(at)
	}
	return found, nil
}

func versionOf(e *catalog.Entry) pageVersion {
	v := pageVersion{APIVersion: e.Version, Idempotent: e.Idempotent, License: e.License, Usage: diag.Redact(e.Usage),
		Definition: diag.Redact(e.Definition),
		Examples:   e.Examples, Schema: e.Schema.Exists(), Runtimes: []pageRuntime{}, Capabilities: []string{}, Fields: []pageField{}}
	if e.Group != "" {
		v.APIVersion = e.Group + "/" + e.Version
	}
	if c := e.Container; c != nil {
		r := pageRuntime{Runtime: "container", Source: diag.Redact(c.Text)}
		r.verified(c.Digest())
		v.Runtimes = append(v.Runtimes, r)
		for _, x := range []struct {
			has  bool
			what string
		}{{c.Network, "network"}, {c.WritableStorage, "storage to read and write"}, {c.Storage && !c.WritableStorage, "storage to read"}} {
			if x.has {
				v.Capabilities = append(v.Capabilities, x.what)
			}
		}
	}
	for _, p := range e.Exec {
		runtime := string(e.ExecRuntime)
		if runtime == "" {
			runtime = "exec"
		}
		r := pageRuntime{Runtime: runtime, Source: diag.Redact(p.URI), Platform: strings.Trim(p.OS+"/"+p.Arch, "/")}
		r.verified(p.Pin.Digest, p.Pin.Err())
		v.Runtimes = append(v.Runtimes, r)
	}
	if e.Starlark != "" {
		v.Runtimes = append(v.Runtimes, pageRuntime{Runtime: "starlark", Source: e.Starlark, Problem: "starlark is not supported"})
	}
	if e.AllowArgs {
		v.Capabilities = append(v.Capabilities, "arguments from the configuration")
	}
	if e.AllowRemoteConfig {
		v.Capabilities = append(v.Capabilities, "configurations from fetched trees")
	}
	f := &fields{}
	f.add(e.Schema, "", false, 0)
	if f.list != nil {
		v.Fields = f.list
	}
	v.More = f.more
	example := exampleOf(e)
	v.Example, v.Valid = string(yaml.AppendYAML(nil, example)), len(e.Validate(example)) == 0
	return v
}
