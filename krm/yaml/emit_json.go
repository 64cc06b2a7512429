package yaml

import (
	"math"
	"strconv"
	"unicode/utf8"
)

// AppendJSON appends v in the form of encoding/json for a map[string]any: compact, with sorted
// keys and with <, > and & escaped. An integer too large for a float64 keeps its digits.
func AppendJSON(dst []byte, v Value) []byte {
	e := emitter{dst: dst}
	e.json(v)
	return e.dst
}

func (e *emitter) json(v Value) {
	switch v.typ {
	case String:
		if null := v.Settled(); null.typ == Null {
			e.dst = append(e.dst, e.null(null)...)
			return
		}
		e.dst = appendJSONString(e.dst, e.output(v))
	case Time:
		e.dst = appendJSONString(e.dst, e.time(v))
	case Bool, Int, Float:
		e.dst = appendLiteral(e.dst, v, true)
	case Seq, Map:
		e.open(v)
		e.jsonNode(v)
		e.close(v)
	default:
		e.dst = append(e.dst, e.null(v)...)
	}
}

func (e *emitter) jsonNode(v Value) {
	switch v.typ {
	case Seq:
		e.dst = append(e.dst, '[')
		for i, x := range v.Items() {
			if i > 0 {
				e.dst = append(e.dst, ',')
			}
			e.json(x)
		}
		e.dst = append(e.dst, ']')
	case Map:
		e.jsonMap(v.Fields())
	}
}

func (e *emitter) jsonMap(fields []Field) {
	base := len(e.fields)
	fields = e.sortedBytewise(fields)
	e.dst = append(e.dst, '{')
	for i := range fields {
		if i > 0 {
			e.dst = append(e.dst, ',')
		}
		e.dst = appendJSONString(e.dst, fields[i].Key)
		e.dst = append(e.dst, ':')
		e.json(fields[i].Value)
	}
	e.dst = append(e.dst, '}')
	e.fields = e.fields[:base]
}

func appendJSONString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c < 0x80 && c != '"' && c != '\\' && c != '<' && c != '>' && c != '&' {
			i++
			continue
		}
		size := 1
		var r rune
		if c >= 0x80 {
			if r, size = utf8.DecodeRuneInString(s[i:]); r != 0x2028 && r != 0x2029 && (r != utf8.RuneError || size > 1) {
				i += size
				continue
			}
		}
		dst = append(dst, s[start:i]...)
		switch {
		case size > 1:
			dst = append(dst, `\u202`...)
			dst = append(dst, hex[r&0xF])
		case c >= 0x80:
			dst = append(dst, `\ufffd`...)
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c >= '\b' && c <= '\r' && c != '\v':
			dst = append(dst, '\\', "btn-fr"[c-'\b'])
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xF])
		}
		i += size
		start = i
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

// appendLiteral appends a boolean or number in its output form.
func appendLiteral(dst []byte, v Value, json bool) []byte {
	s := v.Text()
	if v.typ == Bool {
		return strconv.AppendBool(dst, v.isTrue())
	}
	if v.typ == Int && len(s) <= 18 && isDecimal(s) {
		return append(dst, s...)
	}
	if n, ok := parseInt(s, false); ok && v.typ == Int {
		return append(dst, n...)
	}
	f, ok := parseFloat(s)
	if !ok {
		return append(dst, s...)
	}
	if tooLarge(s, f) {
		return append(dst, s...)
	}
	if json {
		return appendJSONFloat(dst, f)
	}
	if f == math.Trunc(f) && f >= -1<<63 && f < 1<<64 {
		if f < 0 {
			return strconv.AppendInt(dst, int64(f), 10)
		}
		return strconv.AppendUint(dst, uint64(f), 10)
	}
	return strconv.AppendFloat(dst, f, 'g', -1, 64)
}

// tooLarge reports whether s is an integer that a float64 cannot represent, so that f, the nearest
// float64, has a different value.
func tooLarge(s string, f float64) bool {
	digits := trimSign(s)
	if math.Abs(f) < 1<<63 || countDigits(digits) < len(digits) {
		return false
	}
	return strconv.FormatFloat(math.Abs(f), 'f', -1, 64) != digits
}

func appendJSONFloat(dst []byte, f float64) []byte {
	if abs := math.Abs(f); abs == 0 || abs >= 1e-6 && abs < 1e21 {
		return strconv.AppendFloat(dst, f, 'f', -1, 64)
	}
	dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
	if n := len(dst); dst[n-4] == 'e' && dst[n-3] == '-' && dst[n-2] == '0' {
		dst[n-2] = dst[n-1]
		dst = dst[:n-1]
	}
	return dst
}

// timeText returns the form of a timestamp in the output of encoding/json.
func timeText(s string) string {
	t, ok := parseTimestamp(s)
	if !ok {
		return s
	}
	return t.Format("2006-01-02T15:04:05.999999999Z07:00")
}
