package reference

import "testing"

func TestIsVersion(t *testing.T) {
	for _, c := range []struct {
		version, wanted string
		want            bool
	}{
		{"1.2.3", "1.2.3", true}, {"1.2.3", "v1.2.3", true}, {"v1.2.3", "1.2.3", true}, {"1.2.3+b", "1.2.3", true},
		{"1.2.4", "1.2.3", false},
		{"1.2.3", "", true}, {"1.2.3-rc1", "", false}, {"1.2.3-rc1", AnyVersion, true}, {"1.2.3", AnyVersion, true},
		{"1.2.3", "*", true}, {"1.2.3", "1.x", true}, {"2.0.0", "1.x", false}, {"1.2.9", "1.2", true}, {"1.3.0", "1.2.*", false},
		{"1.9.0", "^1.2", true}, {"1.1.9", "^1.2", false}, {"2.0.0", "^1.2", false}, {"0.2.9", "^0.2.3", true}, {"0.3.0", "^0.2.3", false},
		{"0.0.3", "^0.0.3", true}, {"0.0.4", "^0.0.3", false}, {"0.5.0", "^0", true}, {"1.0.0", "^0", false}, {"1.5.0", "^1.x", true},
		{"1.2.9", "~1.2.3", true}, {"1.3.0", "~1.2.3", false}, {"1.9.0", "~1", true}, {"2.0.0", "~>1", false},
		{"1.5.0", ">=1.2, <2", true}, {"2.0.0", ">=1.2 <2", false}, {"1.5.0", ">= 1.2, < 2.0.0", true}, {"1.1.0", ">=1.2", false},
		{"1.2.9", ">1.2", false}, {"1.3.0", ">1.2", true}, {"1.2.9", "<=1.2", true}, {"1.3.0", "<=1.2", false}, {"1.9.0", "<=1", true},
		{"1.3.0", "1.2 - 1.4", true}, {"1.4.5", "1.2 - 1.4", true}, {"1.5.0", "1.2 - 1.4", false},
		{"3.0.0", "1.x || 3.x", true}, {"2.0.0", "1.x || 3.x", false}, {"1.2.3", "!=1.2.3", false}, {"1.2.4", "!=1.2.3", true},
		{"1.2.3-rc.2", ">=1.2.3-rc.1", true}, {"1.2.3-rc.1", ">=1.2.3-rc.2", false}, {"1.2.3-rc.10", ">1.2.3-rc.9", true},
		{"latest", "", false}, {"latest", "latest", true}, {"1.2.3", "nonsense", false}, {"1.2.3", "^", false},
	} {
		if got := IsVersion(c.version, c.wanted); got != c.want {
			t.Errorf("IsVersion(%q, %q) is %t", c.version, c.wanted, got)
		}
	}
}

func TestLastVersion(t *testing.T) {
	versions := []string{"1.2.0", "1.10.0", "2.0.0-rc.1", "1.9.9", "nonsense", "v0.1.0"}
	for wanted, want := range map[string]string{"": "1.10.0", "^1.2": "1.10.0", "~1.2": "1.2.0", AnyVersion: "2.0.0-rc.1",
		"nonsense": "nonsense", "0.x": "v0.1.0", "3.x": ""} {
		if got, ok := LastVersion(versions, wanted); got != want || ok != (want != "") {
			t.Errorf("LastVersion(%q) is %q, %t, want %q", wanted, got, ok, want)
		}
	}
}
