package executors

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/krmflow/krmflow/executors/internal/dirs"
	"github.com/krmflow/krmflow/krm/function"
)

// withTree returns f with its tree as files on this machine, in a private directory that remove
// removes. The directory takes the place of the tree in Dir and Mounts.
func (x *Process) withTree(f function.Function) (g function.Function, remove func(), err error) {
	if f.Tree == nil {
		return f, func() {}, nil
	}
	dir, err := os.MkdirTemp(x.dir, "tree-")
	if err != nil {
		return f, nil, err
	}
	remove = func() { _ = dirs.RemoveAll(dir) }
	root, err := os.OpenRoot(dir)
	if err != nil {
		remove()
		return f, nil, err
	}
	defer root.Close()
	for _, file := range f.Tree {
		name := filepath.FromSlash(file.Name)
		err = errors.Join(root.MkdirAll(filepath.Dir(name), 0o700), root.WriteFile(name, file.Data, 0o400))
		if err != nil {
			remove()
			return f, nil, err
		}
	}
	g = f
	g.Tree, g.Dir, g.Mounts = nil, dir, nil
	for _, m := range f.Mounts {
		if m.Source == "" && m.Type == "bind" {
			if m.Source = dir; m.Dest == "" {
				m.Dest = dir
			}
		}
		g.Mounts = append(g.Mounts, m)
	}
	return g, remove, nil
}
