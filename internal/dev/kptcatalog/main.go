// Kptcatalog builds functions of kpt from the Go modules in functions.tsv, and writes one archive
// for each function and platform, and a catalog that pins them. The result is reproducible: it
// depends only on the modules and the version of Go.
//
//	kptcatalog -out dist/kpt -platforms linux/amd64,linux/arm64,darwin/arm64
//
// Modules come from the Go proxy and are verified by Go's checksum database, as the environment
// of the go command configures. A function that cannot be built is left out of the catalog, the
// table on stdout has the reason, and the exit code is 1.
package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// functions is a table with tabs between the columns: module, version, kind, idempotent, images.
//
//go:embed functions.tsv
var functions string

// A function is a row of the table. Its catalog entry has the group fn.kpt.dev and the version
// v1alpha1. kpt finds functions by image, so a function that only reads a ConfigMap has a kind
// that no configuration uses.
type function struct {
	module, version, kind, idempotent string
	images                            []string // all references to this version
	platforms                         []string // lines of the catalog entry
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("kptcatalog: ")
	out := flag.String("out", "", "folder for the archives and catalog.yaml")
	platforms := flag.String("platforms", "linux/amd64,linux/arm64,darwin/arm64", "comma-separated list of OS/ARCH")
	table := flag.String("functions", "", "file to read instead of the built-in table")
	flag.Parse()
	if *out == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	if *table != "" {
		text, err := os.ReadFile(*table)
		if err != nil {
			log.Fatal(err)
		}
		functions = string(text)
	}
	if err := run(*out, strings.Split(*platforms, ",")); err != nil {
		log.Fatal(err)
	}
}

func run(out string, platforms []string) error {
	if err := os.MkdirAll(out, 0o777); err != nil {
		return err
	}
	list, err := parse(functions)
	if err != nil {
		return err
	}
	failed := 0
	var entries bytes.Buffer
	for _, f := range list {
		result := "built"
		if err := f.build(out, platforms); err != nil {
			result = err.Error()
			failed++
		} else {
			f.append(&entries)
		}
		fmt.Printf("%s\t%s\t%s\n", f.name(), f.version, result)
	}
	if failed == len(list) {
		return errors.New("no function could be built")
	}
	const head = "apiVersion: config.kubernetes.io/v1alpha1\nkind: Catalog\nmetadata:\n  name: kpt\nspec:\n  krmFunctions:\n"
	if err := os.WriteFile(filepath.Join(out, "catalog.yaml"), append([]byte(head), entries.Bytes()...), 0o666); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d functions could not be built; catalog.yaml lists the others", failed, len(list))
	}
	return nil
}

func parse(table string) (list []*function, err error) {
	for line := range strings.Lines(table) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		c := strings.Split(line, "\t")
		if len(c) != 5 {
			return nil, fmt.Errorf("%q: expected 5 columns", line)
		}
		list = append(list, &function{module: c[0], version: c[1], kind: c[2], idempotent: c[3], images: strings.Fields(c[4])})
	}
	return list, nil
}

func (f *function) name() string { return path.Base(f.module) }

// build builds the function for all platforms. It uses a module of its own, because go install
// refuses modules with replace directives.
func (f *function) build(out string, platforms []string) error {
	dir, err := os.MkdirTemp("", "kptcatalog-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if _, err := goCommand(dir, nil, "mod", "init", "kptcatalog"); err != nil {
		return err
	}
	if _, err := goCommand(dir, nil, "get", f.module+"@"+f.version); err != nil {
		return err
	}
	for _, platform := range platforms {
		system, arch, _ := strings.Cut(platform, "/")
		program := filepath.Join(dir, system+arch)
		if _, err := goCommand(dir, []string{"CGO_ENABLED=0", "GOOS=" + system, "GOARCH=" + arch, "GOAMD64=v1", "GOARM64=v8.0"},
			"build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", program, f.module); err != nil {
			return fmt.Errorf("%s: %w", platform, err)
		}
		data, err := f.pack(dir, program)
		if err != nil {
			return err
		}
		archive := fmt.Sprintf("%s_%s_%s_%s.tar.gz", f.name(), f.version, system, arch)
		if err := os.WriteFile(filepath.Join(out, archive), data, 0o666); err != nil {
			return err
		}
		f.platforms = append(f.platforms, fmt.Sprintf("{bin: %s, os: %s, arch: %s, uri: %s, sha256: %x}", f.name(), system, arch,
			archive, sha256.Sum256(data)))
	}
	return nil
}

// goCommand returns the output of a go command, or an error with the last line on its stderr.
func goCommand(dir string, env []string, args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	var stderr bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stderr = dir, append(os.Environ(), env...), &stderr
	out, err := cmd.Output()
	if err != nil {
		lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
		return "", fmt.Errorf("go %s: %s", args[0], cmp.Or(strings.TrimSpace(lines[len(lines)-1]), err.Error()))
	}
	return strings.TrimSpace(string(out)), nil
}

// pack returns the archive with a program and the licenses of its modules.
func (f *function) pack(dir, program string) ([]byte, error) {
	text, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	licenses, err := licensesOf(dir, program)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	zw, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is valid
	tw := tar.NewWriter(zw)
	for _, file := range []struct {
		name string
		mode int64
		data []byte
	}{{f.name(), 0o755, text}, {"LICENSES", 0o644, licenses}} {
		h := &tar.Header{Name: file.name, Mode: file.mode, Size: int64(len(file.data)), ModTime: time.Unix(0, 0), Format: tar.FormatUSTAR}
		if err := tw.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := tw.Write(file.data); err != nil {
			return nil, err
		}
	}
	err = errors.Join(tw.Close(), zw.Close())
	return b.Bytes(), err
}

var licenseFile = regexp.MustCompile(`(?i)^(licen[cs]e|notice|copying|patents)(\.\w+)?$`)

// licensesOf returns the licenses of Go and of the modules of a program.
func licensesOf(dir, program string) ([]byte, error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return nil, err
	}
	root, err := goCommand(dir, nil, "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	names, folders := []string{"Go"}, []string{root}
	for _, m := range info.Deps {
		folder, err := goCommand(dir, nil, "list", "-m", "-f", "{{.Dir}}", m.Path)
		if err != nil {
			return nil, err
		}
		names, folders = append(names, m.Path+" "+m.Version), append(folders, folder)
	}
	var b bytes.Buffer
	for i, folder := range folders {
		files, err := os.ReadDir(folder)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			if file.IsDir() || !licenseFile.MatchString(file.Name()) {
				continue
			}
			text, err := os.ReadFile(filepath.Join(folder, file.Name()))
			if err != nil {
				return nil, err
			}
			fmt.Fprintf(&b, "==== %s: %s\n\n%s\n\n", names[i], file.Name(), bytes.TrimSpace(text))
		}
	}
	return b.Bytes(), nil
}

// append appends the catalog entry.
func (f *function) append(b *bytes.Buffer) {
	fmt.Fprintf(b, `  - group: fn.kpt.dev
    names: {kind: %s}
    description: the function %s of kpt, version %s
    publisher: built from %s
    versions:
    - name: v1alpha1
      idempotent: %s
      runtime:
        container: {image: '%s'`, f.kind, f.name(), f.version, f.module, f.idempotent, f.images[0])
	if more := f.images[1:]; len(more) > 0 {
		fmt.Fprintf(b, ", images: ['%s']", strings.Join(more, "', '"))
	}
	fmt.Fprintf(b, "}\n        exec:\n          platforms:\n          - %s\n", strings.Join(f.platforms, "\n          - "))
}
