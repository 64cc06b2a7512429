package explain

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/output"
	"github.com/krmflow/krmflow/output/manifest"
)

// InOutput returns the root of a file in an output folder, and its resource as a subject for
// [Parse]. text is the path of the file, optionally with :FIELD. ok is false if text does not
// name a file.
func InOutput(text string) (root, subject string, ok bool, err error) {
	for end := len(text); end > 0; end = strings.LastIndex(text[:end], ":") {
		if file := text[:end]; loaders.IsFile(file) {
			root, subject, err = madeOf(file)
			return root, subject + text[end:], true, err
		}
	}
	return "", "", false, nil
}

// madeOf returns the root and the resource of a file in an output folder.
func madeOf(file string) (root, subject string, err error) {
	abs, err := filepath.Abs(file)
	if err != nil {
		return "", "", err
	}
	data, err := loaders.ReadFile(abs, yaml.MaxFile)
	if err != nil {
		return "", "", err
	}
	if root, err = rootOf(filepath.Dir(abs)); err != nil {
		e := *diag.AsError(err)
		e.Pos = diag.Pos{File: file}
		return "", "", e.With(diag.Arguments)
	}
	rs, err := krm.Resources(&yaml.Source{File: file, Data: data}, nil)
	switch {
	case err != nil:
		return "", "", err
	case len(rs) == 1:
		return root, nameOf(rs[0].ID()), nil
	}
	e := diag.Errorf(diag.Pos{File: file}, "", "the file has %s", diag.Count(len(rs), "resource")).With(diag.Arguments)
	if len(rs) > 0 {
		e.Hint("name one, for instance: krmflow explain %s %s", diag.ShellWord(root), diag.ShellWord(nameOf(rs[0].ID())))
	}
	return "", "", e
}

// rootOf returns the directory of the root that was rendered to the output folder dir.
func rootOf(dir string) (string, error) {
	folder := "" // folder of the root: the innermost one with a manifest
	for at := dir; ; at = filepath.Dir(at) {
		text, err := loaders.ReadFile(filepath.Join(at, manifest.Name), manifest.MaxSize)
		if err == nil && folder == "" {
			folder = at
		}
		if err == nil && manifest.IsTop(string(text)) {
			base := output.Base(at)
			rel, err := filepath.Rel(at, folder)
			if base == "" || err != nil {
				return "", noBase()
			}
			root := filepath.Join(base, rel)
			if wd, err := os.Getwd(); err == nil {
				if short, err := filepath.Rel(wd, root); err == nil {
					root = short
				}
			}
			return root, nil
		}
		if up := filepath.Dir(at); up == at {
			if folder != "" {
				return "", noBase()
			}
			return "", nameBoth("the file is in no folder that krmflow wrote")
		}
	}
}

func noBase() error {
	return nameBoth("its output folder does not say which directories it was made of")
}

// nameBoth returns an error with a hint to name the directory and the resource instead of a
// file.
func nameBoth(wrong string) error {
	return diag.Errorf(diag.Pos{}, "", "%s", wrong).Hint("name the directory and the resource: krmflow explain DIR KIND/NAME")
}
