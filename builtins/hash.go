package builtins

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/krmflow/krmflow/krm"
)

// A HashTransformer appends a hash of their content to the names of the resources that need it, so that a changed
// ConfigMap is a new object and its users roll over to it.
type HashTransformer struct{}

// Configure does nothing: there is nothing to configure.
func (*HashTransformer) Configure(Env) error { return nil }

// Transform renames the resources of list that have NeedsHash.
func (*HashTransformer) Transform(list *krm.List, warn Warn) error {
	var buf []byte
	for i, r := range list.All() {
		if !r.NeedsHash {
			continue
		}
		if kind := r.ID().Kind; kind != "ConfigMap" && kind != "Secret" {
			warn("%s: kustomize hashes the layout of the file for this kind, krmflow the content: the name differs", r.ID())
		}
		buf = appendHashed(buf[:0], r.Value())
		r = r.Copy()
		r.PushID()
		r.SetName(r.ID().Name + "-" + nameHash(buf))
		list.Set(i, r)
	}
	return nil
}

// nameHash returns ten characters that are safe in a name; vowels and the digits 0, 1 and 3 are replaced so that no words
// come about.
func nameHash(data []byte) string {
	sum := sha256.Sum256(data)
	var text [10]byte
	hex.Encode(text[:], sum[:5])
	for i, c := range text {
		switch c {
		case '0':
			text[i] = 'g'
		case '1':
			text[i] = 'h'
		case '3':
			text[i] = 'k'
		case 'a':
			text[i] = 'm'
		case 'e':
			text[i] = 't'
		}
	}
	return string(text[:])
}

// appendHashed appends what the hash of v is computed from. The name is part of it for historical reasons, and empty by
// a mistake that can never be corrected.
func appendHashed(b []byte, v krm.Value) []byte {
	switch kind := v.Get("kind").Text(); kind {
	case "ConfigMap":
		b = append(b, '{')
		b = appendOptionalData(b, "binaryData", v)
		b = append(b, `"data":`...)
		b = appendData(b, v.Get("data"))
		return append(b, `,"kind":"ConfigMap","name":""}`...)
	case "Secret":
		b = append(b, `{"data":`...)
		b = appendData(b, v.Get("data"))
		b = append(b, `,"kind":"Secret","name":"",`...)
		b = appendOptionalData(b, "stringData", v)
		b = append(b, `"type":`...)
		b = appendData(b, v.Get("type"))
		return append(b, '}')
	}
	return appendGoJSON(b, v)
}

func appendOptionalData(b []byte, field string, v krm.Value) []byte {
	x := v.Get(field)
	if x.Type() != krm.Map && x.Type() != krm.Seq {
		return b
	}
	b = append(b, '"')
	b = append(b, field...)
	b = append(b, `":`...)
	return append(appendData(b, x), ',')
}

func appendData(b []byte, x krm.Value) []byte {
	switch x.Type() {
	case krm.Map:
		return appendGoJSON(b, x)
	case krm.Seq:
		return append(b, "null"...)
	case krm.Null:
		return append(b, `"null"`...)
	}
	return appendGoString(b, x.Text())
}

// appendGoJSON appends v as Go's encoding/json writes it after a round trip through interface values: sorted keys,
// numbers as float64, characters that are special in HTML escaped.
func appendGoJSON(b []byte, v krm.Value) []byte {
	switch v.Type() {
	case krm.Map:
		return appendGoObject(b, v)
	case krm.Seq:
		b = append(b, '[')
		for i, x := range v.Items() {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendGoJSON(b, x)
		}
		return append(b, ']')
	case krm.String:
		return appendGoString(b, v.Text())
	case krm.Bool:
		return strconv.AppendBool(b, strings.EqualFold(v.Text(), "true"))
	case krm.Int, krm.Float:
		return appendGoNumber(b, v.Text())
	}
	return append(b, "null"...)
}

func appendGoObject(b []byte, v krm.Value) []byte {
	fields := v.Fields()
	byKey := func(f, g krm.Field) int { return cmp.Compare(f.Key, g.Key) }
	if !slices.IsSortedFunc(fields, byKey) {
		fields = slices.Clone(fields)
		slices.SortFunc(fields, byKey)
	}
	b = append(b, '{')
	for i, f := range fields {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendGoString(b, f.Key)
		b = append(b, ':')
		b = appendGoJSON(b, f.Value)
	}
	return append(b, '}')
}

func appendGoNumber(b []byte, text string) []byte {
	f, err := strconv.ParseFloat(text, 64)
	if n, intErr := strconv.ParseInt(text, 0, 64); intErr == nil {
		f, err = float64(n), nil
	}
	if err != nil {
		return appendGoString(b, text)
	}
	format := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	start := len(b)
	b = strconv.AppendFloat(b, f, format, -1, 64)
	if n := len(b); format == 'e' && n-start >= 4 && string(b[n-4:n-1]) == "e-0" {
		b[n-2] = b[n-1]
		b = b[:n-1]
	}
	return b
}

func appendGoString(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c < utf8.RuneSelf && c != '"' && c != '\\' && c != '<' && c != '>' && c != '&' {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if c >= utf8.RuneSelf && r != '\u2028' && r != '\u2029' && (r != utf8.RuneError || size > 1) {
			i += size
			continue
		}
		b = append(b, s[start:i]...)
		b = appendGoEscape(b, r)
		i += size
		start = i
	}
	b = append(b, s[start:]...)
	return append(b, '"')
}

func appendGoEscape(b []byte, r rune) []byte {
	switch r {
	case '"', '\\':
		return append(b, '\\', byte(r))
	case '\b':
		return append(b, `\b`...)
	case '\f':
		return append(b, `\f`...)
	case '\n':
		return append(b, `\n`...)
	case '\r':
		return append(b, `\r`...)
	case '\t':
		return append(b, `\t`...)
	}
	const digits = "0123456789abcdef"
	return append(b, '\\', 'u', digits[r>>12&15], digits[r>>8&15], digits[r>>4&15], digits[r&15])
}
