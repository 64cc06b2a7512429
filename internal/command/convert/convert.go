// Package convert implements krmflow convert composition, which converts a Kustomization to a
// Composition with the same output. Each field becomes one or more items, in the order in which
// kustomize applies fields. A field without an equivalent item becomes a Kustomization item
// with only this field.
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

// A Composition is the result of converting a Kustomization. It is not yet written to a file.
type Composition struct {
	// Text is the content of the file.
	Text []byte
	// Dest is the path of the new file, and From the path of the kustomization file that it
	// replaces, both as messages print them.
	Dest, From string
	// Notes report fields that were dropped because they have no effect.
	Notes []*diag.Error

	dest, from string // absolute
	old        []byte // content of the kustomization file
}

// Directory converts the Kustomization of a local directory. files reads the files that it
// references. layers are all files of the root; they show whether any layer configures which
// fields of which kinds a field changes. The error joins one error for each field that cannot
// be converted.
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
		return nil, diag.Errorf(diag.Pos{File: src.File}, "", "is already a Composition")
	}
	name := layerfile.CompositionNames[0]
	if _, err := os.Lstat(filepath.Join(in.Real, name)); err == nil {
		return nil, diag.Errorf(diag.Pos{File: filepath.Join(in.Name, name)},
			"", "a file of a different tool has the name of the Composition")
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

// Instead returns file contents for [loaders.Config] in which the Composition has replaced the
// Kustomization.
func (c *Composition) Instead() map[string][]byte {
	return map[string][]byte{c.dest: c.Text, c.from: nil}
}

// Write writes the Composition to a new file: dest or, if dest is empty, a file next to the
// kustomization file. With replace it then removes the kustomization file, unless that was
// modified in the meantime. If the process is interrupted in between, both files exist and
// rendering reports an error.
func (c *Composition) Write(dest string, replace bool) error {
	if dest == "" {
		dest = c.dest
	}
	if _, err := os.Lstat(dest); err == nil {
		return diag.Errorf(diag.Pos{}, "", "%s exists", dest).Hint("remove it, or name a different file with --output")
	}
	if !replace {
		return output.WriteFileAtomic(dest, c.Text, 0o644)
	}
	now, err := os.ReadFile(c.from)
	if err == nil && string(now) != string(c.old) {
		err = diag.Errorf(diag.Pos{File: c.From}, "", "the file was changed in the meantime: nothing was written")
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

// configured reports whether a layer changes the fields that built-ins reach by default, with
// configurations or crds.
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
