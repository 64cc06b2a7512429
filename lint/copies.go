package lint

import (
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
)

// copies reports names that a replacement copied before the object got its final name.
func copies(list *krm.List, warn diag.Warn) {
	for _, r := range list.All() {
		for _, c := range r.NameCopies {
			text := c.Text(r.Value())
			if !strings.Contains(text, c.Name) {
				continue
			}
			for _, i := range list.Named(c.Name) {
				now := list.At(i).ID()
				if now.Kind != c.Kind || now.Name == c.Name || strings.Contains(text, now.Name) {
					continue
				}
				e := diag.Errorf(c.Place(), "", "%s of %s %s has the name %s, but %s %s becomes %s later", c.Field, r.ID().Kind,
					r.ID().Name,
					c.Name, c.Kind, c.Name, now.Name)
				e.Hint(
					"a replacement copies the name that an object has at this step: move the replacement to the kustomization " +
						"that sets the prefix, suffix or hash, or list the field under nameReference")
				warn(diag.EarlierName, "%w", e)
				break
			}
		}
	}
}
