package push

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/output/manifest"
)

// ignored are patterns of the names that flux push artifact excludes by default.
var ignored = []string{".git", ".gitignore", ".gitmodules", ".gitattributes", "*.jpg", "*.jpeg", "*.gif", "*.png", "*.wmv", "*.flv",
	"*.tar.gz", "*.zip"}

// isIgnored reports whether an entry is excluded. The pattern .git matches only a directory.
func isIgnored(e fs.DirEntry) bool {
	for _, pattern := range ignored {
		if ok, _ := path.Match(pattern, e.Name()); ok && (pattern != ".git" || e.IsDir()) {
			return true
		}
	}
	return false
}

// unfinished is the prefix of entries that an interrupted or running apply-render leaves in a
// folder. The name of the manifest also has this prefix.
const unfinished = manifest.Reserved

// An archive is a tar archive of a folder.
type archive struct {
	// packed is the archive after gzip compression. content is the digest of the uncompressed
	// archive.
	packed  []byte
	content krm.Digest
	// files is the number of files. skipped are the entries that are neither files nor folders.
	files   int
	skipped []string
}

// pack archives a folder of at most limit bytes. Equal folders have equal archives: entries are
// sorted, files have the mode 0644 and folders 0755, the owner is 0, and all times are the Unix
// epoch.
func pack(dir string, limit int64) (*archive, error) {
	root, err := open(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	a := &archive{}
	var out bytes.Buffer
	zip, sum := gzip.NewWriter(&out), sha256.New()
	w := tar.NewWriter(io.MultiWriter(zip, sum))
	in := func(name string) diag.Pos { return diag.Pos{File: filepath.Join(dir, filepath.FromSlash(name))} }
	err = fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil || name == ".":
			return err
		case isIgnored(e) && e.IsDir():
			return fs.SkipDir
		case isIgnored(e):
			return nil
		case strings.HasPrefix(e.Name(), unfinished) && e.Name() != manifest.Name:
			return diag.Errorf(in(name), "", "apply-render has not finished this folder").Hint("run krmflow apply-render again")
		case e.IsDir():
			return w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o755})
		case !e.Type().IsRegular():
			a.skipped = append(a.skipped, name)
			return nil
		}
		data, err := read(root, name, limit)
		if err != nil {
			return err
		}
		if limit -= int64(len(data)); limit < 0 {
			return errTooLarge
		}
		a.files++
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(data))}); err != nil {
			return err
		}
		_, err = w.Write(data)
		return err
	})
	var inFile *fs.PathError
	switch {
	case errors.Is(err, errTooLarge):
		return nil, err
	case errors.As(err, &inFile):
		return nil, diag.Errorf(in(inFile.Path), "", "%w", inFile.Err).With(diag.NotReadable)
	case err != nil:
		return nil, err
	case a.files == 0:
		return nil, diag.Errorf(diag.Pos{File: dir}, "", "the folder has no files to push").With(diag.NoSuchFile)
	}
	if err := errors.Join(w.Close(), zip.Close()); err != nil {
		return nil, err
	}
	a.packed, a.content = out.Bytes(), krm.Digest(sum.Sum(nil))
	return a, nil
}

// errTooLarge reports that a folder exceeds the limit.
var errTooLarge = errors.New("too large")

// open opens a folder. Links in it cannot lead to files outside of it.
func open(dir string) (*os.Root, error) {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, diag.Errorf(diag.Pos{File: dir}, "", "no such folder").With(diag.NoSuchFile).
			Hint("krmflow apply-render DIR -o %s writes one", diag.ShellWord(dir))
	case err == nil && !info.IsDir():
		return nil, diag.Errorf(diag.Pos{File: dir}, "", "not a folder").With(diag.NotReadable)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, diag.Errorf(diag.Pos{File: dir}, "", "%w", err).With(diag.NotReadable)
	}
	return root, nil
}

// read returns the content of a file, at most limit+1 bytes.
func read(root *os.Root, name string, limit int64) ([]byte, error) {
	f, err := root.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit+1))
}
