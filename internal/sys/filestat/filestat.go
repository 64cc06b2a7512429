// Package filestat detects changes of files from their metadata, so that unchanged files need
// not be read again. git does the same with its index.
package filestat

import (
	"io/fs"
	"time"
)

// A Stat is the metadata of a file by which changes are detected. Every change of the content
// changes the Stat, except for two changes within the resolution of the file system's clock:
// see [Stat.Settled]. The zero Stat represents a file without reliable metadata; it is never
// settled.
type Stat struct {
	Dev, Ino uint64
	Size     int64
	// Mtime is the time of the last change of the content, Ctime the time of the last change of
	// the content or the metadata, in nanoseconds since 1970. Programs can set Mtime but not
	// Ctime.
	Mtime, Ctime int64
	// Mode has the permission bits.
	Mode fs.FileMode
}

// Of returns the Stat of a regular file. It returns the zero Stat for anything else, and on
// systems without the necessary metadata.
func Of(info fs.FileInfo) Stat {
	if info == nil || !info.Mode().IsRegular() {
		return Stat{}
	}
	return of(info)
}

// OfFolder returns the Stat of a directory, which changes when an entry is added or removed. It
// returns the zero Stat for anything else, and on systems without the necessary metadata.
func OfFolder(info fs.FileInfo) Stat {
	if info == nil || !info.IsDir() {
		return Stat{}
	}
	return of(info)
}

const (
	// fine is longer than a clock tick of file systems with subsecond times, coarse is longer
	// than a clock tick of the others.
	fine   = 20 * time.Millisecond
	coarse = 2100 * time.Millisecond
)

// MaySettle reports whether a file that was written or renamed at or after since can have a
// settled Stat now.
func MaySettle(since time.Time) bool { return time.Since(since) > fine }

// Settled reports whether a file that had this Stat, and was read, at or after the time at is
// unchanged for as long as its Stat is the same. That is the case if the file was last changed
// at least one clock tick before at: any later change then gets a different time. A file with a
// time in the future is never settled. Neither is a file changed before the system clock was
// set back, until the clock passes the time of that change again.
func (s Stat) Settled(at time.Time) bool {
	if s == (Stat{}) {
		return false
	}
	wait := fine
	if s.Ctime%int64(time.Second) == 0 || s.Mtime%int64(time.Second) == 0 {
		wait = coarse
	}
	last := at.Add(-wait).UnixNano()
	return s.Ctime < last && s.Mtime < last
}
