package trusted

import (
	"path/filepath"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/trust"
)

// shares returns "repository" or "tree" if a rendered repository or directory contains a catalog,
// or a symbolic link on its path, otherwise "". Anyone who can change that directory can change
// the trusted catalogs.
func (c *Catalogs) shares(t *trust.Trusted) (what string) {
	rendered, paths := c.Rendered(), map[string]bool{t.Ref.Location: true}
	loaders.Links(t.Path, paths)
	for path := range paths {
		own := c.repository(filepath.Dir(path))
		for _, dir := range rendered {
			repo := c.repository(dir)
			switch {
			case repo != "" && diag.Within(path, repo), own != "" && diag.Within(dir, own):
				return "repository"
			case diag.Within(path, dir):
				what = "tree"
			}
		}
	}
	return what
}

// repository returns the root of the repository that contains dir, "" if there is none.
func (c *Catalogs) repository(dir string) string {
	if repo, ok := c.repositories[dir]; ok {
		return repo
	}
	repo := ""
	if loaders.IsRepository(dir) {
		repo = dir
	} else if up := filepath.Dir(dir); up != dir {
		repo = c.repository(up)
	}
	c.repositories[dir] = repo
	return repo
}
