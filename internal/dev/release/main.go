// Release builds the files of a release: for each platform an archive with krmflow, the functions
// and their catalog, and a bill of materials for each program. For all together it builds the
// checksums and the krew manifest. The result is reproducible: it depends only on the source and
// the version of Go.
//
//	release -version v1.2.3 -out dist -platforms linux/amd64,… env CGO_ENABLED=0 go build
//
// Each krmflow trusts the catalog of its archive by the digest that is compiled in.
//
// With -functions it builds only the functions and their catalog, for one platform, and prints the
// digest of the catalog:
//
//	release -functions bin/functions
//
// …
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"text/template"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("release: ")
	version := flag.String("version", "", "such as v1.2.3")
	out := flag.String("out", "dist", "a folder that does not exist, or is empty")
	on := flag.String("platforms", runtime.GOOS+"/"+runtime.GOARCH, "os/arch, separated by commas")
	functions := flag.String("functions", "", "a folder for the functions; builds nothing else")
	flag.Parse()
	if *functions != "" {
		if _, err := buildFunctions(*functions, *on); err != nil {
			log.Fatal(err)
		}
		digest, err := catalogDigest(*functions)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(digest)
		return
	}
	if !regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`).MatchString(*version) {
		log.Fatalf("VERSION is %q, not one such as v1.2.3", *version)
	}
	if err := release(*version, *out, strings.Split(*on, ","), flag.Args()); err != nil {
		log.Fatal(err)
	}
}

// release writes the release to the folder out, which must be empty. build is the command line
// that builds a Go program.
func release(version, out string, platforms, build []string) error {
	if len(build) == 0 {
		return errors.New("no build command")
	}
	if err := os.MkdirAll(out, 0o777); err != nil {
		return err
	}
	if list, err := os.ReadDir(out); err != nil || len(list) > 0 {
		return errors.Join(err, fmt.Errorf("%s is not empty", out))
	}
	var sums strings.Builder
	var archives []archive
	for _, p := range platforms {
		files, err := forPlatform(version, out, p, build)
		if err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
		for i, name := range files {
			data, err := os.ReadFile(filepath.Join(out, name))
			if err != nil {
				return err
			}
			sum := fmt.Sprintf("%x", sha256.Sum256(data))
			fmt.Fprintf(&sums, "%s  %s\n", sum, name)
			if i == 0 {
				system, arch, _ := strings.Cut(p, "/")
				archives = append(archives, archive{name, system, arch, sum, programName(system)})
			}
		}
	}
	if err := writeKrew(filepath.Join(out, "krew.yaml"), version, archives); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, "SHA256SUMS"), []byte(sums.String()), 0o666)
}

// archive describes an archive in the krew manifest.
type archive struct{ Name, OS, Arch, SHA256, Program string }

// writeKrew writes the krew manifest for the archives.
func writeKrew(to, version string, archives []archive) error {
	t, err := template.ParseFiles("deploy/krew/krmflow.yaml")
	if err != nil {
		return err
	}
	return create(to, func(w io.Writer) error {
		return t.Execute(w, struct {
			Version  string
			Archives []archive
		}{version, archives})
	})
}

// programName returns the name of the program in an archive.
func programName(system string) string {
	if system == "windows" {
		return "krmflow.exe"
	}
	return "krmflow"
}

// forPlatform writes the archive and the bills of materials of one platform and returns their
// names.
func forPlatform(version, out, platform string, build []string) (names []string, err error) {
	system, arch, _ := strings.Cut(platform, "/")
	base := fmt.Sprintf("krmflow_%s_%s_%s", version, system, arch)
	dir, err := os.MkdirTemp("", "release-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	functions := filepath.Join(dir, "functions")
	programs, err := buildFunctions(functions, platform)
	if err != nil {
		return nil, err
	}
	digest, err := catalogDigest(functions)
	if err != nil {
		return nil, err
	}
	program := filepath.Join(dir, programName(system))
	if err := compile(version, digest, system, arch, program, build); err != nil {
		return nil, err
	}
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return nil, err
	}
	licenses, err := licensesOf(".", info.Deps)
	if err != nil {
		return nil, err
	}
	bills := map[string][]byte{base + ".cdx.json": billOf(version, info)}
	var functionLicenses []byte
	for i, name := range programs {
		function, err := buildinfo.ReadFile(filepath.Join(functions, name))
		if err != nil {
			return nil, err
		}
		more, err := licensesOf(modules[i].dir, function.Deps)
		if err != nil {
			return nil, err
		}
		functionLicenses = append(functionLicenses, more...)
		bills[strings.Replace(base, "krmflow", modules[i].program, 1)+".cdx.json"] = billOf(version, function)
	}
	files := []file{{program, filepath.Base(program)}, {"LICENSE", "LICENSE"}, {"NOTICE", "NOTICE"}, {"README.md", "README.md"}}
	for _, part := range []struct {
		text []byte
		to   string
	}{{licenses, licenseName}, {functionLicenses, "functions/" + licenseName}} {
		to := filepath.Join(dir, filepath.FromSlash(part.to))
		if err := os.WriteFile(to, part.text, 0o666); err != nil {
			return nil, err
		}
		files = append(files, file{to, part.to})
	}
	for _, name := range append(programs, "catalog.yaml") {
		files = append(files, file{filepath.Join(functions, name), "functions/" + name})
	}
	archive, pack := base+".tar.gz", packTar
	if system == "windows" {
		archive, pack = base+".zip", packZip
	}
	if err := pack(filepath.Join(out, archive), files); err != nil {
		return nil, err
	}
	names = []string{archive}
	for _, name := range slices.Sorted(maps.Keys(bills)) {
		names = append(names, name)
		if err := os.WriteFile(filepath.Join(out, name), bills[name], 0o666); err != nil {
			return nil, err
		}
	}
	return names, nil
}

const licenseName = "THIRD-PARTY-LICENSES"

// compile builds krmflow, which trusts the catalog of functions with the digest. It omits version
// control information, which is not available to everyone who has the source.
func compile(version, digest, system, arch, program string, build []string) error {
	args := append(build[1:len(build):len(build)], "-buildvcs=false", "-ldflags",
		"-s -w -X github.com/krmflow/krmflow/internal/cli/program.release="+version+
			" -X github.com/krmflow/krmflow/internal/cli/settings.shippedCatalog="+digest, "-o", program, "./cmd/krmflow")
	return runBuild(system, arch, ".", build[0], args...)
}

// runBuild runs a build command for a platform.
func runBuild(system, arch, dir, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+arch, "GOFLAGS=", "GOAMD64=v1", "GOARM64=v8.0")
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	return cmd.Run()
}
