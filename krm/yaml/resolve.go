package yaml

import (
	"strconv"
	"strings"
	"time"
)

// hint maps the first byte of a plain scalar to its possible types: 0 means string, other values
// select a case of the switch in resolve.
var hint = [256]uint8{
	'+': 'D', '-': 'D', '0': 'D', '1': 'D', '2': 'D', '3': 'D', '4': 'D', '5': 'D', '6': 'D', '7': 'D', '8': 'D', '9': 'D',
	'y': 'M', 'Y': 'M', 'n': 'M', 'N': 'M', 't': 'M', 'T': 'M', 'f': 'M', 'F': 'M', 'o': 'M', 'O': 'M', '~': 'M', '.': '.',
}

// resolve returns the value of a plain scalar as resolved by yaml/v3, or by yaml/v2 if yaml11 is
// set: null, boolean, number or string. It returns None for infinities and NaN, which JSON cannot
// represent.
func resolve(s string, yaml11 bool) Value {
	if s == "" {
		return OmittedNull
	}
	switch hint[s[0]] {
	case 'M':
		return resolveWord(s, yaml11)
	case '.':
		switch s {
		case ".nan", ".NaN", ".NAN", ".inf", ".Inf", ".INF":
			return Value{}
		}
		if _, err := strconv.ParseFloat(s, 64); err == nil {
			return Number(Float, s)
		}
	case 'D':
		return resolveNumber(s, yaml11)
	}
	return Str(s)
}

func resolveWord(s string, yaml11 bool) Value {
	switch s {
	case "true", "True", "TRUE", "false", "False", "FALSE":
		if yaml11 {
			return BoolValue(s[0]|0x20 == 't')
		}
		return scalar(Bool, s)
	case "~":
		return tildeNull
	case "null":
		return NullValue
	case "Null":
		return titleNull
	case "NULL":
		return upperNull
	}
	if yaml11 {
		switch s {
		case "y", "Y", "yes", "Yes", "YES", "on", "On", "ON":
			return BoolValue(true)
		case "n", "N", "no", "No", "NO", "off", "Off", "OFF":
			return BoolValue(false)
		}
	}
	return Str(s)
}

func resolveNumber(s string, yaml11 bool) Value {
	if len(s) <= 18 && isDecimal(s) {
		return Number(Int, s)
	}
	if !numberBytes(s) {
		return Str(s)
	}
	switch s {
	case "+.inf", "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF":
		return Value{}
	}
	if _, ok := parseTimestamp(s); ok {
		if yaml11 {
			return Str(s)
		}
		return scalar(Time, s)
	}
	if _, ok := parseInt(s, yaml11); ok {
		return Number(Int, s)
	}
	if _, ok := parseFloat(s); ok {
		return Number(Float, s)
	}
	return Str(s)
}

// isDecimal reports whether s is an integer in its output form.
func isDecimal(s string) bool {
	digits := strings.TrimPrefix(s, "-")
	if digits == "" || digits[0] == '0' && s != "0" {
		return false
	}
	for i := range len(digits) {
		if digits[i]-'0' > 9 {
			return false
		}
	}
	return true
}

// numberBytes reports whether all bytes of s can occur in numbers or timestamps.
func numberBytes(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c-'0' <= 9, c|0x20 >= 'a' && c|0x20 <= 'f':
		default:
			switch c {
			case '_', '+', '-', '.', ',', ':', 'T', 't', 'Z', ' ', 'x', 'X', 'o', 'O', 'i', 'I', 'n', 'N':
			default:
				return false
			}
		}
	}
	return true
}

// parseInt returns the decimal form of an integer of up to 64 bits. Besides decimal integers it
// accepts the forms 0x1F, 0b11, 0o17, 017 and 1_000.
func parseInt(s string, yaml11 bool) (string, bool) {
	if strings.IndexByte(s, '.') >= 0 {
		return "", false
	}
	plain := strings.ReplaceAll(s, "_", "")
	if n, err := strconv.ParseInt(plain, 0, 64); err == nil {
		return strconv.FormatInt(n, 10), true
	}
	if n, err := strconv.ParseUint(plain, 0, 64); err == nil {
		return strconv.FormatUint(n, 10), true
	}
	// yaml/v3 also accepts a sign after the prefix.
	if digits, ok := strings.CutPrefix(plain, "0b"); ok {
		n, err := strconv.ParseInt(digits, 2, 64)
		return strconv.FormatInt(n, 10), err == nil
	}
	if digits, ok := strings.CutPrefix(plain, "0o"); ok && !yaml11 {
		n, err := strconv.ParseInt(digits, 8, 64)
		return strconv.FormatInt(n, 10), err == nil
	}
	return "", false
}

func parseFloat(s string) (float64, bool) {
	plain := strings.ReplaceAll(s, "_", "")
	if !isFloat(plain) {
		return 0, false
	}
	f, err := strconv.ParseFloat(plain, 64)
	return f, err == nil
}

// isFloat reports whether s has the form [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?.
func isFloat(s string) bool {
	s = trimSign(s)
	whole := countDigits(s)
	s = s[whole:]
	if strings.HasPrefix(s, ".") {
		n := countDigits(s[1:])
		if whole+n == 0 {
			return false
		}
		s = s[1+n:]
	} else if whole == 0 {
		return false
	}
	if s == "" {
		return true
	}
	if s[0]|0x20 != 'e' {
		return false
	}
	s = trimSign(s[1:])
	return s != "" && countDigits(s) == len(s)
}

func trimSign(s string) string {
	if s != "" && (s[0] == '-' || s[0] == '+') {
		return s[1:]
	}
	return s
}

func countDigits(s string) int {
	n := 0
	for n < len(s) && s[n]-'0' <= 9 {
		n++
	}
	return n
}

// parseTimestamp parses the forms of timestamps in plain scalars.
func parseTimestamp(s string) (time.Time, bool) {
	if len(s) < 8 || s[4] != '-' || countDigits(s) != 4 {
		return time.Time{}, false
	}
	for _, layout := range [...]string{
		"2006-1-2T15:4:5.999999999Z07:00", "2006-1-2t15:4:5.999999999Z07:00", "2006-1-2 15:4:5.999999999", "2006-1-2",
	} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}
