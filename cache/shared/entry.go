package shared

import (
	"encoding/hex"
	"fmt"
	"io"

	"github.com/krmflow/krmflow/krm"
)

// An entry says what the result for a key is called. Servers keep results of actions, so that a key becomes one which nobody can run: its
// command names the key as the file that it makes. The result names that file, too. So an answer to another question is no answer to this one.
type entry struct {
	file            string // what the command makes
	command, action []byte
}

func newEntry(key krm.Digest) entry {
	e := entry{file: hex.EncodeToString(key[:])}
	e.command = encodeCommand("krmflow", e.file)
	e.action = encodeAction(blobOf(e.command), blobOf(nil)) // in an empty directory
	return e
}

// A blob is the digest of something that a server has.
type blob struct {
	sum  krm.Digest
	size int64
}

func blobOf(data []byte) blob { return blob{krm.DigestOf(data), int64(len(data))} }

func (b blob) hash() string { return hex.EncodeToString(b.sum[:]) }

// check returns the data if it is that of b.
func (b blob) check(data []byte) ([]byte, error) {
	switch {
	case int64(len(data)) > b.size:
		return nil, wrongf("it sends more than %d bytes for a blob of %d", b.size, b.size)
	case int64(len(data)) < b.size:
		return nil, wrongf("it sends %d bytes for a blob of %d", len(data), b.size)
	case krm.DigestOf(data) != b.sum:
		return nil, wrongf("it sends a blob that is not sha256:%s", b.hash())
	}
	return data, nil
}

// read reads the blob. What is larger than it ought to be is not read further, and memory is taken as the bytes come.
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
