package helm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/krm/chart"
)

// Unpacking returns the packed content, whatever its size, and writes nothing outside of the
// folder.
func TestUnpackReversesPack(t *testing.T) {
	long := strings.Repeat("long/", 60) + "name"
	c := &chart.Chart{Folder: "web", Files: []chart.File{{Name: "empty"}, {Name: "a/b", Data: []byte(strings.Repeat("x", 512))},
		{Name: long, Data: []byte("y")}},
		Values: []chart.File{{Name: "values.yaml", Data: []byte("z")}}}
	packed, err := c.Pack()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := unpack(packed, dir); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"charts/web/empty": "", "charts/web/a/b": strings.Repeat("x", 512), "charts/web/" + long: "y",
		"values.yaml": "z"} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
			t.Errorf("%s is %q, %v", name, got, err)
		}
	}
	for _, name := range []string{"../out", "/out", "a/../../../out"} {
		c := &chart.Chart{Values: []chart.File{{Name: name}}}
		packed, err := c.Pack()
		if err == nil {
			err = unpack(packed, dir)
		}
		if err == nil {
			t.Errorf("%q was written", name)
		}
	}
}
