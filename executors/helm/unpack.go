package helm

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/krmflow/krmflow/krm/yaml"
)

// unpack extracts a chart packed by [chart.Chart.Pack] to an empty directory.
func unpack(archive yaml.Chunks, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	var parts []io.Reader
	for _, c := range archive {
		parts = append(parts, bytes.NewReader(c))
	}
	r := tar.NewReader(io.MultiReader(parts...))
	for {
		h, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := unpackFile(root, filepath.FromSlash(h.Name), r); err != nil {
			return err
		}
	}
}

func unpackFile(root *os.Root, name string, r io.Reader) error {
	if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Close())
}
