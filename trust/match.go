package trust

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/krmflow/krmflow/catalog"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
)

// differences returns the points in which the configuration differs from the trusted entry of
// its GVK or requests more. If there are none, the entry covers the configuration.
func (x *decider) differences(e *catalog.Entry) []string {
	in := x.r.Inline
	if in.Exec != nil {
		return x.execDifferences(in.Exec, e)
	}
	c := in.Container
	if e.Container == nil {
		return []string{fmt.Sprintf("the configuration names the container %s, but the entry has none", c.Image)}
	}
	var diffs []string
	if !namesImage(c.Image, e.Container) {
		diffs = append(diffs, fmt.Sprintf("the configuration names image %s, the entry %s", c.Image, entryImage(e.Container)))
	}
	if c.Network != nil && *c.Network && !e.Container.Network {
		diffs = append(diffs, "the configuration asks for network, but the entry does not require it")
	}
	writable := false
	for _, m := range c.Mounts {
		writable = writable || m.Writable
	}
	switch {
	case len(c.Mounts) > 0 && !e.Container.Storage:
		diffs = append(diffs, "the configuration asks for mounts, but the entry does not require storage")
	case writable && !e.Container.WritableStorage:
		diffs = append(diffs,
			"the configuration asks for a writable mount, but the entry does not require one (requireWritableStorageMount)")
	}
	return append(diffs, envDifference(c.Env)...)
}

// ByProgram changes the kind in r to that of the first entry that covers the program or image of
// the configuration, if always is set: kpt pipelines identify functions only by program or image.
// Otherwise it does so only for a ConfigMap that names an image, which is the configuration of many
// functions. It reports whether it has found an entry.
func ByProgram(r *Request, always bool) bool {
	if !always && (r.ID.GVK != krm.GVK{Version: "v1", Kind: "ConfigMap"} || r.Inline == nil || r.Inline.Container == nil) {
		return false
	}
	entry := EntryFor(*r, Readable(r.Catalogs))
	if entry != nil {
		r.ID.GVK = entry.GVK
	}
	return always || entry != nil
}

// EntryFor returns the first entry of catalogs that covers the function in r.Inline, or nil,
// whatever the kind of the configuration.
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

// namesImage reports whether an image is the image of an entry, or one of its further references.
// A digest must be that of the entry.
func namesImage(text string, c *catalog.Container) bool {
	if sameImage(text, c) {
		return true
	}
	m, err := function.ParseImage(text)
	return err == nil && slices.Contains(c.Images, m)
}

// sameImage reports whether an image matches the image of an entry: the repository and the
// digest must be equal. If only a tag is given, the tags must be equal; the entry's digest
// determines the image that runs.
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
		return []string{fmt.Sprintf("the configuration names the program %s, but the entry has none for this platform",
			diag.Redact(in.Path))}
	}
	var diffs []string
	if uri := sel.Platform.URI; !slices.Contains(e.Programs, in.Path) && !x.sameProgram(in.Path, e, uri) {
		diffs = append(diffs, x.twoPrograms(in.Path, e, uri))
	}
	if len(in.Args) > 0 && !e.AllowArgs {
		diffs = append(diffs, "the configuration passes arguments, but the entry does not allow them (allowArgs)")
	}
	return append(diffs, envDifference(in.Env)...)
}

// twoPrograms returns the message that the configuration and the entry name different programs.
// If their relative paths are equal, it shows them with their base directories.
func (x *decider) twoPrograms(path string, e *catalog.Entry, uri string) string {
	if filepath.Clean(path) == filepath.Clean(uri) && !e.Catalog.Ref.Remote() {
		path, uri = filepath.Join(x.r.Name, path), filepath.Join(filepath.Dir(e.Catalog.Ref.Show()), uri)
	}
	return fmt.Sprintf("the configuration names program %s, the entry %s", diag.Redact(path), diag.Redact(uri))
}

// sameProgram reports whether path in the configuration and uri in the entry refer to the same
// file.
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

// explain appends the entry to its differences.
func (x *decider) explain(e *catalog.Entry, diffs []string) []string {
	return append(diffs, e.String())
}
