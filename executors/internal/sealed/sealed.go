// Package sealed keeps the content of a program from hashing to execution. On Linux it is in an
// anonymous file that no process can change any more, including this one.
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

// headSize is the maximum length of [Program.Head], enough for an ELF header with its table or
// for a "#!" line.
const headSize = 64 << 10

// A Program is the content of an executable file. It is safe for concurrent use.
type Program struct {
	Digest krm.Digest
	Size   int64
	Head   []byte // beginning of the content

	file *os.File // sealed; nil if the machine does not support that
	data []byte   // content if file is nil
}

// Read reads, hashes and keeps the content of r, which may have at most limit bytes.
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

// Open returns a program that another process has sealed, from the path of its file. It reads
// only the head and relies on digest being the digest of the file.
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

// both writes to two writers concurrently, because for a large program copying takes as long as
// hashing. Writes to hash must not fail.
type both struct{ hash, copy io.Writer }

func (w both) Write(p []byte) (n int, err error) {
	var hashed sync.WaitGroup
	hashed.Go(func() { w.hash.Write(p) })
	n, err = w.copy.Write(p)
	hashed.Wait()
	return n, err
}

// File returns the sealed file. It is nil if there is none; then only [Program.Copy] gives the
// program a path.
func (p *Program) File() *os.File { return p.file }

// Copy writes the program to a new file in dir that only its owner may read and execute.
func (p *Program) Copy(dir, name string) (path string, err error) {
	path = filepath.Join(dir, name)
	// A child forked concurrently would inherit the descriptor and keep the file busy until it
	// executes its program.
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

// Close frees the memory of the program.
func (p *Program) Close() {
	if p.file != nil {
		p.file.Close()
	}
}

// A buffer stores the first bytes written to it.
type buffer struct {
	data []byte
	left int64
}

func (b *buffer) Write(p []byte) (int, error) {
	n := min(int64(len(p)), b.left)
	b.data, b.left = append(b.data, p[:n]...), b.left-n
	return len(p), nil
}
