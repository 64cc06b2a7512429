package trust

import (
	"cmp"
	"fmt"
	"path/filepath"

	"github.com/krmflow/krmflow/catalog"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/function"
)

// differences returns where the configuration wants something else than the trusted entry of its GVK, or more: none means
// that the entry covers it.
func (x *decider) differences(e *catalog.Entry) []string {
	in := x.r.Inline
	if in.Exec != nil {
		return x.execDifferences(in.Exec, e)
	}
	c := in.Container
	if e.Container == nil {
		return []string{fmt.Sprintf("the configuration names a container, %s, and the entry has none", c.Image)}
	}
	var diffs []string
	if !sameImage(c.Image, e.Container) {
		diffs = append(diffs, fmt.Sprintf("the configuration names image %s, the entry %s", c.Image, entryImage(e.Container)))
	}
	if c.Network != nil && *c.Network && !e.Container.Network {
		diffs = append(diffs, "the configuration asks for network, the entry does not require it")
	}
	writable := false
	for _, m := range c.Mounts {
		writable = writable || m.Writable
	}
	switch {
	case len(c.Mounts) > 0 && !e.Container.Storage:
		diffs = append(diffs, "the configuration asks for mounts, the entry does not require storage")
	case writable && !e.Container.WritableStorage:
		diffs = append(diffs, "the configuration asks for a writable mount, the entry does not require one (requireWritableStorageMount)")
	}
	return append(diffs, envDifference(c.Env)...)
}

// EntryFor returns the first entry of catalogs that covers the function which r.Inline names, whatever the kind of its configuration is: the pipelines of kpt
// name functions by their programs and images alone. It is nil if there is none.
func EntryFor(r Request, catalogs []*catalog.Catalog) *catalog.Entry {
	x := decider{r: r}
	for _, c := range catalogs {
		for _, e := range c.Entries {
			if r.Inline != nil && r.Inline.Starlark == "" && len(x.differences(e)) == 0 {
				return e
			}
		}
	}
	return nil
}

func envDifference(env []string) []string {
	if len(env) == 0 {
		return nil
	}
	return []string{"the configuration asks for environment variables, which no entry can grant"}
}

func entryImage(c *catalog.Container) string {
	if c.Pin.Text != "" && c.Image.Digest.IsZero() {
		return fmt.Sprintf("%s (sha256 %s)", c.Text, c.Pin.Text)
	}
	return c.Text
}

// sameImage reports whether an image is that of an entry: the same repository, and the same digest or, where only a tag is
// given, the same tag, since it is the entry's digest that runs.
func sameImage(text string, c *catalog.Container) bool {
	m, err := function.ParseImage(text)
	if err != nil || !m.SameRepository(c.Image) {
		return false
	}
	if m.Digest.IsZero() {
		return m.Tag == c.Image.Tag
	}
	want, err := c.Digest()
	return err == nil && want == m.Digest
}

func (x *decider) execDifferences(in *function.InlineExec, e *catalog.Entry) []string {
	sel, err := e.Select(x.r.OS, x.r.Arch, function.RuntimeExec)
	if err != nil || sel.Runtime != cmp.Or(in.Runtime, function.RuntimeExec) {
		return []string{fmt.Sprintf("the configuration names a program, %s, and the entry has none for this platform", diag.Redact(in.Path))}
	}
	var diffs []string
	if uri := sel.Platform.URI; !x.sameProgram(in.Path, e, uri) {
		diffs = append(diffs, x.twoPrograms(in.Path, e, uri))
	}
	if len(in.Args) > 0 && !e.AllowArgs {
		diffs = append(diffs, "the configuration gives arguments, the entry does not allow any (allowArgs)")
	}
	return append(diffs, envDifference(in.Env)...)
}

// twoPrograms says that the configuration and the entry name different programs. Paths that read the same start in different
// places, and are shown from there.
func (x *decider) twoPrograms(path string, e *catalog.Entry, uri string) string {
	if filepath.Clean(path) == filepath.Clean(uri) && !e.Catalog.Ref.Remote() {
		path, uri = filepath.Join(x.r.Name, path), filepath.Join(filepath.Dir(e.Catalog.Ref.Show()), uri)
	}
	return fmt.Sprintf("the configuration names program %s, the entry %s", diag.Redact(path), diag.Redact(uri))
}

// sameProgram reports whether a path of the configuration and the entry's lead to one file.
func (x *decider) sameProgram(path string, e *catalog.Entry, uri string) bool {
	if catalog.IsAddress(uri) || e.Catalog.Ref.Remote() {
		return false
	}
	a, b := joinBelow(x.r.Dir, path), joinBelow(e.Catalog.Ref.Dir(), uri)
	if a == "" || b == "" {
		return false
	}
	if a == b {
		return true
	}
	pa, pb := x.r.Facts.Programs[a], x.r.Facts.Programs[b]
	return pa.Err == nil && pb.Err == nil && pa.Real != "" && pa.Real == pb.Real
}

// explain adds which entry the differences are about.
func (x *decider) explain(e *catalog.Entry, diffs []string) []string {
	return append(diffs, e.String())
}
