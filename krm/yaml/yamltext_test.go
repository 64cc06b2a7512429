package yaml

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// scalarTexts are texts that look like other types, or almost.
var scalarTexts = strings.Fields(`0 00 08 007 -0 +1 1_0 1e3 1e 1.0 1. .5 . .. ... --- -- - -- ? ?x : :x x: a:b # #x x#y , [ ] { } & * ! | > ' " % @ x%
	0x1F 0xg 0b1 0b2 -0b1 0o17 -0o17 0o8 +0b1 0B1 0O7 0X1 1:30 1:60 190:20:30.15 -1:2 1:2:3x 12:30:45 2001-12-14 2001-1-1 2001-12-14t21:59:43.10-05:00
	2001-13-14 true True TRUE tRUE yes Yes YES no on off y n Y N ~ null Null NULL nULL .inf -.inf +.Inf .nan .NaN << <<x = != "x" 'x' it's a'b a"b a\b
	9223372036854775808 18446744073709551616 1e400 1,000 -x -1x +x _1 1__ 0_1 0x_1 0b 0x 0o /a /a:b http://x:80/y 25% 100m 64Mi 1.2.3 v1 ~x yesx`)

// FuzzScalarText compares ScalarText with kyaml's encoder.
func FuzzScalarText(f *testing.F) {
	for _, s := range scalarTexts {
		f.Add(s)
		f.Add(s + " ")
		f.Add(" " + s)
		f.Add("a " + s)
		f.Add(s + " b")
	}
	f.Add("")
	f.Add("\ttab")
	f.Add("ünïcode: x")
	f.Fuzz(func(t *testing.T, s string) {
		if strings.Contains(s, "\n") {
			return
		}
		if got, want := ScalarText(s), encodedText(s); got != want {
			t.Errorf("%q is written %s, want %s", s, got, want)
		}
	})
}

// TestScalarTextOfRandomTexts combines significant bytes at random.
func TestScalarTextOfRandomTexts(t *testing.T) {
	const bytes = "0000111223456789abcdefxoXOBTZtz_-+.:, #'\"\\~%!&*?[]{}|>@`=<yYnNeEiIlLuUfFrRsS/"
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		b := make([]byte, rnd.IntN(8))
		for i := range b {
			b[i] = bytes[rnd.IntN(len(bytes))]
		}
		if rnd.IntN(4) == 0 {
			b = append(b, scalarTexts[rnd.IntN(len(scalarTexts))]...)
		}
		if got, want := ScalarText(string(b)), encodedText(string(b)); got != want {
			t.Fatalf("%q is written %s, want %s", b, got, want)
		}
	}
}
