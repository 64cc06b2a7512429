package yaml

import (
	"slices"
	"strings"
	"unicode"
)

// compareKeys orders keys as yaml/v2 does when it writes a map: numbers within keys are compared
// by value, and letters follow all other characters.
func compareKeys(a, b string) int {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	if i == len(a) || i == len(b) {
		return len(a) - len(b)
	}
	x, y := a[i], b[i]
	from := 0 // start of the number that contains i
	if x < 0x80 && y < 0x80 {
		xl, yl := isLetter(x), isLetter(y)
		switch {
		case xl && yl:
			return int(x) - int(y)
		case xl:
			return 1
		case yl:
			return -1
		case x-'0' > 9 && y-'0' > 9:
			return int(x) - int(y)
		}
		for from = i; from > 0 && a[from-1]-'0' <= 9; {
			from--
		}
		if from > 0 && a[from-1] >= 0x80 {
			from = 0
		}
	}
	return compareRunes([]rune(a[from:]), []rune(b[from:]))
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func compareRunes(a, b []rune) int {
	for i := 0; i < len(a) && i < len(b); i++ {
		if a[i] == b[i] {
			continue
		}
		al, bl := unicode.IsLetter(a[i]), unicode.IsLetter(b[i])
		switch {
		case al && bl:
			return int(a[i] - b[i])
		case al:
			return 1
		case bl:
			return -1
		}
		return compareNumbers(a, b, i)
	}
	return len(a) - len(b)
}

// compareNumbers compares keys whose first different runes, at i, are not both letters.
func compareNumbers(a, b []rune, i int) int {
	var an, bn int64
	if a[i] == '0' || b[i] == '0' {
		for j := i - 1; j >= 0 && unicode.IsDigit(a[j]); j-- {
			if a[j] != '0' {
				an, bn = 1, 1
				break
			}
		}
	}
	ai, bi := i, i
	for ; ai < len(a) && unicode.IsDigit(a[ai]); ai++ {
		an = an*10 + int64(a[ai]-'0')
	}
	for ; bi < len(b) && unicode.IsDigit(b[bi]); bi++ {
		bn = bn*10 + int64(b[bi]-'0')
	}
	switch {
	case an != bn:
		if an < bn {
			return -1
		}
		return 1
	case ai != bi:
		return ai - bi
	}
	return int(a[i] - b[i])
}

// sortedBytewise returns fields in the order in which encoding/json writes a map.
func (e *emitter) sortedBytewise(fields []Field) []Field {
	for i := 1; i < len(fields); i++ {
		if fields[i-1].Key > fields[i].Key {
			base := len(e.fields)
			e.fields = append(e.fields, fields...)
			fields = e.fields[base:]
			slices.SortFunc(fields, func(a, b Field) int { return strings.Compare(a.Key, b.Key) })
			break
		}
	}
	return fields
}
