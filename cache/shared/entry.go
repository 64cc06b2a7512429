package shared

import (
	"encoding/hex"
	"fmt"
	"io"

	"github.com/krmflow/krmflow/krm"
)

// An entry is the encoding of a cache key for the Remote Execution API. Servers store results of
// actions, not values for keys, so newEntry builds an action that is never run: its command
// declares the key as its output file. The stored result names the same file, so a result for a
// different key is detected.
type entry struct {
	file            string // the output of the command
	command, action []byte
}

func newEntry(key krm.Digest) entry {
	e := entry{file: hex.EncodeToString(key[:])}
	e.command = encodeCommand("krmflow", e.file)
	e.action = encodeAction(blobOf(e.command), blobOf(nil)) // in an empty directory
	return e
}

// A blob is the digest and size of content on a server.
type blob struct {
	sum  krm.Digest
	size int64
}

func blobOf(data []byte) blob { return blob{krm.DigestOf(data), int64(len(data))} }

func (b blob) hash() string { return hex.EncodeToString(b.sum[:]) }

// check returns data if its size and digest match b.
func (b blob) check(data []byte) ([]byte, error) {
	switch {
	case int64(len(data)) > b.size:
		return nil, wrongf("it sent more than %d bytes for a blob of %d", b.size, b.size)
	case int64(len(data)) < b.size:
		return nil, wrongf("it sent %d bytes for a blob of %d", len(data), b.size)
	case krm.DigestOf(data) != b.sum:
		return nil, wrongf("it sent a blob that is not sha256:%s", b.hash())
	}
	return data, nil
}

// read reads the blob from r and verifies it. It reads at most one byte more than the expected
// size, and allocates memory only as data arrives, so a wrong size cannot exhaust memory.
func (b blob) read(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, b.size+1))
	if err != nil {
		return nil, err
	}
	return b.check(data)
}

func wrongf(format string, args ...any) *failure { return &failure{wrong, fmt.Errorf(format, args...)} }
func refusedf(format string, args ...any) *failure {
	return &failure{refused, fmt.Errorf(format, args...)}
}
func lostf(format string, args ...any) *failure { return &failure{lost, fmt.Errorf(format, args...)} }
