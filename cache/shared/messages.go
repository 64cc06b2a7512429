package shared

import (
	"encoding/hex"
	"math"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// This file encodes and decodes the protocol messages in use, with only the fields in use.
// Generated code for the whole protocol would add 0.4 ms to the start of every run.

// Enum values of the protocol.
const (
	sha256Function = 1
	zstdCompressor = 1
)

func appendBytes(b []byte, field protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), value)
}

// appendString appends a string field. Like appendInt, it omits the zero value, as the canonical
// encoding requires.
func appendString(b []byte, field protowire.Number, value string) []byte {
	if value == "" {
		return b
	}
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), value)
}

func appendInt(b []byte, field protowire.Number, value int64) []byte {
	if value == 0 {
		return b
	}
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), uint64(value))
}

func encodeBlob(b blob) []byte { return appendInt(appendString(nil, 1, b.hash()), 2, b.size) }

// encodeCommand returns a Command with its argument and output path.
func encodeCommand(argument, output string) []byte {
	return appendString(appendString(nil, 1, argument), 7, output)
}

// encodeAction returns an Action with the digests of its Command and its input Directory.
func encodeAction(command, root blob) []byte {
	return appendBytes(appendBytes(nil, 1, encodeBlob(command)), 2, encodeBlob(root))
}

// encodeResult returns an ActionResult with one OutputFile.
func encodeResult(path string, content blob) []byte {
	return appendBytes(nil, 2, appendBytes(appendString(nil, 1, path), 2, encodeBlob(content)))
}

// encodeGetCapabilities returns a GetCapabilitiesRequest.
func encodeGetCapabilities(instance string) []byte { return appendString(nil, 1, instance) }

// encodeGetResult returns a GetActionResultRequest that also asks for the content of the file.
func encodeGetResult(instance string, action blob, file string) []byte {
	b := appendBytes(appendString(nil, 1, instance), 2, encodeBlob(action))
	return appendInt(appendString(b, 5, file), 6, sha256Function)
}

// encodeUpdateResult returns an UpdateActionResultRequest.
func encodeUpdateResult(instance string, action blob, result []byte) []byte {
	b := appendBytes(appendString(nil, 1, instance), 2, encodeBlob(action))
	return appendInt(appendBytes(b, 3, result), 5, sha256Function)
}

// An upload is a part of a BatchUpdateBlobsRequest.
type upload struct {
	blob       blob
	data       []byte
	compressor int64
}

func encodeUploads(instance string, uploads []upload) []byte {
	b := appendString(nil, 1, instance)
	for _, u := range uploads {
		part := appendBytes(appendBytes(nil, 1, encodeBlob(u.blob)), 2, u.data)
		b = appendBytes(b, 2, appendInt(part, 3, u.compressor))
	}
	return appendInt(b, 5, sha256Function)
}

// encodeRead returns a ReadRequest.
func encodeRead(resource string) []byte { return appendString(nil, 1, resource) }

// encodeWrite returns a WriteRequest. Only the first request of a stream has a resource name.
func encodeWrite(resource string, offset int64, last bool, data []byte) []byte {
	b := appendInt(appendString(nil, 1, resource), 2, offset)
	if last {
		b = appendInt(b, 3, 1)
	}
	return appendBytes(b, 10, data)
}

// eachField calls f for each field of a message: with n for a varint field, and with data for a
// length-delimited field.
func eachField(b []byte, f func(field protowire.Number, n uint64, data []byte) error) error {
	for len(b) > 0 {
		field, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return wrongf("it sent an invalid message")
		}
		var number uint64
		var data []byte
		b = b[n:]
		switch kind {
		case protowire.VarintType:
			number, n = protowire.ConsumeVarint(b)
		case protowire.BytesType:
			data, n = protowire.ConsumeBytes(b)
		default: // other types are not used here
			field, n = 0, protowire.ConsumeFieldValue(field, kind, b)
		}
		if n < 0 {
			return wrongf("it sent a truncated message")
		}
		if err := f(field, number, data); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// eachInt calls f for each number of a repeated field, which is either a single number (data is
// nil) or packed.
func eachInt(n uint64, data []byte, f func(uint64)) error {
	if data == nil {
		f(n)
		return nil
	}
	for len(data) > 0 {
		n, length := protowire.ConsumeVarint(data)
		if length < 0 {
			return wrongf("it sent a truncated list of numbers")
		}
		f(n)
		data = data[length:]
	}
	return nil
}

func decodeBlob(data []byte) (b blob, err error) {
	err = eachField(data, func(field protowire.Number, n uint64, data []byte) error {
		switch field {
		case 1:
			if sum, err := hex.DecodeString(string(data)); err != nil || copy(b.sum[:], sum) != len(sum) || len(sum) != len(b.sum) {
				return wrongf("it sent a digest that is not SHA-256")
			}
		case 2:
			b.size = int64(n)
		}
		return nil
	})
	if err == nil && (b.size < 0 || b.size > MaxBlob) {
		return b, wrongf("it named a blob of %d bytes, but the limit is %d", uint64(b.size), MaxBlob)
	}
	return b, err
}

// decodeResult decodes an ActionResult, which must contain the file. content is nil if the server
// did not inline it.
func decodeResult(data []byte, file string) (b blob, content []byte, err error) {
	found := false
	err = eachField(data, func(field protowire.Number, n uint64, data []byte) error {
		switch {
		case field == 4 && n != 0:
			return wrongf("it returned the result of a failed action")
		case field != 2 || found:
			return nil
		}
		path, one, inline, err := decodeFile(data)
		if err == nil && path == file {
			found, b, content = true, one, inline
		}
		return err
	})
	if err == nil && !found {
		err = wrongf("it returned the result of a different action")
	}
	return b, content, err
}

func decodeFile(data []byte) (path string, b blob, content []byte, err error) {
	err = eachField(data, func(field protowire.Number, _ uint64, data []byte) (err error) {
		switch field {
		case 1:
			path = string(data)
		case 2:
			b, err = decodeBlob(data)
		case 5:
			content = data
		}
		return err
	})
	return path, b, content, err
}

// capabilities are the supported features of a server.
type capabilities struct {
	sha256, updates bool
	maxBatch        int64 // size limit of a batch in bytes; 0 if the server states none
	zstd, zstdBatch bool
}

// decodeCapabilities decodes ServerCapabilities.
func decodeCapabilities(data []byte) (c capabilities, err error) {
	err = eachField(data, func(field protowire.Number, _ uint64, data []byte) error {
		if field != 1 {
			return nil
		}
		return eachField(data, c.cacheField)
	})
	return c, err
}

// cacheField decodes a field of CacheCapabilities.
func (c *capabilities) cacheField(field protowire.Number, n uint64, data []byte) error {
	switch field {
	case 1:
		return eachInt(n, data, func(f uint64) { c.sha256 = c.sha256 || f == sha256Function })
	case 2:
		return eachField(data, func(field protowire.Number, n uint64, _ []byte) error {
			c.updates = c.updates || field == 1 && n != 0
			return nil
		})
	case 4:
		c.maxBatch = int64(min(n, math.MaxInt64))
	case 6:
		return eachInt(n, data, func(x uint64) { c.zstd = c.zstd || x == zstdCompressor })
	case 7:
		return eachInt(n, data, func(x uint64) { c.zstdBatch = c.zstdBatch || x == zstdCompressor })
	}
	return nil
}

// decodeUploaded decodes a BatchUpdateBlobsResponse. It returns an error if a blob was not
// stored.
func decodeUploaded(data []byte, sent int) error {
	n := 0
	err := eachField(data, func(field protowire.Number, _ uint64, data []byte) error {
		if field != 1 {
			return nil
		}
		n++
		return eachField(data, func(field protowire.Number, _ uint64, data []byte) error {
			if field != 2 {
				return nil
			}
			return decodeStatus(data)
		})
	})
	if err == nil && n < sent {
		err = wrongf("it stored %d of %d blobs", n, sent)
	}
	return err
}

// decodeStatus decodes a google.rpc.Status. It returns an error unless the code is 0.
func decodeStatus(data []byte) error {
	var code uint64
	var text string
	err := eachField(data, func(field protowire.Number, n uint64, data []byte) error {
		switch field {
		case 1:
			code = n
		case 2:
			text = string(data)
		}
		return nil
	})
	if err == nil && code != 0 {
		err = statusFailure(uint32(min(code, math.MaxUint32)), text)
	}
	return err
}

// decodeChunk decodes a ReadResponse.
func decodeChunk(data []byte) (chunk []byte, err error) {
	err = eachField(data, func(field protowire.Number, _ uint64, data []byte) error {
		if field == 10 {
			chunk = data
		}
		return nil
	})
	return chunk, err
}

// decodeCommitted decodes a WriteResponse.
func decodeCommitted(data []byte) (size int64, err error) {
	err = eachField(data, func(field protowire.Number, n uint64, _ []byte) error {
		if field == 1 {
			size = int64(n)
		}
		return nil
	})
	return size, err
}

// short returns the beginning of a server's message on one line.
func short(text string) string {
	const most = 200
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " ")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
