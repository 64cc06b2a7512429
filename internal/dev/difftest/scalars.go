package main

import (
	"math/rand/v2"
	"strings"
)

// random makes random choices.
type random struct{ *rand.Rand }

func (r *random) chance(p float64) bool { return r.Float64() < p }

// of returns one of the choices.
func of[T any](r *random, choices ...T) T { return choices[r.IntN(len(choices))] }

// some returns between one and n distinct choices.
func some[T any](r *random, n int, choices ...T) []T {
	picked := make([]T, 0, n)
	for _, i := range r.Perm(len(choices))[:1+r.IntN(min(n, len(choices)))] {
		picked = append(picked, choices[i])
	}
	return picked
}

// odd lists scalars with an ambiguous type or an unusual form.
var odd = []string{
	`1`, `-0`, `0`, `00`, `012`, `0x1F`, `0o17`, `0b11`, `1_000`, `1.10`, `1.0`, `1e3`, `.5`, `5.`, `+1`, `-1`, `80`,
	`"1"`, `'0'`, `"1.0"`, `"1e3"`, `9223372036854775807`, `18446744073709551615`, `1.5e300`, `0.1`, `"0x1F"`, `1:30`, `"1:30"`,
	`true`, `True`, `FALSE`, `yes`, `on`, `n`, `y`, `"true"`, `'no'`, `"on"`, `off`,
	`null`, `~`, ``, `Null`, `NULL`, `""`, `''`, `"null"`, `"~"`,
	`2001-01-01`, `"2001-01-01"`, `2001-12-14t21:59:43.10-05:00`, `2001-01-01 10:00:00`,
	`"a: b"`, `a b`, `'it''s'`, `"a\nb"`, `"a\n"`, `"\ta"`, `"é"`, `é`, `" a"`, `"a "`, `"#x"`, `a#b`, `"- a"`, `"{a}"`, `'[a]'`,
	`"{{ .x }}"`, `"%a"`, `"@a"`, `"a,b"`, `"!a"`, `"&a"`, `"*a"`, `"a\\b"`, `'a"b'`, `"|"`, `">"`, `"<<"`, `"="`, `"a\tb"`,
	`!!str 1`, `!!str a`, `!!int 7`, `!!float 1`, `!!str ""`, `!!null ""`,
	`$(VAR)`, `"$(VAR)-x"`, `a.b.c`, `a-b`, `a/b`, `a:b`, `"a=b"`, `"\u2028"`, `"\x07"`, `"😀"`, `"a\u00a0b"`,
	`aaaaaaaaaaaaaaa bbbbbbbbbbbbbbbbbbbbbbbbb cccccccccccccccccccccc dddddddddddddddddddddd eeeeeeeeeeeeeeeee ffffff`,
	`"aaaaaaaaaaaaaaa: bbbbbbbbbbbbbbbbbbbbbbbbb cccccccccccccccccccccc dddddddddddddddddddd  eeeeeeeeeeeeeee ffffff"`,
}

// lines are possible lines of block scalars.
var lines = []string{"a", "b c", "", "  more", "\ttab", " one", "x: y", "- z", "# n", "é", "a\tb", "{a: b}", "null", "1",
	"aaaaaaaaaaaaaaa bbbbbbbbbbbbbbbbbbbbbbbbb cccccccccccccccccccccc dddddddddddddddddddddd eeeeeeeeeeeeeeeee ffffff"}

// word returns a short plain string.
func (r *random) word() string { return of(r, "a", "b", "x", "web", "data", "nginx", "v2") }

// scalar returns the text of a scalar, usually a word.
func (r *random) scalar() string {
	switch n := r.Float64(); {
	case n < 0.6:
		return r.word()
	case n < 0.93:
		return odd[r.IntN(len(odd))]
	}
	return r.blockScalar()
}

// inlineScalar is like scalar, but never returns a block scalar.
func (r *random) inlineScalar() string {
	for {
		if s := r.scalar(); !strings.Contains(s, "\n") {
			return s
		}
	}
}

// textScalar returns the text of a scalar of type string.
func (r *random) textScalar() string {
	if r.chance(0.9) {
		return r.word()
	}
	return of(r, `"1"`, `"true"`, `""`, `'a b'`, `"null"`, `"a\nb"`, `"a: b"`, `é`, `a-b`, `"- a"`, `"012"`)
}

func (r *random) blockScalar() string {
	header := of(r, "|", "|", "|-", "|+", ">", ">", ">-", ">+")
	var body []string
	for range 1 + r.IntN(5) {
		line := lines[r.IntN(len(lines))]
		if strings.HasPrefix(line, "\t") && r.chance(0.8) {
			line = "a"
		}
		body = append(body, line)
	}
	first := strings.TrimLeft(strings.Join(body, "\n"), "\n")
	if strings.HasPrefix(first, " ") || strings.HasPrefix(first, "\t") {
		header = header[:1] + "2" + header[1:]
	}
	return header + "\n" + strings.Join(body, "\n")
}

// value returns a scalar or, less often, a list or a mapping.
func (r *random) value(depth int) *node {
	switch n := r.Float64(); {
	case depth > 0 && n < 0.1:
		m := mapping()
		for range r.IntN(3) {
			m.set(r.key(), r.value(depth-1))
		}
		return m
	case depth > 0 && n < 0.2:
		l := list()
		for range r.IntN(3) {
			l.items = append(l.items, r.value(depth-1))
		}
		return l
	}
	return text(r.scalar())
}

// key returns the name of a field.
func (r *random) key() string {
	if r.chance(0.97) {
		return of(r, "a", "b", "c", "k", "app", "tier", "x.y/z", "a-b", "a_1", "a1", "a10", "A")
	}
	return of(r, `"1"`, `"true"`, `"a b"`, `"null"`, `y`, `a-b`, `"é"`, `'a:b'`, `"012"`, `n`, `a_1`, `a1`, `a10`, `A`)
}

// strings returns a mapping for labels, annotations or data. Its values can be arbitrary
// scalars.
func (r *random) strings(n int) *node {
	m := mapping()
	for range 1 + r.IntN(n) {
		m.set(r.key(), r.scalar())
	}
	return m
}

// plainStrings is like strings, but all values are strings.
func (r *random) plainStrings(n int) *node {
	m := mapping()
	for range 1 + r.IntN(n) {
		m.set(r.key(), r.textScalar())
	}
	return m
}
