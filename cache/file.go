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

// refresh is how old the time of a file may be when it is used: it costs a call of the system to set it, and nobody needs it exactly.
const refresh = time.Hour

// largest is how many bytes a file may have that is read at once: nothing that is read so is nearly as large, unless it is damaged.
const largest = 4 << 30

var errLarge = errors.New("it is larger than anything that is kept")

// read returns the bytes of a regular file, which counts as used then. Anything else in the cache is no content of it.
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
	data := make([]byte, info.Size()) // nobody adds to a file
	_, err = io.ReadFull(f, data)
	return data, err
}

// touch sets the time of a file that is used, if it is old, or from a clock that was wrong.
func (c *Cache) touch(path string, info fs.FileInfo) {
	if age := time.Since(info.ModTime()); !c.fixed && (age > refresh || age < -time.Minute) {
		now := time.Now()
		_ = os.Chtimes(path, now, now) // of a cache that can only be read nothing goes, either
	}
}

// openRegular opens a regular file. What else there is is as good as absent.
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

// writeNew writes a file that [createNew] makes.
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

// createNew makes a file under its final name: it has no other one that a process which is killed could leave. Who reads it before all is written finds
// a part of it. What had the name before is not changed but removed, so that who has opened that can go on reading.
func createNew(path string) (*os.File, error) {
	const flags = os.O_WRONLY | os.O_CREATE | os.O_EXCL // which follow no link
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
