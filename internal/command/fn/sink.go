package fn

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/cli/options"
	"github.com/krmflow/krmflow/internal/command/fn/resourcelist"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/secret"
	"github.com/krmflow/krmflow/output"
	"github.com/spf13/cobra"
	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/kio/kioutil"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

func sinkCommand(a *cli.Invocation) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "sink DIR",
		Short: "Write a ResourceList to the files of a directory",
		Long: `Read a ResourceList from stdin and write its items to the files that their annotations name, below the directory. An item without a path goes to
NAME_KIND.yaml. The annotations are not written. The directory must not exist or must be empty, and appears atomically. With --force, the directory may
have other files: each file changes atomically, and files that no item names stay.`,
		Example: "  krmflow fn source app | ./my-function | krmflow fn sink out\n  krmflow fn source app | ./my-function | krmflow fn sink app --force",
		Args:    options.Exactly(1, "the directory to write"),
		RunE: func(_ *cobra.Command, args []string) error {
			data, err := io.ReadAll(io.LimitReader(a.Stdin, resourcelist.MaxSize+1))
			if err != nil {
				return err
			}
			if len(data) > resourcelist.MaxSize {
				return diag.Limitf("stdin has more than %s", diag.Size(resourcelist.MaxSize))
			}
			list, err := resourcelist.Read("stdin", data)
			if err != nil {
				return err
			}
			if list.APIVersion == "" && len(list.Items) == 0 {
				return diag.BadList.Errorf("stdin has no ResourceList")
			}
			files, err := filesOf(list.Items)
			if err != nil {
				return err
			}
			if force {
				return writeInto(args[0], files)
			}
			if err := writeNew(args[0], files); diag.CodeOf(err) == diag.OutputRefused {
				return diag.AsError(err).Hint("to write into it, add --force")
			} else {
				return err
			}
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "write into a directory that is not empty")
	return cmd
}

// A file is a file to write: a slash-separated path below the directory, its content and its
// mode.
type file struct {
	path string
	data []byte
	mode fs.FileMode
}

// textOf returns documents as the text of a file, without the annotations for their location. A
// single document in a .json file is written as JSON. [kio.ByteWriter] would also do that,
// based on the path annotation, but it rounds large numbers. Removing the annotations first
// prevents it.
func textOf(path string, docs []*yaml.RNode) ([]byte, error) {
	for _, n := range docs {
		for _, a := range []string{kioutil.PathAnnotation, function.LegacyPathAnnotation} {
			if err := n.PipeE(yaml.ClearAnnotation(a)); err != nil {
				return nil, err
			}
		}
	}
	var b bytes.Buffer
	if err := (kio.ByteWriter{Writer: &b}).Write(docs); err != nil {
		return nil, err
	}
	if len(docs) == 1 && strings.EqualFold(filepath.Ext(path), ".json") {
		return resourcelist.JSON(path, b.Bytes())
	}
	return b.Bytes(), nil
}

// filesOf groups items into files.
func filesOf(items []*yaml.RNode) (files []file, err error) {
	type placed struct {
		index int
		node  *yaml.RNode
	}
	in := map[string][]placed{}
	for _, n := range items {
		path, index, err := resourcelist.Place(n)
		if err != nil {
			return nil, err
		}
		if path == "" {
			path, index = resourcelist.FileName("%n_%k.yaml", n), len(items)
		}
		path = filepath.ToSlash(filepath.Clean(filepath.FromSlash(path)))
		if path == "." {
			return nil, diag.OutsideDirectory.Errorf("the file . of %s is a directory",
				diag.OneLine(resourcelist.Text(n, "metadata", "name")))
		}
		if strings.HasPrefix(path, ".") || strings.Contains(path, "/.") {
			return nil, diag.Misplaced.Errorf("the file %s of %s is hidden: fn source does not read hidden files", diag.OneLine(path),
				diag.OneLine(resourcelist.Text(n, "metadata", "name")))
		}
		in[path] = append(in[path], placed{index, n})
	}
	for path, list := range in {
		for up := filepath.Dir(path); up != "."; up = filepath.Dir(up) {
			if in[filepath.ToSlash(up)] != nil {
				return nil, diag.Misplaced.Errorf("%s would be both a file and the folder of %s", diag.OneLine(filepath.ToSlash(up)),
					diag.OneLine(path))
			}
		}
		slices.SortStableFunc(list, func(a, b placed) int { return cmp.Compare(a.index, b.index) })
		docs := make([]*yaml.RNode, len(list))
		for i, p := range list {
			docs[i] = p.node
		}
		text, err := textOf(path, docs)
		if err != nil {
			return nil, diag.Errorf(diag.Pos{File: path}, "", "%w", err)
		}
		files = append(files, file{path, text, secret.Perm(secret.InText(string(text)))})
	}
	slices.SortFunc(files, func(a, b file) int { return cmp.Compare(a.path, b.path) })
	return files, nil
}

// writeNew writes a directory that is missing or empty, in one step.
func writeNew(dir string, files []file) (err error) {
	dir = filepath.Clean(dir)
	said := dir
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real // keep a link
	}
	if found, err := os.ReadDir(dir); err == nil && len(found) > 0 {
		return diag.Errorf(diag.Pos{}, "", "%s is not empty", said).With(diag.OutputRefused)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return diag.OutputRefused.Errorf("%w", err)
	}
	if dir == "." {
		return diag.Errorf(diag.Pos{}, "", "the current directory cannot be replaced in one step").With(diag.OutputRefused)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o777); err != nil {
		return err
	}
	staged, err := os.MkdirTemp(filepath.Dir(dir), "."+filepath.Base(dir)+"-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(staged)
	next := filepath.Join(staged, "new")
	if err := os.Mkdir(next, 0o777); err != nil {
		return err
	}
	if err := write(next, files); err != nil {
		return err
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(next, dir)
}

// writeInto writes files into an existing directory. It does not follow links out of it.
func writeInto(dir string, files []file) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	return write(dir, files)
}

func write(dir string, files []file) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, f := range files {
		if folder := filepath.Dir(filepath.FromSlash(f.path)); folder != "." {
			if err := root.MkdirAll(folder, 0o777); err != nil {
				return diag.OutsideDirectory.Errorf("%w", err)
			}
		}
		path := filepath.Join(dir, filepath.FromSlash(f.path))
		if err := inside(dir, filepath.Dir(path)); err != nil {
			return err
		}
		if err := output.WriteFileAtomic(path, f.data, f.mode); err != nil {
			return err
		}
	}
	return nil
}

// inside returns an error if links lead from folder out of dir.
func inside(dir, folder string) error {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	got, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return err
	}
	if rel, err := filepath.Rel(real, got); err != nil || rel != "." && !filepath.IsLocal(rel) {
		return diag.OutsideDirectory.Errorf("%s is a link that leads out of %s", folder, dir)
	}
	return nil
}
