//go:build !linux

package filestat

import (
	"io/fs"
	"os"
)

// A Looker tells what the file system says about files while nobody changes them. The zero Looker is ready, and so is nil. It is not safe for concurrent use.
type Looker struct{}

// Lstat returns the type of what is at an absolute, clean path, without following a symbolic link, and the Stat of a regular file.
func (l *Looker) Lstat(path string) (fs.FileMode, Stat, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return 0, Stat{}, err
	}
	return info.Mode().Type(), Of(info), nil
}

// Close ends the use of what Lstat keeps open, on other systems.
func (l *Looker) Close() {}
