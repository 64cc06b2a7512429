package catalog

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/catalog"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/cli/options"
	"github.com/krmflow/krmflow/internal/cli/settings"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/output"
	"github.com/spf13/cobra"
)

// addProgramCommand returns the command that lists a program of this machine in the user's own
// catalog.
func addProgramCommand(a *cli.Invocation) *cobra.Command {
	var path string
	var requires []string
	cmd := &cobra.Command{
		Use:   "add-program GROUP/VERSION/KIND",
		Short: "List an installed program in your own catalog",
		Long: `Add a program of this machine, with its digest, to the catalog programs.yaml beside your settings. krmflow trusts this catalog without a flag, and
no tree can name a different one. The program runs for configurations of this kind, including those that name it by its file name.

If the program changes, krmflow denies it with exit code 4. The same command accepts the new program.

--requires names what the program may get from you with --grant: a variable, VARIABLE:file for a variable with the path of a file to read, tree, or
network.`,
		Example: `  krmflow catalog add-program viaduct.ai/v1/ksops --path "$(command -v ksops)" --requires SOPS_AGE_KEY_FILE:file --requires tree`,
		Args:    options.Exactly(1, "a kind"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if settings.Locked() {
				return options.ErrLocked()
			}
			gvk, err := parseKind(args[0])
			if err != nil {
				return options.UsageError(err)
			}
			if path == "" {
				return options.UsageError(errors.New("--path is missing; expected the path of the program"))
			}
			return addProgram(a, gvk, path, requires)
		},
	}
	cmd.Flags().StringVar(&path, "path", "", "`file` of the program")
	cmd.Flags().Var((*options.Repeated)(&requires), "requires", "`NAME` that may be granted to the program; may be repeated")
	return cmd
}

// parseKind parses GROUP/VERSION/KIND, or VERSION/KIND for the core group.
func parseKind(text string) (krm.GVK, error) {
	i := strings.LastIndexByte(text, '/')
	if i < 0 || i == len(text)-1 || i == 0 {
		return krm.GVK{}, diag.BadValue.Errorf("%q is not GROUP/VERSION/KIND", text)
	}
	return krm.ParseGVK(text[:i], text[i+1:]), nil
}

func addProgram(a *cli.Invocation, gvk krm.GVK, path string, requires []string) error {
	file := settings.OwnPath()
	if file == "" {
		return errors.New("your own catalog has no location: HOME is not set")
	}
	program, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	name := filepath.Base(program)
	if program, err = filepath.EvalSymlinks(program); err != nil {
		return err
	}
	data, err := loaders.ReadFile(program, 1<<30)
	if err != nil {
		return err
	}
	if info, err := os.Stat(program); err != nil || info.Mode()&0o111 == 0 && runtime.GOOS != "windows" {
		return diag.BadProgram.Errorf("%s is not executable", diag.OneLine(path))
	}
	entry := &catalog.Entry{GVK: gvk, Programs: []string{name}, Exec: []catalog.Platform{{
		URI: program, Bin: filepath.Base(program), OS: runtime.GOOS, Arch: runtime.GOARCH,
		Pin: catalog.Pin{Given: true, Digest: krm.DigestOf(data)},
	}}}
	if entry.Requires, err = parseRequires(requires); err != nil {
		return options.UsageError(err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	err = output.EditFile(file, 0o600, func(old []byte) ([]byte, error) {
		known := &catalog.Catalog{}
		if len(old) > 0 {
			if known, err = catalog.Parse(&yaml.Source{File: file, Data: old}, catalog.Ref{}); err != nil {
				return nil, err
			}
		}
		entries := slices.DeleteFunc(known.Entries, func(e *catalog.Entry) bool {
			if e.GVK != gvk {
				return false
			}
			if requires == nil {
				entry.Requires = e.Requires
			}
			entry.Idempotent, entry.Schema = e.Idempotent, e.Schema
			return true
		})
		c := catalog.Of(append(entries, entry))
		c.Name = "programs"
		text := "# Programs of this machine. krmflow catalog add-program writes this file.\n"
		return yaml.AppendYAML([]byte(text), c.Value()), nil
	})
	if err != nil {
		return err
	}
	text := fmt.Sprintf("%s runs %s now, %s\n", gvk, program, entry.Exec[0].Pin.Digest)
	if needs := entry.Requires.String(); needs != "" {
		text += "it requires " + needs + ": see --grant\n"
	}
	return a.Print(diag.Sanitise(text))
}

// parseRequires reads the values of --requires.
func parseRequires(list []string) (r catalog.Requires, err error) {
	for _, text := range list {
		name, kind, _ := strings.Cut(text, ":")
		if kind != "" && kind != "file" {
			return r, diag.BadValue.Errorf("--requires %s: expected NAME, NAME:file, tree or network", text)
		}
		if kind == "file" {
			r.Files = append(r.Files, name)
		}
		r.Needs = append(r.Needs, catalog.Need{Names: []string{name}})
	}
	// The catalog's own parser checks the names.
	doc := catalog.Of([]*catalog.Entry{{GVK: krm.GVK{Group: "x", Version: "v1", Kind: "X"}, Requires: r,
		Exec: []catalog.Platform{{URI: "x"}}}})
	if _, err := catalog.Parse(&yaml.Source{File: "--requires", Data: yaml.AppendYAML(nil, doc.Value())}, catalog.Ref{}); err != nil {
		text, _ := diag.Parts(err)
		return r, fmt.Errorf("--requires: %s", text)
	}
	return r, nil
}
