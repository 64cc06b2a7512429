package revision

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/loaders/git"
)

// MaxFile is the size limit for files of a tree, in bytes.
const MaxFile = 64 << 20

// batch is a running git cat-file process that returns the content of one object at a time.
type batch struct {
	in     io.WriteCloser
	out    *bufio.Reader
	ended  chan struct{}
	cancel context.CancelFunc
}

// startBatch starts the process. It runs until ctx is done or close is called.
func startBatch(ctx context.Context, g *git.Git) (*batch, error) {
	ctx, cancel := context.WithCancel(ctx)
	cmd := g.Command(ctx, "cat-file", "--batch")
	in, errIn := cmd.StdinPipe()
	out, errOut := cmd.StdoutPipe()
	if err := errors.Join(errIn, errOut); err != nil {
		cancel()
		return nil, err
	}
	b := &batch{in: in, out: bufio.NewReaderSize(out, 64<<10), ended: make(chan struct{}), cancel: cancel}
	started := make(chan error)
	go func() { // On Linux git is killed when its parent thread ends, so this goroutine keeps the thread.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			<-ctx.Done()
			_ = cmd.Wait() // it was killed
		}
		close(b.ended)
	}()
	if err := <-started; err != nil {
		cancel()
		return nil, err
	}
	return b, nil
}

func (b *batch) close() {
	b.in.Close()
	b.cancel()
	<-b.ended
}

// errMissing reports an object that the repository does not have.
var errMissing = errors.New("missing")

// read returns the content and size of an object. If the object is larger than MaxFile, read
// returns only its size, and b must not be used again.
func (b *batch) read(id string) (data []byte, size int64, err error) {
	if _, err := io.WriteString(b.in, id+"\n"); err != nil {
		return nil, 0, err
	}
	line, err := b.out.ReadString('\n')
	if err != nil {
		return nil, 0, err
	}
	fields := strings.Fields(line)
	if len(fields) == 2 && fields[1] == "missing" {
		return nil, 0, errMissing
	}
	if len(fields) != 3 || fields[0] != id || fields[1] != "blob" {
		return nil, 0, fmt.Errorf("unexpected output of git: %q", diag.OneLine(strings.TrimSpace(line)))
	}
	if size, err = strconv.ParseInt(fields[2], 10, 64); err != nil || size < 0 {
		return nil, 0, fmt.Errorf("unexpected output of git: %q", diag.OneLine(strings.TrimSpace(line)))
	}
	if size > MaxFile {
		return nil, size, nil
	}
	data = make([]byte, size)
	if _, err := io.ReadFull(b.out, data); err != nil {
		return nil, 0, err
	}
	_, err = b.out.Discard(1)
	return data, size, err
}

// size returns the size of an object in bytes. The content read for this is kept for the next
// call of content.
func (t *Tree) size(id string) (int64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if size, ok := t.sizes[id]; ok {
		return size, nil
	}
	data, err := t.load(id)
	if err == nil && t.sizes[id] <= MaxFile {
		t.pending[id] = data
	}
	return t.sizes[id], err
}

// content returns the content of an object. The caller owns the slice.
func (t *Tree) content(id string) ([]byte, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if data, ok := t.pending[id]; ok {
		delete(t.pending, id)
		return data, nil
	}
	if src, ok := t.known[id]; ok {
		return bytes.Clone(src.Data), nil
	}
	data, err := t.load(id)
	if err == nil && t.sizes[id] > MaxFile {
		return nil, fmt.Errorf("it is larger than %d MiB", MaxFile>>20)
	}
	return data, err
}

// load reads an object and records its size. The caller must hold t.mu.
func (t *Tree) load(id string) (data []byte, err error) {
	defer func() {
		if err != nil {
			t.lacks.Store(true)
		}
	}()
	if t.ctx.Err() != nil {
		return nil, context.Cause(t.ctx)
	}
	if t.batch == nil {
		if t.batch, err = startBatch(t.ctx, t.git); err != nil {
			return nil, err
		}
	}
	data, size, err := t.batch.read(id)
	if err != nil && err != errMissing || size > MaxFile {
		t.batch.close() // the rest of the output would be taken for the next answer
		t.batch = nil
	}
	switch {
	case t.ctx.Err() != nil:
		return nil, context.Cause(t.ctx)
	case err == errMissing || err == io.EOF: // git exits if it would have to fetch the object
		return nil, t.absent(id)
	case err == nil:
		t.sizes[id] = size
	}
	return data, err
}
