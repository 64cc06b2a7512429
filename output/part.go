package output

import (
	"path"
	"strings"

	"github.com/krmflow/krmflow/output/manifest"
)

// part returns the innermost folder that contains all changes of a commit, or "." for the whole
// output. Exchanging only this folder saves linking the rest of the output.
func (o *Dir) part(next *manifest.Manifest, texts map[string]string) string {
	if o.inside || o.out == nil {
		return "."
	}
	old, new := o.old.Folders(), next.Folders()
	part, first := ".", true
	add := func(dir string) {
		for dir != "." && !(old[dir] && new[dir]) { // adding or removing a folder changes its parent
			dir = path.Dir(dir)
		}
		if first {
			part, first = dir, false
		}
		for part != "." && dir != part && !strings.HasPrefix(dir, part+"/") {
			part = path.Dir(part)
		}
	}
	for root, text := range texts {
		if text != o.old.Text(root) {
			add(root)
		}
	}
	for _, st := range o.roots {
		for dir, files := range st.folders {
			if len(files.added)+len(files.changed) > 0 {
				add(dir)
			}
		}
	}
	for dir, files := range o.old.Files {
		for name := range files {
			if _, stays := next.Files[dir][name]; !stays {
				add(dir)
				break
			}
		}
	}
	for root := range o.old.Roots {
		if !next.Roots[root] {
			add(root)
		}
	}
	return part
}

// isIn reports whether dir is part or is below it.
func isIn(dir, part string) bool {
	return part == "." || dir == part || strings.HasPrefix(dir, part+"/")
}
