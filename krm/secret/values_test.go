package secret_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/secret"
	"github.com/krmflow/krmflow/krm/yaml"
)

func TestSetHide(t *testing.T) {
	s := secret.NewSet(func(s *secret.Set) {
		s.Add(
			read(t,
				`{kind: Secret, stringData: {a: hunter22, b: 'say "hi"', c: abcd, d: "true", e: "5432", f: "123456", g: rookery, "x_y.pass-word": pass-word, i: default, j: admin, h: "one long first line\nand a second one\n"}}`))
		s.Add(read(t, `{kind: Secret, data: {a: `+base64.StdEncoding.EncodeToString([]byte("encoded one"))+`}}`))
		s.AddTaken("tkn1")
		s.AddTaken("42")
		s.Public("main-rookery")
	})
	for _, c := range []struct{ text, want string }{
		{"hunter22", "(hidden)"},
		{"hunter22\n", "(hidden)"},
		{"a hunter22 b hunter22", "a (hidden) b (hidden)"},
		{"hunter2", "hunter2"},
		{`{"x":"say \"hi\""}`, `{"x":"(hidden)"}`},
		{base64.StdEncoding.EncodeToString([]byte("hunter22")), "(hidden)"},
		{"encoded one", "(hidden)"},
		{"abcd", "(hidden)"},
		{"xabcdx", "xabcdx"},
		{`field: "abcd" is wrong`, "field: (hidden) is wrong"},
		{"true", "true"},
		{"5432", "5432"},
		{"123456", "(hidden)"},
		{"rookery", "rookery"},
		{"image rookery:16", "image rookery:16"},
		{"pass-word", "pass-word"},
		{"--a-pass-word=x", "--a-pass-word=x"},
		{"default", "default"},
		{"an admin", "an admin"},
		{"key:\n    one long first line\n    and a second one\n", "key:\n    (hidden)\n    (hidden)\n"},
		{"atkn1b", "a(hidden)b"},
		{"42", "(hidden)"},
		{"x42", "x42"},
		{"", ""},
	} {
		if got := s.Hide(c.text); got != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
	v := s.HideValue(read(t, `{metadata: {name: hunter22-tkn1, labels: {a: hunter22}}, spec: {port: 42, list: [123456, 7]}}`))
	want := "metadata:\n  labels:\n    a: (hidden)\n  name: hunter22-(hidden)\nspec:\n  list:\n  - (hidden)\n  - 7\n  port: (hidden)\n"
	if got := string(yaml.AppendYAML(nil, v)); got != want {
		t.Errorf("value\n%s, want\n%s", got, want)
	}
	cause := diag.Errorf(diag.Pos{File: "f", Line: 1}, "", "bad value %q", "hunter22").With(diag.BadValue).Hint("not hunter22")
	got := s.Err(cause)
	if got.Error() != "f:1: bad value \"(hidden)\"\n  not (hidden)" || diag.CodeOf(got) != diag.BadValue {
		t.Errorf("error %v, %s", got, diag.CodeOf(got))
	}
	if other := diag.BadValue.Errorf("fine"); s.Err(other) != error(other) {
		t.Error("an error without values has changed")
	}
}

func TestNilSetHidesNothing(t *testing.T) {
	var s *secret.Set
	if s.Hide("hunter22") != "hunter22" || (&secret.Set{}).Hide("hunter22") != "hunter22" || s.Name("n") != "n" {
		t.Error("something is hidden")
	}
}

// TestLargeSetIsFast has the values of 1,000 Secrets with 100 keys and a common prefix.
func TestLargeSetIsFast(t *testing.T) {
	var s secret.Set
	begin := time.Now()
	for i := range 100_000 {
		s.AddValue(fmt.Sprintf("secret-value-%06d", i))
	}
	text := strings.Repeat("secret-value, secret-valu, secre ", 1<<15) + "secret-value-012345"
	if got := s.Hide(text); !strings.HasSuffix(got, "secre (hidden)") {
		t.Errorf("the end is %q", got[len(got)-30:])
	}
	if took := time.Since(begin); took > time.Minute {
		t.Errorf("took %v", took)
	}
}
