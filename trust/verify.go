package trust

import (
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/catalog"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
)

// Needs lists the facts that [Policy.Decide] requires to allow a function.
type Needs struct {
	// Programs lists absolute paths. They may contain symbolic links, but must not leave the
	// directory at the same index of Roots.
	Programs, Roots []string
	// Images lists image references without a digest. A digest identifies an image completely, so
	// references with one need no lookup.
	Images []string
	Mounts []string // absolute source paths of bind mounts
	// Granted lists absolute paths that the user grants by a variable. They may hold keys: only the
	// function reads them.
	Granted []string
	// Tree is true for a function that may read the files below the directory of its configuration.
	Tree bool
	// Addresses lists the addresses of programs without a digest. They must be fetched to be
	// identified.
	Addresses []string
}

// Needs returns the facts required to decide r. It ignores r.Facts. It omits facts about
// programs and images that cannot run in any case; if the function is denied anyway, the facts
// serve only for messages.
func (p Policy) Needs(r Request) (n Needs) {
	if r.Conflict != nil {
		return n
	}
	x := decider{Policy: p, r: r}
	program := func(root, path string) {
		if path = joinBelow(root, path); path != "" && !slices.Contains(n.Programs, path) {
			n.Programs, n.Roots = append(n.Programs, path), append(n.Roots, root)
		}
	}
	if in := r.Inline; in != nil && in.Exec != nil {
		program(r.Dir, in.Exec.Path)
	} else if in != nil && in.Container != nil {
		if p.AllowUncatalogued {
			n.image(in.Container.Image)
		}
		for _, m := range in.Container.Mounts {
			if path := mountSource(r.Dir, m.Source); m.Type == "bind" && path != "" {
				n.Mounts = append(n.Mounts, path)
			}
		}
	}
	e := x.search()
	if e == nil {
		return n
	}
	n.Granted = x.grantedFiles(e)
	if e.Requires.Has(catalog.RequireTree) && x.granted(e, catalog.RequireTree) != "" {
		n.Tree = true
	}
	if e.Container != nil {
		if want, err := e.Container.Digest(); err == nil && want.IsZero() {
			n.image(e.Container.Text)
		}
	}
	sel, err := e.Select(r.OS, r.Arch, function.RuntimeExec)
	if err != nil || sel.Runtime == function.RuntimeContainer {
		return n
	}
	if dir := e.Catalog.Ref.Dir(); catalog.IsAddress(sel.Platform.URI) {
		n.address(p, e, sel.Platform)
	} else if path := x.installed(e, sel.Platform); path != "" {
		n.Programs, n.Roots = append(n.Programs, path), append(n.Roots, filepath.Dir(path))
	} else if dir != "" {
		program(dir, sel.Platform.URI)
	}
	return n
}

// installed returns the absolute path of a program in the catalog of the user's installed
// programs, "" for other programs.
func (x *decider) installed(e *catalog.Entry, p catalog.Platform) string {
	if t := x.trusted(e); t != nil && t.Own && filepath.IsAbs(p.URI) && filepath.Clean(p.URI) == p.URI {
		return p.URI
	}
	return ""
}

// image adds an image unless its reference has a digest. With a digest the tag is ignored and no
// lookup is needed.
func (n *Needs) image(text string) {
	if m, err := function.ParseImage(text); err == nil && m.Digest.IsZero() && !slices.Contains(n.Images, text) {
		n.Images = append(n.Images, text)
	}
}

func withoutDigest(image string) string {
	name, _, _ := strings.Cut(image, "@")
	return name
}

// joinBelow returns the absolute path of a relative path, or "" if path is absolute or leaves
// root.
func joinBelow(root, path string) string {
	if path == "" || filepath.IsAbs(path) || strings.ContainsRune(path, 0) {
		return ""
	}
	full := filepath.Join(root, path)
	if !below(full, root) {
		return ""
	}
	return full
}

// below reports whether path is inside dir.
func below(path, dir string) bool {
	return path != dir && diag.Within(path, dir) && filepath.Clean(path) == path
}

// found returns the examined program at path, which must be inside root. It denies the function
// and returns false if the program cannot be used. With data the file is not a program itself,
// and need not be executable.
func (x *decider) found(root, path string, data bool) (Program, bool) {
	shown := diag.Redact(path)
	switch {
	case filepath.IsAbs(path):
		x.deny(Untrusted, nil, "the program %s has an absolute path; programs are files below %s", shown, root).With(diag.BadProgram)
		return Program{}, false
	case strings.HasSuffix(path, ".so"):
		x.deny(Invalid, nil, "%s is a Go plugin: Go plugins are not supported",
			shown).With(diag.Unsupported).Hint("write the function as a program or a container")
		return Program{}, false
	}
	full := joinBelow(root, path)
	if full == "" {
		x.deny(Untrusted, nil, "the program %s is outside %s",
			shown, root).With(diag.BadProgram).Hint("no --load-restrictor setting allows this")
		return Program{}, false
	}
	p, ok := x.r.Facts.Programs[full]
	switch {
	case !ok:
		x.deny(Mismatch, nil, "the program %s was not examined", shown)
	case p.Err != nil:
		err := x.deny(Invalid, nil, "the program %s cannot be used: %v", shown, p.Err).With(diag.BadProgram)
		if says, ok := p.Err.(interface{ Hints() []string }); ok && !errors.Is(p.Err, fs.ErrNotExist) {
			err.Hints = append(err.Hints, says.Hints()...)
		}
		if errors.Is(p.Err, fs.ErrNotExist) && !strings.Contains(path, "/") {
			err.Hint("PATH is not searched: %s is a path in %s", shown, root)
			if x.r.Inline != nil && root == x.r.Dir {
				err.Hint("to run the installed program: krmflow catalog add-program %s/%s --path \"$(command -v %s)\"",
					x.r.ID.APIVersion(), x.r.ID.Kind, shown)
			}
		}
	case !below(p.Real, root):
		x.deny(Untrusted, nil, "the program %s leads to %s, which is outside %s", shown, p.Real, root).With(diag.BadProgram)
	case p.Digest.IsZero():
		x.deny(Mismatch, nil, "the program %s was not hashed", shown)
	// Programs of other runtimes may be data.
	case !data && x.fn.Runtime == function.RuntimeExec && p.Mode != 0 && p.Mode&0o111 == 0:
		x.deny(Invalid, nil, "the program %s cannot be used: %s is not executable (mode %04o)", shown, p.Real,
			p.Mode.Perm()).With(diag.BadProgram).Hint("make it executable with chmod +x")
	default:
		return p, true
	}
	return p, false
}

// program verifies the program of an entry.
func (x *decider) program(e *catalog.Entry, p catalog.Platform) {
	x.d.Source = diag.Redact(p.URI)
	dir := e.Catalog.Ref.Dir()
	switch {
	case catalog.IsAddress(p.URI):
		x.remoteProgram(e, p)
		return
	case dir == "":
		x.deny(Untrusted, nil, "%s cannot name a path on this machine: %s", e, x.d.Source).With(diag.GrantDenied)
		return
	}
	archive := isArchive(p.URI)
	member, named := x.member(e, p, archive)
	if !named {
		return
	}
	name := p.URI
	installed := x.installed(e, p)
	if installed != "" {
		dir, name = filepath.Split(installed)
		dir = filepath.Clean(dir)
	}
	found, ok := x.found(dir, name, archive)
	x.d.Digest = found.Digest
	if pin := p.Pin.Err(); pin != nil {
		x.deny(Mismatch, nil, "%s cannot be verified: sha256: %v", e, pin).With(diag.BadCatalog)
		return
	}
	if !ok {
		return
	}
	x.fn.Program, x.fn.Root, x.fn.Digest, x.fn.Bin = found.Real, dir, found.Digest, binName(p.Bin)
	x.arguments(e)
	if archive {
		x.fn.Program, x.fn.Archive = member, found.Real
	}
	dev := x.developed(e, found)
	switch {
	case !p.Pin.Given && dev != nil:
		x.inDevelopment(e, dev, "no digest is written yet")
	case !p.Pin.Given:
		x.unverified(e, found.Digest)
	// The pin may be the digest of the file in the archive; only unpacking tells.
	case archive:
		x.d.Digest, x.fn.Digest = p.Pin.Digest, p.Pin.Digest
	case p.Pin.Digest != found.Digest && dev != nil:
		x.inDevelopment(e, dev, "digest changed since it was written")
	case p.Pin.Digest != found.Digest:
		x.mismatch(e, x.d.Source, p.Pin.Digest, found.Digest)
		if err := x.d.Denials[len(x.d.Denials)-1].Err; installed != "" {
			err.Hints[len(err.Hints)-1] = "if you have updated it, accept the new program: krmflow catalog add-program " +
				diag.ShellWord(fullKey(e.GVK)) + " --path " + diag.ShellWord(installed)
		}
	}
}

// developed returns the directory that makes a program of an entry one under development, nil for
// none. The program must be in it after symbolic links are resolved.
func (x *decider) developed(e *catalog.Entry, found Program) *Developed {
	t := x.trusted(e)
	if t == nil || x.Strict || !t.Ref.Absolute() || !t.Ref.Pin.IsZero() || !krm.Digest(t.LayerPin).IsZero() || t.Signed != "" {
		return nil
	}
	for i, d := range x.Dev {
		if below(found.Real, d.Dir) {
			return &x.Dev[i]
		}
	}
	return nil
}

// inDevelopment lets a program under development run. Its current digest is the digest of the
// decision, so that exactly the examined program runs.
func (x *decider) inDevelopment(e *catalog.Entry, d *Developed, what string) {
	x.fn.Unverified = true
	x.warn(diag.InDevelopment, "%s: %s (%s): UNVERIFIED, it runs because of %s", x.d.Source, what, e, FlagDev+" "+d.Name)
	x.d.Warnings[len(x.d.Warnings)-1].Hint("to write the digest: krmflow catalog digest --write %s", diag.ShellWord(e.Catalog.Ref.Show()))
}

// member returns the path inside the archive that an entry names, and false if it is invalid. A
// program that is not in an archive needs none.
func (x *decider) member(e *catalog.Entry, p catalog.Platform, archive bool) (string, bool) {
	member := path.Clean(strings.ReplaceAll(p.Bin, `\`, "/"))
	switch {
	case archive && p.Bin == "":
		x.deny(Invalid, nil, "the program %s of %s is in an archive, but bin does not name its file", x.d.Source, e).With(diag.BadCatalog)
		return "", false
	case archive && (!fs.ValidPath(member) || member == "."):
		x.deny(Invalid, nil, "bin %q of %s is not a path in an archive", p.Bin, e).With(diag.BadCatalog)
		return "", false
	}
	return member, true
}

// arguments passes the arguments of the configuration to the program of an entry.
func (x *decider) arguments(e *catalog.Entry) {
	if in := x.r.Inline; in != nil && in.Exec != nil && len(in.Exec.Args) > 0 {
		x.fn.Args = in.Exec.Args
		x.grant("catalog "+e.Catalog.Ref.Show(), "arguments")
	}
}

// binName returns the file name from the bin field of an entry, for a program that is a single
// file. It returns "" if bin is not a file name.
func binName(bin string) string {
	name := path.Base(filepath.ToSlash(bin))
	if name == "." || name == ".." || name == "/" || strings.ContainsRune(name, 0) {
		return ""
	}
	return name
}

func isArchive(uri string) bool {
	for _, end := range []string{".tar", ".tar.gz", ".tar.xz", ".tar.zst", ".tgz", ".txz", ".tzst", ".zip"} {
		if strings.HasSuffix(uri, end) {
			return true
		}
	}
	return false
}

// unverified decides on an entry without a digest. It returns the denial, or nil if the entry
// may run.
func (x *decider) unverified(e *catalog.Entry, got krm.Digest) *diag.Error {
	if !x.AllowUnverified {
		err := x.deny(Untrusted, []string{FlagUnverified}, "%s has no digest, so nothing can be verified", e).With(diag.NoDigest)
		if !got.IsZero() {
			better := "if you trust this content, add its digest to the catalog: sha256: " + strings.TrimPrefix(got.String(), "sha256:")
			err.Hints = slices.Insert(err.Hints, 0, better)
		}
		return err
	}
	x.fn.Unverified = true
	x.warn(diag.NoDigest, "%s has no digest: UNVERIFIED, it runs because of %s", e, FlagUnverified)
	return nil
}

// mismatch denies a program whose digest differs from the catalog.
func (x *decider) mismatch(e *catalog.Entry, what string, want, got krm.Digest) {
	err := x.deny(Mismatch, nil, "SECURITY ERROR: %s does NOT match the trusted catalog (%s)", what, e).With(diag.DigestMismatch)
	err.Hint("want %s", want).Hint("got  %s", got).Hint("nothing was executed").
		Hint("it was changed after the catalog was written: find out who changed it before you update the digest")
}

// image verifies the image of an entry.
func (x *decider) image(e *catalog.Entry) {
	c := e.Container
	name := withoutDigest(c.Text)
	x.container(name)
	want, err := c.Digest()
	if err != nil {
		x.deny(Mismatch, nil, "%s cannot be verified: image %s: %v", e, c.Text, err).With(diag.BadCatalog)
		return
	}
	if want.IsZero() {
		seen := x.r.Facts.Images[c.Text]
		if len(seen.Digests) > 0 {
			want = seen.Digests[0]
		}
		add := want
		if seen.Err != nil {
			add = krm.Digest{} // the digest is valid only here, but a catalog is used on other machines also
		}
		if err := x.unverified(e, add); err != nil && seen.Err != nil {
			err.Hint("%v", seen.Err)
		}
	}
	x.d.Digest, x.fn.Digest = want, want
}

// inlineProgram takes the program named by the configuration, with the digest found by the plan.
func (x *decider) inlineProgram() {
	in := x.r.Inline.Exec
	x.d.Source = diag.Redact(in.Path)
	found, ok := x.found(x.r.Dir, in.Path, false)
	if !ok {
		return
	}
	x.d.Digest = found.Digest
	x.fn.Program, x.fn.Root, x.fn.Digest, x.fn.Args = found.Real, x.r.Dir, found.Digest, in.Args
}

// inlineImage takes the image named by the configuration.
func (x *decider) inlineImage() {
	text := x.r.Inline.Container.Image
	m, err := function.ParseImage(text)
	name := withoutDigest(text)
	x.container(name)
	if err != nil {
		x.deny(Invalid, nil, "%v", err)
		return
	}
	seen := x.r.Facts.Images[name]
	digest := m.Digest
	if digest.IsZero() && len(seen.Digests) > 0 {
		digest, x.d.Unpublished = seen.Digests[0], seen.Err
	}
	x.d.Digest, x.fn.Digest = digest, digest
	switch {
	case digest.IsZero() && !x.AllowUncatalogued: // its digest was not requested
		x.d.Denials[len(x.d.Denials)-1].Err.Hint("name the image with its digest: %s@sha256:...", name)
	case digest.IsZero() && !x.AllowUnverified:
		err := x.deny(Untrusted, []string{FlagUnverified}, "the digest of image %s is not known", text).With(diag.NoDigest)
		if seen.Err != nil {
			err.Hint("%v", seen.Err)
		}
		err.Hint("or better, name the image with its digest: %s@sha256:...", name)
	case digest.IsZero():
		x.fn.Unverified = true
		x.warn(diag.NoDigest, "the digest of image %s is not known: UNVERIFIED, it runs because of %s", text, FlagUnverified)
	}
}
