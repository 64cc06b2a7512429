package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/catalog"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/edit/inplace"
	"github.com/krmflow/krmflow/internal/cli"
	"github.com/krmflow/krmflow/internal/cli/options"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
	"github.com/krmflow/krmflow/loaders/remote"
	"github.com/krmflow/krmflow/output"
	"github.com/spf13/cobra"
)

// digestCommand returns the command that computes the digests of a catalog's programs.
func digestCommand(a *cli.Invocation) *cobra.Command {
	var write bool
	cmd := &cobra.Command{
		Use:   "digest [FILE]",
		Short: "Print or write the digests of local programs of a catalog",
		Long: `Print the SHA-256 of each program that the catalog names by a path, in the format of sha256sum. --write also writes them to the catalog and keeps
comments and all other lines. Programs and images at an address are skipped. Nothing is fetched and nothing is executed. FILE is a catalog, or the
directory of a catalog.yaml, by default the working directory.

If a program is missing, nothing is written.`,
		Example: "  krmflow catalog digest hello\n  krmflow catalog digest --write hello/catalog.yaml",
		Args:    options.AtMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			file := "."
			if len(args) > 0 {
				file = args[0]
			}
			if info, err := os.Stat(file); err == nil && info.IsDir() {
				file = filepath.Join(file, "catalog.yaml")
			}
			return digestPrograms(cmd.Context(), a, file, write)
		},
	}
	cmd.Flags().BoolVar(&write, "write", false, "write the digests into the catalog")
	return cmd
}

func digestPrograms(ctx context.Context, a *cli.Invocation, file string, write bool) error {
	ref, err := options.ParseRef("catalog", file)
	switch {
	case err != nil:
		return err
	case ref.Remote() || !ref.Pin.IsZero():
		return options.UsageError(errors.New("digests can only be computed for a local catalog file"))
	}
	real, err := loaders.Real(file)
	if err != nil {
		return diag.NoSuchFile.Errorf("%s: %w", diag.OneLine(file), cmp.Or(errors.Unwrap(err), err))
	}
	var d *digests
	edit := func(old []byte) (_ []byte, err error) {
		if _, err := catalog.Parse(&yaml.Source{File: file, Data: old}, ref); err != nil {
			return nil, err
		}
		doc, err := inplace.ParseObject(file, old)
		if err != nil {
			return nil, err
		}
		d = &digests{ctx: ctx, dir: filepath.Dir(real), shown: filepath.Dir(file), of: map[string]string{}}
		if dir, err := loaders.Real(d.shown); err != nil || dir != d.dir {
			d.shown = d.dir // the file is a symbolic link; programs are beside its target
		}
		value := d.catalog(doc.Value())
		if len(d.errs) > 0 {
			return nil, errors.Join(d.errs...)
		}
		next, err := doc.With(value)
		if err != nil {
			return nil, err
		}
		return next.Text(), nil
	}
	if write {
		if err = output.CheckFile(real); err == nil {
			err = output.EditFile(real, 0o666, edit)
		}
	} else {
		var old []byte
		if old, err = loaders.ReadFile(real, yaml.MaxFile); err == nil {
			_, err = edit(old)
		}
	}
	if err != nil {
		return err
	}
	return a.Print(diag.Sanitise(d.report(file, write)))
}

// digests computes the digests of the programs of one catalog.
type digests struct {
	ctx        context.Context
	dir, shown string            // directory of the catalog, and its form in messages
	of         map[string]string // hexadecimal, by path
	paths      []string          // in the order of the catalog
	changed    int               // entries with a different digest or none
	entries    int
	errs       []error
}

// catalog returns a catalog with the digests of its local programs. It finds them in all spellings
// that package catalog accepts.
func (d *digests) catalog(v yaml.Value) yaml.Value {
	return in(v, "spec", func(spec yaml.Value) yaml.Value {
		return in(spec, "krmFunctions", func(list yaml.Value) yaml.Value {
			return items(list, func(f yaml.Value) yaml.Value {
				return in(d.runtimes(f), "versions", func(list yaml.Value) yaml.Value { return items(list, d.runtimes) })
			})
		})
	})
}

// runtimes edits the runtimes of a function or of a version.
func (d *digests) runtimes(v yaml.Value) yaml.Value {
	for _, field := range []string{"runtime", "provider"} {
		v = in(v, field, func(runtimes yaml.Value) yaml.Value {
			if runtimes.Type() != yaml.Map {
				return runtimes
			}
			return runtimes.EditFields(func(f yaml.Field) yaml.Value {
				switch {
				case f.Key == "container" || f.Key == "starlark":
					return f.Value
				case f.Value.Type() == yaml.Seq:
					return items(f.Value, d.program)
				case f.Value.Get("platforms").Exists():
					return in(f.Value, "platforms", func(list yaml.Value) yaml.Value { return items(list, d.program) })
				}
				return d.program(f.Value)
			})
		})
	}
	return v
}

// program edits the entry of a program. An entry keeps the form of its digest: with or without
// sha256: at the start.
func (d *digests) program(v yaml.Value) yaml.Value {
	if v.Type() != yaml.Map {
		return v
	}
	path := v.Get("uri").Text()
	if path == "" {
		path = v.Get("path").Text()
	}
	if path == "" || catalog.IsAddress(path) {
		return v
	}
	sum, ok := d.sum(path)
	if !ok {
		return v
	}
	d.entries++
	old := v.Get("sha256").Text()
	if rest, found := strings.CutPrefix(old, "sha256:"); found && rest != sum {
		sum = "sha256:" + sum
	} else if found {
		return v
	}
	if old == sum || d.inArchive(path, v.Get("bin").Text(), old) {
		return v
	}
	d.changed++
	return v.With("sha256", yaml.Str(sum))
}

// inArchive reports whether an archive has a file bin with this digest. Such a digest is as good as
// that of the archive.
func (d *digests) inArchive(file, bin, digest string) bool {
	want, err := krm.ParseDigest("sha256:" + strings.TrimPrefix(digest, "sha256:"))
	if bin == "" || err != nil {
		return false
	}
	data, err := loaders.ReadFile(filepath.Join(d.dir, file), loaders.MaxProgram)
	if err != nil {
		return false
	}
	unpacked, err := cache.Temporary()
	if err != nil {
		return false
	}
	defer unpacked.Close()
	session := remote.NewSession(remote.Options{Cache: unpacked})
	defer session.Close()
	_, err = session.Extract(data, path.Clean(strings.ReplaceAll(bin, `\`, "/")), want)
	return err == nil
}

// sum returns the digest of a program, which must be below the directory of the catalog.
func (d *digests) sum(path string) (string, bool) {
	if sum, ok := d.of[path]; ok {
		return sum, sum != ""
	}
	d.of[path] = ""
	var found loaders.Program
	err := errors.New("it is outside the directory of the catalog")
	if filepath.IsLocal(path) {
		var failed error
		found, failed = loaders.NewLocal(d.ctx, loaders.Config{Unrestricted: true}).Program(filepath.Join(d.dir, path), d.dir)
		if failed != nil || found.Digest != (krm.Digest{}) {
			err = failed
		}
	}
	if err != nil {
		d.errs = append(d.errs, diag.BadProgram.Errorf("the program %s: %w", diag.OneLine(filepath.Join(d.shown, path)), err))
		return "", false
	}
	d.of[path], d.paths = strings.TrimPrefix(found.Digest.String(), "sha256:"), append(d.paths, path)
	return d.of[path], true
}

// report returns the digests in the format of sha256sum, and a summary.
func (d *digests) report(file string, write bool) string {
	var b strings.Builder
	for _, path := range d.paths {
		fmt.Fprintf(&b, "%s  %s\n", d.of[path], filepath.Join(d.shown, path))
	}
	switch {
	case d.entries == 0:
		fmt.Fprintf(&b, "%s names no program by a path\n", file)
	case d.changed == 0:
		fmt.Fprintf(&b, "%s has these digests\n", file)
	case write:
		fmt.Fprintf(&b, "%s: %s written\n", file, diag.Count(d.changed, "digest"))
	default:
		differ := "1 digest differs"
		if d.changed > 1 {
			differ = fmt.Sprintf("%d digests differ", d.changed)
		}
		fmt.Fprintf(&b, "%s: %s; to write them add --write\n", file, differ)
	}
	return b.String()
}

// in returns v with the value of a field changed. It returns v if there is no such field.
func in(v yaml.Value, field string, change func(yaml.Value) yaml.Value) yaml.Value {
	if v.Type() != yaml.Map || !v.Get(field).Exists() {
		return v
	}
	return v.With(field, change(v.Get(field)))
}

// items returns the list v with all items changed, and any other value unchanged.
func items(v yaml.Value, change func(yaml.Value) yaml.Value) yaml.Value {
	if v.Type() != yaml.Seq {
		return v
	}
	list := slices.Clone(v.Items())
	for i, x := range list {
		list[i] = change(x)
	}
	return yaml.SeqOf(list...)
}
