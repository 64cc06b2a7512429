package bench

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
)

// same compares two files byte by byte, or two folders document by document. The programs
// distribute documents over files differently, so only the multisets of documents in the folders
// must be equal. It returns [ErrDiffers] for a difference.
func same(a, b string) error {
	info, err := os.Stat(a)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return sameFile(a, b)
	}
	x, err := documents(a)
	if err != nil {
		return err
	}
	y, err := documents(b)
	if err != nil {
		return err
	}
	if !maps.Equal(x, y) {
		return ErrDiffers
	}
	return nil
}

// contains returns [ErrDiffers] unless all documents in the folder part are in the folder all.
func contains(all, part string) error {
	x, err := documents(all)
	if err != nil {
		return err
	}
	y, err := documents(part)
	if err != nil {
		return err
	}
	for sum, n := range y {
		if x[sum] < n {
			return ErrDiffers
		}
	}
	return nil
}

// sameFile compares two files in chunks, because the memory of this process affects the measured
// peak of its children.
func sameFile(a, b string) error {
	f, err := os.Open(a)
	if err != nil {
		return err
	}
	defer f.Close()
	g, err := os.Open(b)
	if err != nil {
		return err
	}
	defer g.Close()
	var x, y [32 << 10]byte
	for line := 1; ; {
		n, err1 := io.ReadFull(f, x[:])
		m, err2 := io.ReadFull(g, y[:])
		if !bytes.Equal(x[:n], y[:m]) {
			k := 0
			for k < min(n, m) && x[k] == y[k] {
				k++
			}
			return fmt.Errorf("line %d: %w", line+bytes.Count(x[:k], []byte("\n")), ErrDiffers)
		}
		line += bytes.Count(x[:n], []byte("\n"))
		if err1 != nil || err2 != nil {
			return errors.Join(unlessEnd(err1), unlessEnd(err2))
		}
	}
}

// unlessEnd returns err, or nil if it reports the end of a file.
func unlessEnd(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return nil
	}
	return err
}

// documents returns the number of YAML documents below dir by digest.
func documents(dir string) (map[[sha256.Size]byte]int, error) {
	found := map[[sha256.Size]byte]int{}
	err := eachLine(dir, func() func(line []byte) {
		h := sha256.New()
		size := 0
		return func(line []byte) {
			if line == nil || string(line) == "---\n" {
				if size > 0 {
					found[[sha256.Size]byte(h.Sum(nil))]++
				}
				h.Reset()
				size = 0
				return
			}
			h.Write(line)
			size += len(line)
		}
	})
	return found, err
}

// sizeOf returns the number of resources and bytes in a file or below a folder.
func sizeOf(name string) (resources int, size int64, err error) {
	err = eachLine(name, func() func(line []byte) {
		return func(line []byte) {
			size += int64(len(line))
			if bytes.HasPrefix(line, []byte("kind: ")) {
				resources++
			}
		}
	})
	return resources, size, err
}

// eachLine reads a file, or all YAML files below a folder. For each file it calls open, and
// calls the returned function for each line including its line ending, and with nil at the end.
// A line is valid only during the call.
func eachLine(name string, open func() func(line []byte)) error {
	r := bufio.NewReaderSize(nil, 64<<10)
	return filepath.WalkDir(name, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || path != name && filepath.Ext(path) != ".yaml" {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		r.Reset(f)
		each := open()
		for {
			line, err := r.ReadSlice('\n')
			if err == bufio.ErrBufferFull {
				var rest []byte
				start := bytes.Clone(line)
				rest, err = r.ReadBytes('\n')
				line = append(start, rest...)
			}
			if len(line) > 0 {
				each(line)
			}
			if err == io.EOF {
				each(nil)
				return nil
			}
			if err != nil {
				return err
			}
		}
	})
}
