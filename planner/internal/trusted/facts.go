package trusted

import (
	"slices"

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
		list, _, err := files.ReadChart(dir, ".")
		if err != nil {
			return err
		}
		fn.Mounts = slices.Clone(fn.Mounts)
		if fn.Mounts[i].Source = ""; m.Dest == dir.Real {
			fn.Mounts[i].Dest = ""
		}
		for _, f := range list {
			fn.Tree = append(fn.Tree, function.File{Name: f.Name, Data: f.Data})
		}
	}
	return nil
}
