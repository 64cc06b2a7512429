package validation

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/cli/options"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/lint"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/validate"
	"github.com/spf13/cobra"
)

// Flags are the command-line flags for validation.
type Flags struct {
	// On enables validation.
	On          bool
	kubeVersion string
	crds        []string
	unknown     string
	cel         bool
	references  bool
}

// Register adds the flags to a command with optional validation.
func (f *Flags) Register(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.On, "validate", false, "validate the resources; write no output if one is invalid")
	f.RegisterAlways(cmd)
}

// RegisterAlways adds the flags to a command that always validates.
func (f *Flags) RegisterAlways(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.kubeVersion, "kube-version", "", "version of Kubernetes to validate for (default "+validate.Newest()+
		", the newest that is known)")
	f.registerCRDs(cmd)
	fs.StringVar(&f.unknown, "unknown-kinds", "ignore", "resources of unknown kinds: ignore or error")
	fs.BoolVar(&f.references, "strict-references", false, "report references to objects that no root of the run has")
}

func (f *Flags) registerCRDs(cmd *cobra.Command) {
	cmd.Flags().Var((*options.Repeated)(&f.crds), "crds", "`DIR` or file with CRDs, in addition to rendered ones; may be repeated")
}

// RegisterRules adds the flag for CEL rules to a command that calls [Run.Evaluate]. Its text is the
// same for all commands, because a setting applies only to flags with the same text.
func (f *Flags) RegisterRules(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.cel, "cel", false, "evaluate CEL rules of CRDs and policies with "+celProgram)
}

// New returns a Run for the flags, or nil if it has nothing to check. It reads the
// CustomResourceDefinitions that the flags name, and returns an error for invalid values.
func (f *Flags) New(cmd *cobra.Command) (*Run, error) {
	minor, err := validate.ParseVersion(f.kubeVersion)
	if err != nil {
		return nil, options.UsageError(fmt.Errorf("--kube-version: %w", err))
	}
	if f.unknown != "ignore" && f.unknown != "error" {
		return nil, options.UsageError(fmt.Errorf("illegal value --unknown-kinds %s; legal values: ignore, error", f.unknown))
	}
	if !f.On {
		for _, name := range []string{"kube-version", "crds", "unknown-kinds"} {
			if cmd.Flags().Changed(name) {
				return nil, options.UsageError(fmt.Errorf("--%s needs --validate", name))
			}
		}
		if f.references {
			return &Run{census: lint.NewCensus()}, nil
		}
		return nil, nil
	}
	v := &Run{validator: validate.New(minor), unknown: f.unknown == "error", rules: f.cel, definitions: map[kind][]defined{}}
	if f.references {
		v.census = lint.NewCensus()
	}
	return v, f.define(v)
}

// define adds the CustomResourceDefinitions that the flags name.
func (f *Flags) define(v *Run) error {
	var errs []error
	for _, name := range f.crds {
		crds, err := ReadDefinitions(name, "--crds ")
		errs = append(errs, err)
		for _, crd := range crds {
			v.define("", crd, nil)
		}
	}
	return errors.Join(errs...)
}

// maxDefinition is the maximum size in bytes of a file with CustomResourceDefinitions.
const maxDefinition = yaml.MaxFile

// ReadDefinitions returns the CustomResourceDefinitions in a file, or in all YAML and JSON files
// below a directory. It returns an error if there are none. label is the text before name in
// errors: a flag with a blank, or "".
func ReadDefinitions(name, label string) (crds []yaml.Value, err error) {
	var errs []error
	err = filepath.WalkDir(name, func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() || file != name && !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(file)):
			return nil
		}
		data, err := loaders.ReadFile(file, maxDefinition)
		if err != nil || !bytes.Contains(data, []byte("CustomResourceDefinition")) {
			return err
		}
		docs, err := (&yaml.Source{File: file, Data: data}).Documents()
		errs = append(errs, err)
		for _, doc := range docs {
			if validate.IsDefinition(doc.Value) {
				crds = append(crds, doc.Value)
			}
		}
		return nil
	})
	if err != nil {
		if label != "" {
			label = strings.TrimSpace(label) + ": "
		}
		return nil, fmt.Errorf("%s%w", label, err)
	}
	if errs := errors.Join(errs...); errs != nil {
		return nil, errs
	}
	if crds == nil {
		return nil, diag.Errorf(diag.Pos{}, "", "%s%s: no CustomResourceDefinition in it", label, name).With(diag.FlagValue)
	}
	return crds, nil
}
