// Package sealed keeps the bytes of a program from the moment that they are hashed to the moment that they run: on Linux in
// an anonymous file that nobody, not even this process, can change any more.
package sealed

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/krmflow/krmflow/krm"
)

// headSize is what [Program.Head] holds at most: enough for an ELF header with its table, or for a "#!" line.
const headSize = 64 << 10

// A Program is the content of an executable file. It may be used by many goroutines.
type Program struct {
	Digest krm.Digest
	Size   int64
	Head   []byte // how the file begins

	file *os.File // sealed; nil where the machine has no such thing
	data []byte   // the content, if file is nil
}

// Read takes over the content of r, which may not exceed limit bytes.
func Read(r io.Reader, limit int64) (*Program, error) {
	p := &Program{}
	file, err := create()
	if err != nil {
		return nil, err
	}
	hash := sha256.New()
	var head, data buffer
	head.left = headSize
	var copy io.Writer = &data
	if file != nil {
		p.file, copy = file, file
	} else {
		data.left = limit + 1
	}
	p.Size, err = io.CopyBuffer(both{hash, io.MultiWriter(&head, copy)}, io.LimitReader(r, limit+1), make([]byte, 256<<10))
	if err == nil && p.Size > limit {
		err = fmt.Errorf("larger than %d MiB", limit>>20)
	}
	if err == nil && file != nil {
		err = seal(file)
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	hash.Sum(p.Digest[:0])
	p.Head, p.data = head.data, data.data
	return p, nil
}

// Open returns a program that another process has read and sealed, with the digest that it says, from the path of its file. Nothing is read but
// its head.
func Open(path string, digest krm.Digest) (*Program, error) {
	file, err := open(path)
	if err != nil {
		return nil, err
	}
	p := &Program{Digest: digest, file: file}
	info, err := file.Stat()
	if err == nil {
		p.Size = info.Size()
		p.Head = make([]byte, min(p.Size, headSize))
		_, err = file.ReadAt(p.Head, 0)
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// both writes to two writers at the same time: a large program takes as long to copy as to hash. The first one must not fail.
type both struct{ hash, copy io.Writer }

func (w both) Write(p []byte) (n int, err error) {
	var hashed sync.WaitGroup
	hashed.Go(func() { w.hash.Write(p) })
	n, err = w.copy.Write(p)
	hashed.Wait()
	return n, err
}

// File returns the sealed file, nil if there is none and only [Program.Copy] can give the program a path.
func (p *Program) File() *os.File { return p.file }

// Copy writes the program to a new file that only its owner may read and execute, in dir.
func (p *Program) Copy(dir, name string) (path string, err error) {
	path = filepath.Join(dir, name)
	// A child that another goroutine forks meanwhile would inherit the descriptor and make the file busy until it executes.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o500)
	if err != nil {
		return "", err
	}
	if p.file != nil {
		_, err = io.Copy(f, io.NewSectionReader(p.file, 0, p.Size))
	} else {
		_, err = f.Write(p.data)
	}
	if e := f.Close(); err == nil {
		err = e
	}
	return path, err
}

// Close gives the program's memory back.
func (p *Program) Close() {
	if p.file != nil {
		p.file.Close()
	}
}

// A buffer keeps the first bytes that are written to it.
type buffer struct {
	data []byte
	left int64
}

func (b *buffer) Write(p []byte) (int, error) {
	n := min(int64(len(p)), b.left)
	b.data, b.left = append(b.data, p[:n]...), b.left-n
	return len(p), nil
}
