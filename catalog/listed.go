package catalog

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/krmflow/krmflow/krm/yaml"
)

// A Listed is an entry of the field catalogs of a layer.
type Listed struct {
	Text string
	Dir  string // absolute, where a relative path starts
	// Source is the file that has the field, and Path the entry.
	Source *yaml.Source
	Path   []any
}

// Key returns what tells the catalog apart from others.
func (c Listed) Key() string {
	ref, err := ParseRef(c.Text)
	if err != nil {
		return c.Text
	}
	ref = ref.In(c.Dir)
	return fmt.Sprint(ref.Scheme, " ", ref.Location, " ", ref.Pin)
}

// From returns the reference of the catalog as a file of the directory dir, an absolute path, can name it.
func (c Listed) From(dir string) string {
	ref, err := ParseRef(c.Text)
	if err != nil || ref.Remote() || filepath.IsAbs(c.Text) || c.Dir == dir {
		return c.Text
	}
	rel, err := filepath.Rel(dir, filepath.Join(c.Dir, c.Text))
	if err != nil {
		return c.Text
	}
	if !strings.HasPrefix(rel, ".") {
		rel = "./" + rel // or else a folder may look like a host
	}
	return rel
}
