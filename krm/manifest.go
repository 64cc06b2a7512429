package krm

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

const (
	// manifestName has no ending that tools which apply whole folders would take for an object.
	manifestName   = ".krmflow-manifest"
	manifestHeader = "krmflow-manifest 1"
	maxManifest    = 256 << 20 // bytes: those of two million files
	// reservedPrefix begins every name that krmflow uses for itself; no file of a render starts with a dot.
	reservedPrefix = ".krmflow-"
)

// A manifest records what a run wrote: root folder -> file name -> digest of the content. Roots are slash-separated and
// may lie inside one another; "." is the output folder itself.
type manifest map[string]map[string]Digest

// encode returns the text of m. Equal manifests have equal text.
func (m manifest) encode() []byte {
	size := 64
	for _, files := range m {
		size += 64 + 128*len(files)
	}
	b := make([]byte, 0, size)
	b = append(b, manifestHeader...)
	b = append(b, '\n')
	n := 0
	for _, root := range sortedKeys(m) {
		b = append(b, "root "...)
		b = strconv.AppendQuote(b, root)
		b = append(b, '\n')
		for _, name := range sortedKeys(m[root]) {
			sum := m[root][name]
			b = hex.AppendEncode(b, sum[:])
			b = append(b, ' ')
			b = strconv.AppendQuote(b, name)
			b = append(b, '\n')
			n++
		}
	}
	return fmt.Appendf(b, "files %d\n", n)
}

// parseManifest reads what encode wrote. It accepts nothing that could name a file outside the folder, because the files
// of a manifest are replaced and removed.
func parseManifest(data []byte) (manifest, error) {
	m := manifest{}
	var files map[string]Digest
	n, end := 0, -1
	for i, line := range strings.Split(strings.TrimSuffix(string(data), "\n"), "\n") {
		word, rest, _ := strings.Cut(line, " ")
		var err error
		switch {
		case i == 0:
			if line != manifestHeader {
				err = errors.New("it does not start with " + manifestHeader)
			}
		case end >= 0:
			err = errors.New("text after the last line")
		case word == "root":
			files, err = m.addRoot(rest)
		case word == "files":
			end, err = strconv.Atoi(rest)
		default:
			err = addFile(files, word, rest)
			n++
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	if end != n {
		return nil, errors.New("it is incomplete")
	}
	return m, nil
}

func (m manifest) addRoot(quoted string) (map[string]Digest, error) {
	root, err := strconv.Unquote(quoted)
	if err != nil || validRoot(root) != nil {
		return nil, fmt.Errorf("bad folder %q", quoted)
	}
	if m[root] != nil {
		return nil, fmt.Errorf("folder %q twice", root)
	}
	m[root] = map[string]Digest{}
	return m[root], nil
}

func addFile(files map[string]Digest, sum, quoted string) error {
	name, err := strconv.Unquote(quoted)
	if err != nil || !validFileName(name) || files == nil {
		return fmt.Errorf("bad file name %q", quoted)
	}
	var d Digest
	if len(sum) != hex.EncodedLen(len(d)) {
		return fmt.Errorf("bad digest %q", sum)
	}
	if _, err := hex.Decode(d[:], []byte(sum)); err != nil {
		return fmt.Errorf("bad digest %q", sum)
	}
	if _, twice := files[name]; twice {
		return fmt.Errorf("file %q twice", name)
	}
	files[name] = d
	return nil
}

func validFileName(name string) bool {
	return name != "" && name[0] != '.' && !strings.ContainsAny(name, "/\x00") && filepath.IsLocal(name)
}

// validRoot returns an error if root is no folder at or below the output folder.
func validRoot(root string) error {
	if root == "." {
		return nil
	}
	if strings.HasPrefix(root, "/") || path.Clean(root) != root || strings.ContainsRune(root, 0) || !filepath.IsLocal(filepath.FromSlash(root)) {
		return fmt.Errorf("%q is not a folder inside the output folder", root)
	}
	for dir := range strings.SplitSeq(root, "/") {
		if strings.HasPrefix(foldCase(dir), reservedPrefix) {
			return fmt.Errorf("%q: names that start with %s are krmflow's own", root, reservedPrefix)
		}
	}
	return nil
}

// readManifest returns the manifest of a folder; the error is fs.ErrNotExist if there is none.
func readManifest(dir *os.Root) (manifest, error) {
	info, err := dir.Lstat(manifestName)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	if info.Size() > maxManifest {
		return nil, fmt.Errorf("it has %d bytes; the limit is %d", info.Size(), maxManifest)
	}
	data, err := dir.ReadFile(manifestName)
	if err != nil {
		return nil, err
	}
	if bytes.IndexByte(data, 0) >= 0 {
		return nil, errors.New("it is not text")
	}
	return parseManifest(data)
}

// folders returns every folder that holds files of m or leads to one, without the output folder itself.
func (m manifest) folders() map[string]bool {
	dirs := make(map[string]bool, len(m))
	for root := range m {
		for dir := root; dir != "." && !dirs[dir]; dir = path.Dir(dir) {
			dirs[dir] = true
		}
	}
	return dirs
}

// conflict returns the path of a folder of m that is also the path of one of its files, "" if there is none.
func (m manifest) conflict() string {
	for dir := range m.folders() {
		if _, clash := m[path.Dir(dir)][path.Base(dir)]; clash {
			return dir
		}
	}
	return ""
}

func notExist(err error) bool { return errors.Is(err, fs.ErrNotExist) }
