package affected

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/krmflow/krmflow/internal/review/inputs"
)

func TestReadNames(t *testing.T) {
	for _, c := range []struct {
		list string
		want []string
	}{
		{"", nil},
		{"a.yaml\nb c.yaml\n", []string{"a.yaml", "b c.yaml"}},
		{"a\r\n\nb", []string{"a", "b"}},
		{`"\303\244 \"q\".yaml"` + "\n", []string{`ä "q".yaml`}},
		{`"half` + "\n", []string{`"half`}},
		{"a\nb\x00\"c\"\x00", []string{"a\nb", `"c"`}},
		{"M\x00a.yaml\x00", []string{"M", "a.yaml"}},
		{"M file\n", []string{"M file"}},
	} {
		if got, err := ReadNames([]byte(c.list)); !slices.Equal(got, c.want) || err != nil {
			t.Errorf("%q: %q, %v, want %q", c.list, got, err, c.want)
		}
	}
	for _, list := range []string{"M\ta.yaml\n", "R100\ta.yaml\tb.yaml\n", "3\t-\ta.yaml\n", ":100644 100644 1111111 2222222 M\ta.yaml\n",
		" M a.yaml\n", "?? a.yaml\n", "D  a.yaml\n"} {
		if got, err := ReadNames([]byte(list)); err == nil {
			t.Errorf("%q is taken for the names %q", list, got)
		}
	}
}

// A changed path affects an input if it is the path of the input, or if the path of the input leads
// through it. A path below an input affects it only if the input is a whole directory, or may be
// one now.
func TestChangedPathAffectsInputs(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(top, "dir"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("dir", filepath.Join(top, "link")); err != nil {
		t.Skip("this machine makes no symbolic links")
	}
	for _, c := range []struct {
		named string
		in    inputs.Input
		want  bool
	}{
		{"dir/a", inputs.Input{Path: "dir/a", Kind: inputs.File}, true},
		{"link/a", inputs.Input{Path: "dir/a", Kind: inputs.File}, true},
		{"dir/./a", inputs.Input{Path: "dir/a", Kind: inputs.Absent}, true},
		{"dir/a", inputs.Input{Path: "dir/ab", Kind: inputs.File}, false},
		{"dir", inputs.Input{Path: "dir/a", Kind: inputs.File}, true},
		{"link", inputs.Input{Path: "link", Kind: inputs.Link}, true},
		{"dir/a/b", inputs.Input{Path: "dir/a", Kind: inputs.File}, false},
		{"dir/a/b", inputs.Input{Path: "dir/a", Kind: inputs.Absent}, true},
		{"dir/a/b", inputs.Input{Path: "dir/a", Kind: inputs.Folder}, true},
		{"gone/a", inputs.Input{Path: "gone/a", Kind: inputs.Absent}, true},
	} {
		in := c.in
		in.Path = filepath.Join(top, in.Path)
		if got := Files([]string{filepath.Join(top, c.named)}).Of(in); (len(got) > 0) != c.want {
			t.Errorf("%s for %v: %v", c.named, c.in, got)
		}
	}
}
