package fn

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"fmt"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"text/template"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/cli/options"
	"github.com/spf13/cobra"
)

//go:embed templates
var templates embed.FS

// A draft is the template data of a new function.
type draft struct {
	Name, Kind, Program string
	Digest, Arch        string // Digest of Program; empty if it must be compiled first
	Wrapped             bool   // a script, called by krmflow wrap
}

// languages maps each language to the files of a function: their paths, in which NAME stands
// for the name of the function, and their templates. The first file is the program, unless the
// program has to be compiled.
var languages = map[string][]struct{ path, template string }{
	"bash":   {{"NAME.sh", "function.sh"}},
	"python": {{"NAME.py", "function.py"}},
	"go":     {{"main.go", "function.go.txt"}, {"go.mod", "go.mod.txt"}, {"go.sum", "go.sum.txt"}},
}

// common lists the files that every function has.
var common = []struct{ path, template string }{
	{"catalog.yaml", "catalog.yaml"}, {".krmflowignore", "ignore.txt"},
	{"example/function.yaml", "config.yaml"}, {"example/kustomization.yaml", "kustomization.yaml"}, {"example/web.yaml", "web.yaml"},
	{"testdata/message/input.yaml", "input.yaml"}, {"testdata/message/config.yaml", "config.yaml"},
	{"testdata/message/expected.yaml", "expected.yaml"},
	{"testdata/empty/config.yaml", "empty.yaml"}, {"testdata/empty/errors.txt", "errors.txt"},
}

func initCommand(a *cli.Invocation) *cobra.Command {
	var lang string
	cmd := &cobra.Command{
		Use:   "init NAME",
		Short: "Create a new function with tests and a catalog",
		Long: `Create the directory NAME with a function that generates a ConfigMap. bash and python functions are scripts that krmflow wrap calls and need no library;
go functions use the framework of kustomize. The directory also gets cases for krmflow fn test, a catalog with the schema of the configuration,
and a Kustomization that uses the function. It must not exist or must be empty. The command prints the next commands to try.`,
		Example: "  krmflow fn init hello\n  krmflow fn init hello --lang python",
		Args:    options.Exactly(1, "the name of the function"),
		RunE: func(_ *cobra.Command, args []string) error {
			files, ok := languages[lang]
			if !ok {
				return options.UsageError(diag.FlagValue.Errorf("illegal value --lang %s; legal values: bash, go, python",
					diag.OneLine(lang)))
			}
			d := &draft{Name: args[0], Kind: kindOf(args[0]), Arch: runtime.GOARCH, Wrapped: lang != "go"}
			if !validName().MatchString(d.Name) || len(d.Name) > maxName || slices.Contains(notNames, d.Name) {
				e := diag.BadValue.Errorf("%q is not a valid function name", d.Name)
				return options.UsageError(
					diag.AsError(e).Hint(
						"use lower-case letters, digits and single dashes, beginning with a letter; the name is also used for the directory"))
			}
			made, err := d.files(files)
			if err != nil {
				return err
			}
			if err := writeNew(d.Name, made); err != nil {
				return err
			}
			return a.Print(d.next())
		},
	}
	cmd.Flags().StringVar(&lang, "lang", "bash", "`language`: bash, go or python")
	return cmd
}

// validName matches names that are valid as file, kind, module and resource names alike.
var validName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`) })

const maxName = 50

// notNames lists names that YAML reads as other types, and names of generated directories.
var notNames = []string{"true", "false", "yes", "no", "on", "off", "y", "n", "null", "example", "testdata"}

// kindOf returns the kind for the name of a function: SetOwner for set-owner.
func kindOf(name string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(name, "-") {
		if word != "" {
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return b.String()
}

// files returns the files of the function.
func (d *draft) files(own []struct{ path, template string }) (made []file, err error) {
	d.Program = strings.Replace(own[0].path, "NAME", d.Name, 1)
	if !d.Wrapped {
		d.Program = d.Name
	}
	for i, f := range append(own[:len(own):len(own)], common...) {
		data, err := d.fill(f.template)
		if err != nil {
			return nil, err
		}
		x := file{path: strings.Replace(f.path, "NAME", d.Name, 1), data: data, mode: 0o666}
		if i == 0 && d.Wrapped {
			x.mode, d.Digest = 0o777, fmt.Sprintf("%x", sha256.Sum256(data))
		}
		made = append(made, x)
	}
	return made, nil
}

// fill executes a template.
func (d *draft) fill(name string) ([]byte, error) {
	t, err := template.ParseFS(templates, "templates/"+name)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, d)
	return b.Bytes(), err
}

// next returns the commands for trying the function.
func (d *draft) next() string {
	catalog := " --trusted-plugin-catalog=" + filepath.Join(d.Name, "catalog.yaml")
	var b strings.Builder
	fmt.Fprintf(&b, "# %s has a function. To try it:\n", d.Name)
	if !d.Wrapped {
		catalog += " --allow-unverified"
		fmt.Fprintf(&b, "(cd %s && CGO_ENABLED=0 go build -o %s .)\n", d.Name, d.Program)
	}
	fmt.Fprintf(&b, "krmflow fn test %s%s\nkrmflow build %s%s\n", d.Name, catalog, filepath.Join(d.Name, "example"), catalog)
	if d.Wrapped {
		fmt.Fprintf(&b, "# While you edit it, add --dev %s. When it is finished, write its digest:\nkrmflow catalog digest --write %s\n",
			d.Name, filepath.Join(d.Name, "catalog.yaml"))
	}
	return b.String()
}
