//go:build !linux

package output

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/krmflow/krmflow/internal/sys/filestat"
)

func (d *folder) create(name string, data []byte, perm fs.FileMode) error {
	f, err := d.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync() // this system has no call to sync the whole tree at the end
	}
	return errors.Join(err, f.Close())
}

func (d *folder) read(name string, buf []byte) (int, fs.FileMode, error) {
	info, err := d.root.Lstat(name)
	if err != nil {
		return 0, 0, err
	}
	if !info.Mode().IsRegular() {
		return 0, 0, notRegular(name)
	}
	f, err := d.root.Open(name)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	n, err := io.ReadFull(f, buf)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil
	}
	return n, info.Mode().Perm(), err
}

func (d *folder) stat(name string) (filestat.Stat, int64, error) {
	info, err := d.root.Lstat(name)
	if err != nil {
		return filestat.Stat{}, 0, err
	}
	if !info.Mode().IsRegular() {
		return filestat.Stat{}, 0, notRegular(name)
	}
	return filestat.Of(info), info.Size(), nil
}

func (d *folder) sub(name string) (*folder, error) { return openFolder(d.root, name) }

func (d *folder) entries() ([]fs.DirEntry, error) { return d.f.ReadDir(-1) }

func (d *folder) link(from *folder, name string) error { return errors.ErrUnsupported }
