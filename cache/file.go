package cache

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// refresh is the age at which touch updates a file's time. Trim does not need it more exactly,
// and each update costs a system call.
const refresh = time.Hour

// largest is the size limit for files that are read into memory. Intact files are far smaller.
const largest = 4 << 30

var errLarge = errors.New("it is larger than any file of a cache")

// read returns the bytes of a regular file and marks it as used. For any other type of file it
// returns an error.
func (c *Cache) read(path string) ([]byte, error) {
	f, info, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info.Size() > largest {
		return nil, errLarge
	}
	c.touch(path, info)
	data := make([]byte, info.Size()) // files never grow once complete
	_, err = io.ReadFull(f, data)
	return data, err
}

// touch updates the time of a file that is in use, if it is old, or if it is in the future
// because of a wrong clock.
func (c *Cache) touch(path string, info fs.FileInfo) {
	if age := time.Since(info.ModTime()); !c.fixed && (age > refresh || age < -time.Minute) {
		now := time.Now()
		// An error does not matter: nothing is ever trimmed from a cache that cannot be written
		// to.
		_ = os.Chtimes(path, now, now)
	}
}

// openRegular opens a regular file. For any other type of file the error is fs.ErrNotExist.
func openRegular(path string) (*os.File, fs.FileInfo, error) {
	f, err := openPlain(path, os.O_RDONLY)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fs.ErrNotExist
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// writeNew writes data to a new file; see createNew.
func writeNew(path string, data []byte) error {
	f, err := createNew(path)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = cmp.Or(err, f.Close()); err != nil {
		os.Remove(path)
	}
	return err
}

// createNew creates a file directly under its final name, so that a killed process cannot leave a
// temporary file behind. A concurrent reader may therefore see a partial file. An existing file
// is removed and not overwritten, so that processes that have it open can continue to read it.
func createNew(path string) (*os.File, error) {
	const flags = os.O_WRONLY | os.O_CREATE | os.O_EXCL // with O_EXCL, links are not followed
	f, err := openPlain(path, flags)
	for try := 0; err != nil && try < tries; try++ {
		switch {
		case errors.Is(err, fs.ErrExist):
			err = os.RemoveAll(path)
		case errors.Is(err, fs.ErrNotExist):
			err = os.MkdirAll(filepath.Dir(path), 0o700)
		default:
			return nil, err
		}
		if err == nil {
			f, err = openPlain(path, flags)
		}
	}
	return f, err
}
