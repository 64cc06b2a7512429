package trusted

import (
	"path/filepath"
	"slices"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/trust"
)

// Examine collects the facts for the decision on a request of the layer in dir: digests of programs
// and images, and targets of links. image returns information about an image.
func (c *Catalogs) Examine(dir *loaders.Dir, req *trust.Request, image func(string) trust.Image) {
	needs := c.Policy.Needs(*req)
	c.Files.Uses(dir, slices.Concat(needs.Programs, needs.Mounts)...)
	if needs.Tree {
		c.Files.Uses(dir, dir.Real)
	}
	facts := &req.Facts
	facts.Programs, facts.Fetched = map[string]trust.Program{}, map[string]trust.Fetched{}
	facts.Images, facts.Mounts = map[string]trust.Image{}, map[string]trust.Mount{}
	for i, path := range needs.Programs {
		p, err := c.Files.Program(path, needs.Roots[i])
		facts.Programs[path] = trust.Program{Real: p.Real, Digest: p.Digest, Mode: p.Mode, Err: err}
	}
	for _, address := range needs.Addresses {
		digest, err := c.Files.FetchProgram(address)
		facts.Fetched[address] = trust.Fetched{Digest: digest, Err: err}
	}
	for _, name := range needs.Images {
		facts.Images[name] = image(name)
	}
	for _, path := range slices.Concat(needs.Mounts, needs.Granted) {
		real, err := loaders.Real(path)
		facts.Mounts[path] = trust.Mount{Real: real, Err: err}
	}
}

// Tree prepares a function of the layer in dir, which does not exist on this machine. If the
// function may read the files there, it gets their contents.
func Tree(files *loaders.Local, dir *loaders.Dir, fn *function.Function) error {
	fn.Dir = ""
	for i, m := range fn.Mounts {
		if m.Source != dir.Real {
			continue
		}
		list, err := readTree(files, dir)
		if err != nil {
			return err
		}
		fn.Mounts = slices.Clone(fn.Mounts)
		if fn.Mounts[i].Source = ""; m.Dest == dir.Real {
			fn.Mounts[i].Dest = ""
		}
		fn.Tree = list
	}
	return nil
}

// maxTree and maxTreeFiles limit the files that a function may read in a tree that does not exist
// on this machine. They are in memory, and in a private directory during a call.
const (
	maxTree      = 64 << 20
	maxTreeFiles = 10_000
)

// readTree returns the regular files in and below dir. Like the function itself, it does not follow
// symbolic links.
func readTree(files *loaders.Local, dir *loaders.Dir) (list []function.File, err error) {
	names, err := files.Files(dir)
	if err != nil {
		return nil, err
	}
	room := int64(maxTree)
	for _, name := range names {
		src, err := files.ReadUpTo(room, dir, name)
		if err != nil || len(list) == maxTreeFiles {
			limit := diag.Limitf("a function may read the files below %s, which are more than %d or larger than %s", dir.Name, maxTreeFiles,
				diag.Size(maxTree))
			return nil, limit.Hint("this limit applies only to revisions and fetched trees, where the files must be copied")
		}
		room -= int64(len(src.Data))
		list = append(list, function.File{Name: filepath.ToSlash(name), Data: src.Data})
	}
	return list, nil
}
