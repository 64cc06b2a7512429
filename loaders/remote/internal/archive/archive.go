// Package archive unpacks archives into a cache.
package archive

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/hashicorp/go-getter/v2"
	"github.com/krmflow/krmflow/cache"
	"github.com/krmflow/krmflow/diag"
)

// Limits are the default limits for an archive. It may have fewer files than a repository, because
// the unpacked content of an archive cannot be predicted from its size.
var Limits = cache.Limits{Files: 10_000, Bytes: 1 << 30}

// The first bytes of supported archives.
var (
	gzipMagic = []byte{0x1f, 0x8b}
	xzMagic   = []byte("\xfd7zXZ\x00")
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
	zipMagic  = []byte("PK\x03\x04")
)

// Is reports whether data starts like a supported archive.
func Is(data []byte) bool {
	for _, magic := range [][]byte{gzipMagic, xzMagic, zstdMagic, zipMagic} {
		if bytes.HasPrefix(data, magic) {
			return true
		}
	}
	return len(data) > 262 && string(data[257:262]) == "ustar"
}

// Unpack returns the files of an archive: zip, tar, or tar compressed with gzip, xz or zstd. It
// is safe for unverified data. It refuses entries other than files, directories and links within
// the archive, entries whose names differ at most in case (except repeated directories), and
// archives over the limits. A zero limit means the default in [Limits].
func Unpack(c *cache.Cache, limits cache.Limits, data []byte) (*cache.Tree, error) {
	limits.Files = cmp.Or(limits.Files, Limits.Files)
	limits.Bytes = cmp.Or(limits.Bytes, Limits.Bytes)
	w, err := c.NewTree(limits)
	if err != nil {
		return nil, err
	}
	defer w.Discard()
	a := &archive{w: w, seen: map[string]string{}, left: 2*limits.Files + 1000, most: limits.Bytes + maxHeaders}
	switch {
	case bytes.HasPrefix(data, []byte("PK")):
		err = a.zip(data)
	case bytes.HasPrefix(data, gzipMagic):
		err = a.gzip(data)
	case bytes.HasPrefix(data, xzMagic):
		err = a.unpacked(c, data, &getter.XzDecompressor{FileSizeLimit: a.most + 1})
	case bytes.HasPrefix(data, zstdMagic):
		err = a.unpacked(c, data, &getter.ZstdDecompressor{FileSizeLimit: a.most + 1})
	default:
		err = a.tar(bytes.NewReader(data))
	}
	if err == nil && len(a.seen) == 0 {
		err = errors.New("the archive is empty")
	}
	if err != nil {
		return nil, err
	}
	return w.Commit()
}

// An archive is the state of unpacking.
type archive struct {
	w    *cache.TreeWriter
	seen map[string]string // names by lower-case name, with a trailing slash for directories
	left int               // number of entries that may follow
	most int64             // size limit for files and headers together
}

// maxHeaders is the size limit for everything except file content, in bytes. It is far above the
// needs of real archives.
const maxHeaders = 64 << 20

// A boundedReader returns a diag.ErrLimit error after left bytes.
type boundedReader struct {
	r    io.Reader
	left int64
}

func (b *boundedReader) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, diag.Limitf("the unpacked archive is too large")
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

// name returns the clean name of an entry; empty for the root.
func (a *archive) name(name string, dir bool) (string, error) {
	if a.left--; a.left < 0 {
		return "", diag.Limitf("the archive has too many entries")
	}
	clean := path.Clean(strings.TrimPrefix(name, "./"))
	if clean == "." && dir {
		return "", nil
	}
	if strings.ContainsAny(name, "\x00\\") || !fs.ValidPath(clean) || clean == "." {
		return "", fmt.Errorf("the archive has an entry with the invalid name %q", name)
	}
	if other, ok := a.seen[strings.ToLower(clean)]; ok && !(dir && other == clean+"/") {
		return "", fmt.Errorf("the archive has %q twice, or twice in different case", name)
	}
	if dir {
		a.seen[strings.ToLower(clean)] = clean + "/"
	} else {
		a.seen[strings.ToLower(clean)] = clean
	}
	return clean, nil
}

// link adds a symbolic link, which must not lead out of the archive.
func (a *archive) link(name, target string) error {
	if joined := path.Join(path.Dir(name), target); path.IsAbs(target) || joined == ".." || strings.HasPrefix(joined, "../") ||
		len(target) > cache.MaxTarget {
		return &cache.EscapeError{Link: name, Target: target}
	}
	return a.w.Link(name, target)
}

func (a *archive) gzip(data []byte) error {
	in, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return err
	}
	return a.tar(&boundedReader{in, a.most})
}

// unpacked reads a compressed tar archive. It uses only the decompressor of go-getter and not its
// archive support, which allows entries that Unpack refuses.
func (a *archive) unpacked(c *cache.Cache, data []byte, d getter.Decompressor) error {
	from, err := c.Create()
	if err != nil {
		return err
	}
	defer from.Discard()
	to, err := c.Create()
	if err != nil {
		return err
	}
	defer to.Discard()
	if _, err := from.Write(data); err != nil {
		return err
	}
	const private = 0o077
	if err := d.Decompress(to.Name(), from.Name(), false, private); err != nil {
		return fmt.Errorf("cannot read the archive: %w", err)
	}
	file, err := os.Open(to.Name())
	if err != nil {
		return err
	}
	defer file.Close()
	return a.tar(&boundedReader{file, a.most})
}

func (a *archive) tar(in io.Reader) error {
	r := tar.NewReader(bufio.NewReaderSize(in, 64<<10))
	for {
		h, err := r.Next()
		if err == io.EOF {
			_, err := io.Copy(io.Discard, io.LimitReader(in, 1<<20)) // gzip verifies its checksum at the end
			return err
		}
		if err != nil {
			return fmt.Errorf("cannot read the archive: %w", err)
		}
		if h.Typeflag == tar.TypeXGlobalHeader {
			continue
		}
		name, err := a.name(h.Name, h.Typeflag == tar.TypeDir)
		if err != nil {
			return err
		}
		switch {
		case h.Mode&0o6000 != 0:
			err = fmt.Errorf("the archive has %q, which would run as a different user", h.Name)
		case h.Typeflag == tar.TypeDir:
		case h.Typeflag == tar.TypeReg:
			err = a.w.File(name, h.Mode&0o111 != 0, h.Size, r)
		case h.Typeflag == tar.TypeSymlink:
			err = a.link(name, h.Linkname)
		default:
			err = fmt.Errorf("the archive has %q, which is not a file, directory or symbolic link", h.Name)
		}
		if err != nil {
			return err
		}
	}
}

func (a *archive) zip(data []byte) error {
	// zip.NewReader reads the whole list of entries at once.
	if n := bytes.Count(data, []byte("PK\x01\x02")); n > a.left {
		return diag.Limitf("the archive has too many entries")
	}
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return fmt.Errorf("cannot read the archive: %w", err)
	}
	for _, f := range r.File {
		mode := f.Mode()
		name, err := a.name(f.Name, mode.IsDir())
		switch {
		case err != nil:
		case mode&(fs.ModeSetuid|fs.ModeSetgid) != 0:
			err = fmt.Errorf("the archive has %q, which would run as a different user", f.Name)
		case mode.IsDir():
		case mode.IsRegular(), mode.Type() == fs.ModeSymlink:
			err = a.zipped(f, name)
		default:
			err = fmt.Errorf("the archive has %q, which is not a file, directory or symbolic link", f.Name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *archive) zipped(f *zip.File, name string) error {
	r, err := f.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	if f.Mode().IsRegular() {
		if err := a.w.File(name, f.Mode()&0o111 != 0, int64(min(f.UncompressedSize64, 1<<62)), r); err != nil {
			return err
		}
		_, err := io.Copy(io.Discard, io.LimitReader(r, 1)) // the checksum is verified at the end
		return err
	}
	target, err := io.ReadAll(io.LimitReader(r, cache.MaxTarget+1))
	if err != nil {
		return err
	}
	return a.link(name, string(target))
}
