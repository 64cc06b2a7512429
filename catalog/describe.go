package catalog

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
)

// Describe returns a description for a user who decides whether to trust the catalog. It
// contains the name and labels and, for each function, its program or image, the digest it is
// verified against, its capabilities and its publisher (VW-02, VW-04). Text written by the
// author is escaped to a single line.
func (c *Catalog) Describe() string {
	var b strings.Builder
	if c.Name != "" {
		fmt.Fprintf(&b, "name     %s\n", diag.OneLine(c.Name))
	}
	for _, key := range slices.Sorted(maps.Keys(c.Labels)) {
		fmt.Fprintf(&b, "label    %s=%s\n", diag.OneLine(key), diag.OneLine(c.Labels[key]))
	}
	for _, name := range []string{SerialAnnotation, ExpiresAnnotation} {
		if text := c.Annotations[name]; text != "" {
			fmt.Fprintf(&b, "%s %s\n", name, diag.OneLine(text))
		}
	}
	for _, e := range c.Entries {
		e.describe(&b)
	}
	return b.String()
}

func (e *Entry) describe(b *strings.Builder) {
	fmt.Fprintf(b, "%s\n", e.GVK)
	line := func(name, text string) {
		if text != "" {
			fmt.Fprintf(b, "  %-12s %s\n", name, diag.OneLine(strings.TrimSpace(text)))
		}
	}
	if c := e.Container; c != nil {
		line("image", c.Text+"  "+verified(c.Digest()))
		line("granted", c.granted())
	}
	for _, p := range e.Exec {
		line("program", p.describe())
	}
	line("requires", e.Requires.String())
	if e.Starlark != "" {
		line("starlark", e.Starlark+"  not supported")
	}
	for _, f := range []struct{ name, text string }{
		{"description", e.Description}, {"publisher", e.Publisher}, {"maintainers", strings.Join(e.Maintainers, ", ")},
		{"home", e.Home}, {"license", e.License}, {"usage", e.Usage}, {"examples", strings.Join(e.Examples, ", ")},
		{"tags", strings.Join(e.Tags, ", ")}, {"schema", e.SchemaURI}, {"definition", e.Definition},
	} {
		line(f.name, f.text)
	}
}

// granted returns the capabilities of the container, or "nothing".
func (c *Container) granted() string {
	var list []string
	if c.Network {
		list = append(list, "network")
	}
	switch {
	case c.WritableStorage:
		list = append(list, "storage to read and write")
	case c.Storage:
		list = append(list, "storage to read")
	}
	return cmp.Or(strings.Join(list, ", "), "nothing")
}

func (p Platform) describe() string {
	text := p.URI
	if p.Bin != "" {
		text += "  " + p.Bin
	}
	return fmt.Sprintf("%s  %s/%s  %s", text, cmp.Or(p.OS, "any"), cmp.Or(p.Arch, "any"), verified(p.Pin.Digest, p.Pin.Err()))
}

// verified returns the required digest, UNVERIFIED if none is given, or the reason why it is
// invalid.
func verified(d krm.Digest, err error) string {
	switch {
	case err != nil:
		return "NOT VALID: " + err.Error()
	case d.IsZero():
		return "UNVERIFIED"
	}
	return d.String()
}
