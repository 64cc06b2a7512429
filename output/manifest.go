package output

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/krmflow/krmflow/krm"
)

const (
	// manifestName has no ending that tools which apply whole folders would take for an object.
	manifestName   = ".krmflow-manifest"
	manifestHeader = "krmflow-manifest 1"
	// maxManifest is how many bytes a manifest may have, room for a quarter of a million files, and maxFolders how many folders
	// may lead to its files, counted for each root.
	maxManifest = 32 << 20
	maxFolders  = 1 << 17
	maxPath     = 4096 // what systems take
	// reservedPrefix begins every name that krmflow uses for itself; no file of a render starts with a dot.
	reservedPrefix = ".krmflow-"
)

// A manifest records what a run wrote: root folder -> file name -> record. Roots are slash-separated and may lie inside one
// another; "." is the output folder itself. No root is without files.
type manifest map[string]map[string]record

// A record stands for the content of a file.
type record struct {
	sum krm.Digest
	// secret is true for a file with a Secret: sum is that of the path and the content then, so that it is in no list of
	// digests. It still lets one test a guess: manifests with such records are for their owner alone, as these files are.
	secret bool
}

// recordOf returns the record of a file at path, relative to the output folder.
func recordOf(path string, data []byte, secret bool) record {
	if !secret {
		return record{sum: krm.DigestOf(data)}
	}
	h := sha256.New()
	io.WriteString(h, path+"\x00")
	h.Write(data)
	return record{krm.Digest(h.Sum(nil)), true}
}

// encode returns the text of m. Equal manifests have equal text.
func (m manifest) encode() []byte {
	b := []byte(manifestHeader + "\n")
	n := 0
	for _, root := range slices.Sorted(maps.Keys(m)) {
		b = append(b, "root "...)
		b = strconv.AppendQuote(b, root)
		b = append(b, '\n')
		for _, name := range slices.Sorted(maps.Keys(m[root])) {
			rec := m[root][name]
			if rec.secret {
				b = append(b, "secret "...)
			}
			b = hex.AppendEncode(b, rec.sum[:])
			b = append(b, ' ')
			b = strconv.AppendQuote(b, name)
			b = append(b, '\n')
			n++
		}
	}
	return fmt.Appendf(b, "files %d\n", n)
}

// fits reports whether text, which encodes m, can be read back.
func (m manifest) fits(text []byte) bool {
	folders := 0
	for root := range m {
		folders += depth(root)
	}
	return len(text) <= maxManifest && folders <= maxFolders
}

func depth(root string) int { return 1 + strings.Count(root, "/") }

// perm returns the permissions of the file that holds m, before the umask.
func (m manifest) perm() fs.FileMode {
	for _, files := range m {
		for _, rec := range files {
			if rec.secret {
				return secretPerm
			}
		}
	}
	return 0o666
}

// parseManifest reads what encode wrote. It accepts nothing that could name a file outside the folder or one that krmflow would
// not write, because the files of a manifest are replaced and removed.
func parseManifest(text string) (manifest, error) {
	m := manifest{}
	var root string
	i, n, folders, end := 0, 0, 0, -1
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		word, rest, _ := strings.Cut(line, " ")
		var err error
		switch {
		case i == 0:
			if line != manifestHeader {
				err = errors.New("it does not start with " + manifestHeader)
			}
		case end >= 0:
			err = errors.New("text after the last line")
		case (word == "root" || word == "files") && root != "" && m[root] == nil:
			err = errors.New("a folder without files")
		case word == "root":
			root, err = m.readRoot(rest)
			if folders += depth(root); folders > maxFolders {
				err = errors.New("too many folders")
			}
		case word == "files":
			end, err = strconv.Atoi(rest)
		default:
			err = m.addFile(root, line)
			n++
		}
		i++
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i, err)
		}
	}
	if end != n {
		return nil, errors.New("it is incomplete")
	}
	return m, nil
}

func (m manifest) readRoot(quoted string) (string, error) {
	root, err := strconv.Unquote(quoted)
	if err != nil || validRoot(root) != nil {
		return "", errors.New("bad folder")
	}
	if m[root] != nil {
		return "", errors.New("a folder for the second time")
	}
	return root, nil
}

// addFile reads the line of a file of root.
func (m manifest) addFile(root, line string) error {
	var rec record
	line, rec.secret = strings.CutPrefix(line, "secret ")
	sum, quoted, _ := strings.Cut(line, " ")
	if len(sum) != hex.EncodedLen(len(rec.sum)) {
		return errors.New("bad digest")
	}
	if _, err := hex.Decode(rec.sum[:], []byte(sum)); err != nil {
		return errors.New("bad digest")
	}
	name, err := strconv.Unquote(quoted)
	if err != nil || !validFileName(name) || root == "" {
		return errors.New("bad file name")
	}
	if _, twice := m[root][name]; twice {
		return errors.New("a file for the second time")
	}
	if m[root] == nil {
		m[root] = map[string]record{}
	}
	m[root][name] = rec
	return nil
}

// validFileName reports whether name may be one of [FileNames].
func validFileName(name string) bool {
	return len(name) <= maxFileName && strings.HasSuffix(name, fileExt) && name[0] != '.' && !strings.ContainsAny(name, "/\x00") && filepath.IsLocal(name)
}

// validRoot returns an error if root is no folder at or below the output folder.
func validRoot(root string) error {
	if root == "." {
		return nil
	}
	if len(root) > maxPath {
		return fmt.Errorf("%q... is longer than %d bytes", root[:40], maxPath)
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
	d, err := openFolder(dir, ".")
	if err != nil {
		return nil, err
	}
	defer d.close()
	data, err := d.readWhole(manifestName, nil, maxManifest)
	if err != nil {
		return nil, err
	}
	return parseManifest(string(data))
}

// badManifest refuses a folder whose manifest cannot be read: nobody knows then which files are krmflow's.
func badManifest(dir string, err error) error {
	return &RefusedError{Path: path.Join(dir, manifestName), Reason: fmt.Sprintf("bad manifest: %v", withoutPath(err)),
		Hint: "it tells which files krmflow wrote: restore it, or remove the folder"}
}

// folders returns every folder that holds files of m or leads to one, without the output folder itself.
func (m manifest) folders() map[string]bool {
	dirs := make(map[string]bool, len(m))
	for root := range m {
		for dir := root; dir != "." && !dirs[dir]; dir, _ = splitPath(dir) {
			dirs[dir] = true
		}
	}
	return dirs
}

// lists reports whether m has a file at path.
func (m manifest) lists(file string) bool {
	dir, name := splitPath(file)
	_, ok := m[dir][name]
	return ok
}

// splitPath returns the folder and the last element of a clean, relative path.
func splitPath(file string) (dir, name string) {
	i := strings.LastIndexByte(file, '/')
	if i < 0 {
		return ".", file
	}
	return file[:i], file[i+1:]
}

// conflict returns the path of a folder of m that is also the path of one of its files, "" if there is none.
func (m manifest) conflict() string {
	for dir := range m.folders() {
		if m.lists(dir) {
			return dir
		}
	}
	return ""
}

func notExist(err error) bool { return errors.Is(err, fs.ErrNotExist) }
