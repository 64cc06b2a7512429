package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"io"
	"os"
	"path"
	"strings"
	"time"
)

// made is the modification time of all files in archives. It is the earliest time that both
// formats support.
var made = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// file is a file and its path in an archive.
type file struct{ path, name string }

// packTar writes files to a gzipped tar archive, without their directories.
func packTar(to string, files []file) error {
	return create(to, func(w io.Writer) error {
		zw, _ := gzip.NewWriterLevel(w, gzip.BestCompression) // the level is valid
		tw := tar.NewWriter(zw)
		for _, f := range files {
			data, err := os.ReadFile(f.path)
			if err != nil {
				return err
			}
			h := &tar.Header{Name: f.name, Mode: int64(modeOf(f.name)), Size: int64(len(data)), ModTime: made,
				Format: tar.FormatUSTAR}
			if err := tw.WriteHeader(h); err != nil {
				return err
			}
			if _, err := tw.Write(data); err != nil {
				return err
			}
		}
		if err := tw.Close(); err != nil {
			return err
		}
		return zw.Close()
	})
}

// packZip writes files to a zip archive, without their directories.
func packZip(to string, files []file) error {
	return create(to, func(w io.Writer) error {
		zw := zip.NewWriter(w)
		for _, f := range files {
			data, err := os.ReadFile(f.path)
			if err != nil {
				return err
			}
			h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: made}
			h.SetMode(modeOf(f.name))
			to, err := zw.CreateHeader(h)
			if err != nil {
				return err
			}
			if _, err := to.Write(data); err != nil {
				return err
			}
		}
		return zw.Close()
	})
}

// modeOf returns the file mode in an archive.
func modeOf(name string) os.FileMode {
	if strings.HasPrefix(path.Base(name), "krmflow") {
		return 0o755
	}
	return 0o644
}

func create(name string, write func(io.Writer) error) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := write(f); err != nil {
		return err
	}
	return f.Close()
}
