package catalog

import (
	"cmp"
	"strings"

	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/function"
	"github.com/krmflow/krmflow/krm/yaml"
)

// runtime reads the runtimes of a function into e. It leaves e unchanged if the field is
// missing.
func (r *reader) runtime(c yaml.Cursor, e *Entry) {
	if !c.Exists() {
		return
	}
	kinds := []string{"container", "exec", "starlark"}
	other := function.OtherRuntime(c.Value(), kinds)
	if other != "" {
		kinds = append(kinds, string(other))
	}
	if !c.Known(kinds...) {
		return
	}
	if x := c.Field("container"); x.Exists() {
		e.Container = r.container(x)
	}
	if x := c.Field("exec"); x.Exists() {
		e.Exec = r.exec(x, &e.Programs)
	}
	if other != "" {
		if e.Exec != nil {
			c.Errorf("has programs for exec and for %s; an entry must use one runtime", other)
		}
		e.Exec, e.ExecRuntime = r.exec(c.Field(string(other)), &e.Programs), other
	}
	if x := c.Field("starlark"); x.Exists() {
		e.Starlark = function.ReadStarlark(x)
	}
}

func (r *reader) container(c yaml.Cursor) *Container {
	x := &Container{}
	if !c.Known("image", "images", "sha256", "requireNetwork", "requireStorageMount", "requireFilesystem", "requireWritableStorageMount") {
		return x
	}
	if x.Text = c.Field("image").Required(); x.Text != "" {
		var err error
		if x.Image, err = function.ParseImage(x.Text); err != nil {
			name, digest, pinned := strings.Cut(x.Text, "@")
			image, nameErr := function.ParseImage(name)
			if !pinned || nameErr != nil {
				c.Field("image").Errorf("%v", cmp.Or(nameErr, err))
			}
			_, digestErr := krm.ParseDigest(digest)
			x.Image, x.wrong = image, cmp.Or(digestErr, err) // treated like an invalid pin
		}
	}
	if x.wrong != nil {
		r.unusable(c.Field("image"), x.wrong)
	}
	x.Pin = r.pin(c.Field("sha256"))
	for _, item := range c.Field("images").Items() {
		image, err := function.ParseImage(item.Required())
		if err != nil && item.Text() != "" {
			item.Errorf("%v", err)
		} else if err == nil {
			x.Images = append(x.Images, image)
		}
	}
	x.Network = isTrue(c.Field("requireNetwork").Bool())
	if old := c.Field("requireFilesystem"); old.Exists() {
		r.outdated(old, "requireFilesystem")
	}
	storage := c.Either("requireStorageMount", "requireFilesystem")
	x.Storage = isTrue(storage.Bool())
	if writable := c.Field("requireWritableStorageMount"); isTrue(writable.Bool()) {
		x.WritableStorage = true
		if !x.Storage {
			writable.Errorf("needs requireStorageMount: true")
		}
	}
	return x
}

// pin reads a sha256. YAML parses 64 decimal digits as a number, so numbers are accepted.
func (r *reader) pin(c yaml.Cursor) Pin {
	v := c.Value()
	if !v.Exists() {
		return Pin{}
	}
	p := Pin{Given: true}
	switch v.Type() {
	case yaml.Int, yaml.Float, yaml.Null:
		p.Text = v.Text()
	default:
		p.Text = c.Text()
		if v.Type() != yaml.String {
			return p
		}
	}
	p.Digest, _ = krm.ParseDigest(p.Text)
	if err := p.Err(); err != nil {
		r.unusable(c, err)
	}
	return p
}

// exec reads the programs of an entry in all spellings: platforms in a mapping, a list, or a
// single program. It stores further names of the program in programs.
func (r *reader) exec(c yaml.Cursor, programs *[]string) []Platform {
	list := []Platform{}
	if c.Value().Type() == yaml.Seq {
		r.outdated(c, "exec as a list")
		for _, item := range c.Items() {
			list = append(list, r.platform(item, false))
		}
		r.needsOne(c, list)
		return list
	}
	if c.Value().Type() == yaml.Map && !c.Field("platforms").Value().Exists() && (c.Field("path").Exists() || c.Field("uri").Exists()) {
		return append(list, r.platform(c, false))
	}
	if !c.Known("platforms", "programs") {
		return list
	}
	*programs = c.Field("programs").Strings()
	platforms := c.Field("platforms")
	for _, item := range platforms.Items() {
		list = append(list, r.platform(item, true))
	}
	r.needsOne(platforms, list)
	return list
}

func (r *reader) needsOne(c yaml.Cursor, list []Platform) {
	if len(list) == 0 {
		c.Errorf("must list at least one program")
	}
}

func (r *reader) platform(c yaml.Cursor, full bool) Platform {
	var p Platform
	if !c.Known("bin", "os", "arch", "uri", "path", "sha256") {
		return p
	}
	if location := c.Either("uri", "path"); location.Exists() {
		p.URI = location.Line()
	} else {
		c.Field("uri").Required()
	}
	text := func(key string) string {
		if full {
			return c.Field(key).Required()
		}
		return c.Field(key).Text()
	}
	p.Bin, p.OS, p.Arch = text("bin"), text("os"), text("arch")
	p.Pin = r.pin(c.Field("sha256"))
	if !p.Pin.Given {
		r.lint(c.Field("sha256"), "is missing: without it the program is not run")
	}
	if p.OS != "" && !knownOS(p.OS) {
		r.lint(c.Field("os"), "%q is not linux, darwin or windows: never selected", p.OS)
	}
	if p.Arch != "" && !knownArch(p.Arch) {
		r.lint(c.Field("arch"), "%q is not amd64 or arm64: never selected", p.Arch)
	}
	return p
}

func knownOS(s string) bool   { return s == "linux" || s == "darwin" || s == "windows" }
func knownArch(s string) bool { return s == "amd64" || s == "arm64" }
