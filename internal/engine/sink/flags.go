package sink

import (
	"fmt"

	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/secret"
	"github.com/krmflow/krmflow/output"
	"github.com/krmflow/krmflow/output/names"
	"github.com/krmflow/krmflow/render"
	"github.com/spf13/pflag"
)

// FolderFlags are the flags that determine the content of an output folder. They are shared by
// the commands that write a folder and that compare with it.
type FolderFlags struct {
	// OnlyThese keeps the files of roots that are not rendered.
	OnlyThese bool
	// Redact replaces the values of Secrets.
	Redact bool

	layout string
	names  []string
}

// Register adds the flags.
func (f *FolderFlags) Register(fs *pflag.FlagSet) {
	fs.BoolVar(&f.OnlyThese, "only-these", false, "keep files of roots that this run does not render")
	fs.StringVar(&f.layout, "layout", "files", "`layout` of the folder: files, single, hydrator or {kind}/{name}.yaml")
	fs.StringSliceVar(&f.names, "names", nil, "`form` of file names: namespace, no-namespace, no-hash")
	fs.BoolVar(&f.Redact, "redact-secrets", false, "replace values of Secrets by a fixed text")
}

// Check returns an error for invalid values of the flags.
func (f *FolderFlags) Check() error {
	_, err := names.ParseLayout(f.layout, f.names)
	return err
}

// Options returns the options of a folder for these roots. An error concerns the command line.
func (f *FolderFlags) Options(roots render.Roots) (output.Options, error) {
	layout, err := names.ParseLayout(f.layout, f.names)
	if err != nil {
		return output.Options{}, err
	}
	return output.Options{Inputs: roots.Dirs(), Layout: layout, Roots: roots.Outs(), Base: roots.Base(), OnlyThese: f.OnlyThese}, nil
}

// Form returns a key for the flags. Flags with different keys may write different files for the
// same list.
func (f *FolderFlags) Form() krm.Digest {
	return krm.DigestOf(fmt.Appendf(nil, "%q %q %t", f.layout, f.names, f.Redact))
}

// Clean returns the list to write to the folder for a root. earlier has the same meaning as the
// field of [Secrets].
func (f *FolderFlags) Clean(dir string, list *krm.List, earlier func(dir string, s *secret.Set)) *krm.List {
	if f.Redact {
		return redact(dir, list, earlier)
	}
	return list
}
