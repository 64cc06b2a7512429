// Package filestat tells from what the file system says about a file whether it was changed, so that an unchanged file need not be read
// again, as git does with its index.
package filestat

import (
	"io/fs"
	"time"
)

// A Stat is what the file system says about a file. Any change of the content changes it, but for a change soon after another one: see
// [Stat.Settled]. The zero Stat is that of a file about which nothing reliable is said; it is never settled.
type Stat struct {
	Dev, Ino uint64
	Size     int64
	// Mtime and Ctime are when the content, and the content or anything else of the file was changed last, in nanoseconds since 1970.
	// Programs can set the first, not the second.
	Mtime, Ctime int64
	// Mode has the permissions.
	Mode fs.FileMode
}

// Of returns the Stat of info, the zero Stat for anything but a regular file of a system that says enough.
func Of(info fs.FileInfo) Stat {
	if info == nil || !info.Mode().IsRegular() {
		return Stat{}
	}
	return of(info)
}

// OfFolder returns the Stat of info, the zero Stat for anything but a directory of a system that says enough. It changes when something comes or
// goes in the directory.
func OfFolder(info fs.FileInfo) Stat {
	if info == nil || !info.IsDir() {
		return Stat{}
	}
	return of(info)
}

const (
	// fine is longer than the clock of a file system that counts fractions of a second takes from one time to the next, and coarse
	// the same for others.
	fine   = 20 * time.Millisecond
	coarse = 2100 * time.Millisecond
)

// MaySettle reports whether files that were written, or got another name, since a time can have a Stat that is settled now.
func MaySettle(since time.Time) bool { return time.Since(since) > fine }

// Settled reports whether a file that had this Stat, and was read, at or after a time is unchanged as long as it has this Stat: whoever
// changes it later gives it another time, because the clock of the file system has gone on. A file with a time in the future is
// never settled, and neither is one after the system's clock was set back behind its last change.
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
