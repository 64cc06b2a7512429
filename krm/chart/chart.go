// Package chart has helm charts as plain data, and the form in which they cross the wire to the executor that renders them.
package chart

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"path"

	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/yaml"
)

// A File is a file of a chart, or one with values for it.
type File struct {
	// Name is relative, with slashes.
	Name string
	Data []byte
}

// A Chart is a chart with the values that it is rendered with.
type Chart struct {
	// Name and Version are what its Chart.yaml says.
	Name, Version string
	// Source is where it comes from: a folder, or a repository without credentials.
	Source string
	// Digest is that of its files, see [DigestOf].
	Digest krm.Digest
	// Folder is the name of the folder that helm is given, and Files are what is in it.
	Folder string
	Files  []File `key:"-"`
	// Values are the files with values, beside the folder.
	Values []File
}

// String returns the chart as plans show it: with its version, where it comes from, and its digest.
func (c *Chart) String() string {
	text := c.Name
	if c.Version != "" {
		text += " " + c.Version
	}
	if c.Source != "" {
		text += " from " + c.Source
	}
	if !c.Digest.IsZero() {
		text += " " + c.Digest.String()
	}
	return text
}

// Dir is the folder in which the folders of charts lie when helm runs. Files with values lie beside it.
const Dir = "charts"

// DigestOf returns a digest of files: of their names and their bytes, in that order.
func DigestOf(files []File) krm.Digest {
	h := sha256.New()
	for _, f := range files {
		fmt.Fprintf(h, "%q %s\n", f.Name, krm.DigestOf(f.Data))
	}
	return krm.Digest(h.Sum(nil))
}

// File returns the bytes of a file of the chart.
func (c *Chart) File(name string) (data []byte, ok bool) {
	for _, f := range c.Files {
		if f.Name == name {
			return f.Data, true
		}
	}
	return nil, false
}

// Pack returns the chart and its values as an archive, a tar. Their bytes are not copied.
func (c *Chart) Pack() (yaml.Chunks, error) {
	var p packer
	for _, f := range c.Files {
		p.add(path.Join(Dir, c.Folder, f.Name), f.Data)
	}
	for _, f := range c.Values {
		p.add(f.Name, f.Data)
	}
	return append(p.out, make([]byte, 2*block)), p.err
}

// block is what everything in a tar archive is a multiple of.
const block = 512

// A packer writes an archive of chunks.
type packer struct {
	out yaml.Chunks
	err error
}

func (p *packer) add(name string, data []byte) {
	var head bytes.Buffer
	err := tar.NewWriter(&head).WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o600, Size: int64(len(data))})
	p.err = errors.Join(p.err, err)
	p.out = append(p.out, head.Bytes())
	if len(data) > 0 {
		p.out = append(p.out, data, make([]byte, -len(data)&(block-1)))
	}
}
