// Package chart represents Helm charts as plain data, and packs them into archives for the
// executor that renders them.
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

// A File is a file of a chart, or a values file.
type File struct {
	// Name is a relative, slash-separated path.
	Name string
	Data []byte
}

// A Chart is a Helm chart together with its values files.
type Chart struct {
	// Name and Version are those in Chart.yaml.
	Name, Version string
	// Source is the origin of the chart: a folder, or a repository without credentials.
	Source string
	// Digest identifies the chart's files: see [DigestOf].
	Digest krm.Digest
	// Folder is the name of the chart's folder as helm sees it, and Files are its contents.
	Folder string
	Files  []File
	// Values are the values files. In the archive they are beside [Dir].
	Values []File
}

// String returns the form for plans: name, version, source and digest.
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

// Dir is the directory that contains the chart folders when helm runs.
const Dir = "charts"

// DigestOf returns a digest of the names and contents of files, in the given order.
func DigestOf(files []File) krm.Digest {
	h := sha256.New()
	for _, f := range files {
		fmt.Fprintf(h, "%q %s\n", f.Name, krm.DigestOf(f.Data))
	}
	return krm.Digest(h.Sum(nil))
}

// File returns the contents of the named file of the chart.
func (c *Chart) File(name string) (data []byte, ok bool) {
	for _, f := range c.Files {
		if f.Name == name {
			return f.Data, true
		}
	}
	return nil, false
}

// Pack returns the chart and its values files as a tar archive. It does not copy file contents.
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

// block is the block size of a tar archive: headers and contents are padded to a multiple of it.
const block = 512

// A packer writes a tar archive as chunks.
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
