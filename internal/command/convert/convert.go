// Package convert turns a Kustomization into a Composition that renders the same: krmflow convert composition. Each field becomes an item of
// the list, in the order in which kustomize applies fields. What a Composition has no item for stays in one that is itself a Kustomization,
// with this field alone.
package convert

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/output"
	"github.com/krmflow/krmflow/planner/layerfile"
)

// A Composition is what a Kustomization was converted to. It is in no file yet.
type Composition struct {
	// Text is the file.
	Text []byte
	// Dest is where it belongs, and From the kustomization file, which it replaces. Both are paths as messages show them.
	Dest, From string
	// Notes say what was left out because it changes nothing.
	Notes []*diag.Error

	dest, from string // absolute
	old        []byte // the kustomization file
}

// Directory converts the Kustomization of a directory of this machine. files reads what it names, and layers are all files that it is made
// of: they tell whether one of them configures what fields do to which kinds. The error joins one for each field that cannot be converted.
func Directory(files *loaders.Local, dir string, layers []*yaml.Source) (*Composition, error) {
	in, err := files.Root(dir)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	src, composition, err := layerfile.Find(files, in)
	if err != nil {
		return nil, layerfile.InDirectory(in, err)
	}
	if composition {
		return nil, diag.Errorf(diag.Pos{File: src.File}, "", "is a Composition already")
	}
	name := layerfile.CompositionNames[0]
	if _, err := os.Lstat(filepath.Join(in.Real, name)); err == nil {
		return nil, diag.Errorf(diag.Pos{File: filepath.Join(in.Name, name)}, "", "another tool's file has the name that the Composition must have")
	}
	text, notes, err := (&converter{files: files, dir: in, src: src, configured: configured(layers)}).convert()
	if err != nil {
		return nil, err
	}
	return &Composition{
		Text: text, Dest: filepath.Join(in.Name, name), From: src.File, Notes: notes,
		dest: filepath.Join(in.Real, name), from: filepath.Join(in.Real, filepath.Base(src.File)), old: src.Data,
	}, nil
}

// Instead returns what the directory holds once the Composition has replaced the Kustomization, as [loaders.Config] has it.
func (c *Composition) Instead() map[string][]byte {
	return map[string][]byte{c.dest: c.Text, c.from: nil}
}

// Write writes the Composition to a file that does not exist yet: to dest, or beside the kustomization file if dest is empty. With replace
// it removes that one behind it, unless it was changed meanwhile. Should that be interrupted both files are there, and nothing is rendered.
func (c *Composition) Write(dest string, replace bool) error {
	if dest == "" {
		dest = c.dest
	}
	if _, err := os.Lstat(dest); err == nil {
		return diag.Errorf(diag.Pos{}, "", "%s exists", dest).Hint("remove it, or name another file with --output")
	}
	if !replace {
		return output.WriteFileAtomic(dest, c.Text, 0o644)
	}
	now, err := os.ReadFile(c.from)
	if err == nil && string(now) != string(c.old) {
		err = diag.Errorf(diag.Pos{File: c.From}, "", "the file was changed meanwhile: nothing is written")
	}
	if err == nil {
		err = output.WriteFileAtomic(dest, c.Text, 0o644)
	}
	if err != nil {
		return err
	}
	if err := os.Remove(c.from); err != nil {
		return errors.Join(err, os.Remove(dest))
	}
	return nil
}

// configured reports whether a layer says more about what fields of a Kustomization reach than built-ins know by themselves.
func configured(layers []*yaml.Source) bool {
	for _, src := range layers {
		if !isLayer(src.File) {
			continue
		}
		v, err := src.Value()
		if err != nil {
			continue
		}
		for _, field := range v.Fields() {
			switch canonical(field.Key) {
			case "configurations", "crds":
				if !field.Value.IsEmpty() {
					return true
				}
			}
		}
	}
	return false
}

func isLayer(file string) bool {
	for _, name := range layerfile.Names {
		if filepath.Base(file) == name {
			return true
		}
	}
	return false
}
