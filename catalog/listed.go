package catalog

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/krmflow/krmflow/krm/yaml"
)

// A Listed is an item of the catalogs field of a layer.
type Listed struct {
	Text string
	Dir  string // absolute; base of relative paths
	// Source is the file that contains the field, and Path is the path of the item in it.
	Source *yaml.Source
	Path   []any
}

// Key returns a key that identifies the catalog: equal keys mean the same place and the same
// pin.
func (c Listed) Key() string {
	ref, err := ParseRef(c.Text)
	if err != nil {
		return c.Text
	}
	ref = ref.In(c.Dir)
	return fmt.Sprint(ref.Scheme, " ", ref.Location, " ", ref.Pin)
}

// From returns the reference as it would be written in a file of dir, an absolute path: relative
// paths are rewritten to be relative to dir.
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
		rel = "./" + rel // otherwise a directory may look like a host name
	}
	return rel
}
