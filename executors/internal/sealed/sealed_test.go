package sealed

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/krm"
)

func TestReadSealsProgram(t *testing.T) {
	text := []byte("#!/bin/sh\n" + strings.Repeat("echo\n", 20000))
	p, err := Read(bytes.NewReader(text), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if p.Digest != krm.DigestOf(text) || p.Size != int64(len(text)) || !bytes.Equal(p.Head, text[:headSize]) {
		t.Errorf("digest %v, %d bytes, %d of the head", p.Digest, p.Size, len(p.Head))
	}
	if f := p.File(); f != nil {
		if _, err := f.WriteAt([]byte("x"), 0); err == nil {
			t.Error("the sealed file was written to")
		}
		if err := f.Truncate(0); err == nil {
			t.Error("the sealed file was cut off")
		}
	}
	// First as here, then as on a machine without anonymous files.
	for _, p := range []*Program{p, {Size: p.Size, data: text}} {
		path, err := p.Copy(t.TempDir(), "name")
		if err != nil {
			t.Fatal(err)
		}
		got, _ := os.ReadFile(path)
		info, _ := os.Stat(path)
		if !bytes.Equal(got, text) || info.Mode() != 0o500 {
			t.Errorf("copy of %d bytes, mode %v", len(got), info.Mode())
		}
	}
	if _, err := Read(bytes.NewReader(text), 1000); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("too large: %v", err)
	}
}
