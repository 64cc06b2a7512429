package console

import (
	"strings"
	"testing"

	"github.com/krmflow/krmflow/diag"
)

func TestExcerptMarksProblem(t *testing.T) {
	long := strings.Repeat("a", 300)
	for _, tt := range []struct {
		line, field, msg string
		code             diag.Code
		want             []string
	}{
		{"- path: patch.yml", "patches[1]", `"patch.yml" does not exist`, diag.NoSuchFile,
			[]string{"    2 | - path: patch.yml", "      |         ^^^^^^^^^"}},
		{"replicas: many # all", "spec.replicas", "must be an integer", diag.WrongType,
			[]string{"    2 | replicas: many # all", "      |           ^^^^"}},
		{"nam: x", "nam", `unknown field "nam"`, diag.UnknownField, []string{"    2 | nam: x", "      | ^^^"}},
		{"\t\tname: x", "", "found a tab", diag.InvalidYAML, []string{"    2 | \t\tname: x", "      | \t\t^^^^^^^"}},
		{"a: b\x1b[31m", "a", "bad", diag.BadValue, []string{`    2 | a: b\x1b[31m`, "      |    ^^^^^^^^^"}},
		// A name inside a longer name is not a match.
		{"[ab, b]", "x[1]", `"b" is wrong`, diag.BadValue, []string{"    2 | [ab, b]", "      |      ^"}},
		// A long line is cut on both sides.
		{"k: " + long + " bad " + long, "k", `"bad" is wrong`, diag.BadValue,
			[]string{"    2 | …" + long[:47] + " bad " + long[:47] + "…", "      | " + strings.Repeat(" ", 49) + "^^^"}},
		// No excerpt if the line may contain a password, if the message already has the line, or if
		// the position is only the start of a whole object.
		{"- https://me:secret@host/x", "resources[0]", "bad", diag.BadReference, nil},
		{"spec: {token: hunter2, nam: x}", "spec.nam", `unknown field "nam"`, diag.UnknownField, nil},
		{"name", "", `"name" is bad`, diag.BadValue, nil},
		{"apiVersion: v1", "", "the Service is bad", diag.SameID, nil},
	} {
		e := &diag.Error{Pos: diag.Pos{File: "f", Line: 2}, Field: tt.field, Msg: tt.msg}
		got := excerpt("first\n"+tt.line+"\nlast\n", e, tt.code)
		if strings.Join(got, "\n") != strings.Join(tt.want, "\n") {
			t.Errorf("%q:\n%s\nwant\n%s", tt.line, strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
		}
	}
	if got := excerpt("one\n", &diag.Error{Pos: diag.Pos{Line: 3}}, diag.InvalidYAML); got != nil {
		t.Errorf("a line that there is not: %q", got)
	}
}
