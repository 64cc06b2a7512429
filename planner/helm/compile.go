package helm

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"path/filepath"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/chart"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/reference"
)

// Files is the source of a layer's charts and values.
type Files struct {
	Local *loaders.Local
	// Dir is the directory of the layer. Read returns a file that the layer names by its path.
	Dir  *loaders.Dir
	Read func(path string) (*yaml.Source, error)
}

// Check validates the fields themselves. It returns the error of the first invalid field.
func (c *Chart) Check() error {
	switch {
	case c.Name == "":
		return field("name", "the chart has no name")
	case strings.HasPrefix(c.Name, "-"), !filepath.IsLocal(path.Base(c.Name)):
		return field("name", "%q is not a valid chart name", c.Name)
	case strings.HasPrefix(c.ReleaseName, "-"):
		return field("releaseName", "must not begin with a dash: %q", c.ReleaseName)
	case c.ValuesInline.Exists() && !c.ValuesInline.IsNull() && c.ValuesInline.Type() != yaml.Map:
		return field("valuesInline", "must be a mapping")
	}
	switch c.ValuesMerge {
	case "", mergeValues, overrideValues, replaceValues:
		return nil
	}
	return field("valuesMerge", "must be merge, override or replace, not %q", c.ValuesMerge)
}

// A FieldError is a mistake in a field of a chart.
type FieldError struct {
	// Path is the path of the field in the chart.
	Path []any
	Err  error
}

func (e *FieldError) Error() string { return diag.FieldPath(e.Path) + ": " + e.Err.Error() }
func (e *FieldError) Unwrap() error { return e.Err }

// field returns a mistake in a field.
func field(name, format string, args ...any) error {
	return &FieldError{[]any{name}, diag.Errorf(diag.Pos{}, "", format, args...)}
}

// Compile returns the chart configured by g, with its values. It calls Check first.
func (g *Generator) Compile(files Files) (*chart.Chart, error) {
	if err := g.Check(); err != nil {
		return nil, err
	}
	c, folder, err := g.find(files)
	if err != nil {
		return nil, err
	}
	if err := g.checkVersion(c, folder); err != nil {
		return nil, err
	}
	values, err := g.values(files, c, folder)
	if err != nil {
		return nil, err
	}
	c.Values = append(c.Values, chart.File{Name: valuesName(0), Data: values})
	for i, name := range g.AdditionalValuesFiles {
		src, err := files.Read(name)
		if err != nil {
			return nil, inField(err, "additionalValuesFiles", i)
		}
		src.HoldSecret()
		c.Values = append(c.Values, chart.File{Name: valuesName(i + 1), Data: src.Data})
	}
	return c, nil
}

// valuesName returns the file name of values file i when helm runs.
func valuesName(i int) string {
	if i == 0 {
		return "values.yaml"
	}
	return fmt.Sprintf("values-%d.yaml", i)
}

// find returns the chart without its values, from the local folder of charts or, if it is not
// there, from the repository. folder is the local folder of the chart, empty for a fetched chart.
func (g *Generator) find(files Files) (c *chart.Chart, folder string, err error) {
	folder = g.folder()
	list, shown, err := files.Local.ReadChart(files.Dir, folder)
	switch {
	case err != nil && g.Repo == "":
		return nil, "", inField(diag.AsError(err).Hint("without the field repo, the chart must exist locally"), "name")
	case err == nil:
		return &chart.Chart{Source: shown, Files: list}, folder, nil
	case !isMissing(err):
		return nil, "", inField(err, "name")
	}
	list, err = files.Local.FetchChart(files.Dir, g.reference())
	if err != nil {
		return nil, "", inField(err, "repo")
	}
	return &chart.Chart{Source: diag.Redact(g.Repo), Files: list}, "", nil
}

// FetchAhead fetches the charts of the layer in dir that are not in its folder of charts, each in
// a goroutine started by run. Errors are reported when the charts are compiled.
func FetchAhead(files *loaders.Local, dir *loaders.Dir, globals *Globals, charts []Chart, run func(func())) {
	for _, c := range charts {
		g := Generator{Chart: c}
		if globals != nil {
			g.Globals = *globals
		}
		if g.Repo == "" || g.Check() != nil || files.IsDir(dir, g.folder()) {
			continue
		}
		from := *dir
		run(func() {
			defer func() { _ = recover() }()
			files.FetchChartDir(&from, g.reference())
		})
	}
}

// folder returns the path of the chart's folder relative to the layer. It includes name and
// version if the chart has a repository and a version.
func (g *Generator) folder() string {
	home := g.ChartHome
	if home == "" {
		home = chart.Dir
	}
	if g.Version != "" && g.Repo != "" {
		home = filepath.Join(home, g.Name+"-"+g.Version)
	}
	return filepath.Join(home, g.Name)
}

// reference returns the reference of the chart in its repository.
func (g *Generator) reference() string {
	version := g.Version
	if version == "" && g.Devel {
		version = reference.AnyVersion
	}
	dir, name := path.Split(g.Name) // below a registry, the name may include folders
	return strings.TrimSuffix(strings.TrimSuffix(g.Repo, "/")+"/"+dir, "/") + "//" + name + "?version=" + url.QueryEscape(version)
}

// checkVersion reads name and version of the chart and compares the version with the one
// requested by the layer: a local folder may contain an old chart.
func (g *Generator) checkVersion(c *chart.Chart, folder string) error {
	c.Folder = path.Base(filepath.ToSlash(g.Name))
	c.Digest = chart.DigestOf(c.Files)
	data, ok := c.File("Chart.yaml")
	if !ok {
		return field("name", "%s is not a chart: Chart.yaml is missing", c.Source)
	}
	v, err := (&yaml.Source{File: path.Join(c.Source, "Chart.yaml"), Data: data}).Value()
	if err != nil {
		return err
	}
	c.Name, c.Version = v.Get("name").Text(), v.Get("version").Text()
	if g.Version == "" || folder == "" || reference.IsVersion(c.Version, g.Version) {
		return nil
	}
	err = diag.Errorf(diag.Pos{}, "", "the chart in %s has the version %q, not %q", c.Source, c.Version, g.Version).With(diag.BadChart).
		Hint("a local chart is used as it is: replace it with the right one, or remove the folder if the field repo is set")
	return inField(err, "version")
}

// Args returns helm's arguments for a compiled chart, in kustomize's order. Paths are relative to
// the folder that the chart is unpacked to.
func (g *Generator) Args(c *chart.Chart) []string {
	args := []string{"template"}
	if g.ReleaseName != "" {
		args = append(args, g.ReleaseName)
	} else {
		args = append(args, "--generate-name")
	}
	args = append(args, path.Join(chart.Dir, c.Folder))
	option := func(name, value string) {
		if value != "" {
			args = append(args, name, value)
		}
	}
	option("--namespace", g.Namespace)
	option("--name-template", g.NameTemplate)
	for _, f := range c.Values {
		option("-f", f.Name)
	}
	for _, v := range g.APIVersions {
		args = append(args, "--api-versions", v)
	}
	option("--kube-version", g.KubeVersion)
	for _, flag := range []struct {
		on   bool
		name string
	}{{g.IncludeCRDs, "--include-crds"}, {g.SkipTests, "--skip-tests"}, {g.SkipHooks, "--no-hooks"}, {g.Debug, "--debug"},
		{g.Devel, "--devel"}} {
		if flag.on {
			args = append(args, flag.name)
		}
	}
	return args
}

// inField returns err as an error about a field of the chart.
func inField(err error, path ...any) error { return &FieldError{path, err} }

func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
