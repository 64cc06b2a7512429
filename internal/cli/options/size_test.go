package options

import "testing"

func TestSizeParsesAndFormats(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "1": 1, "4096": 4096, "4096B": 4096, "10MiB": 10 << 20, "10M": 10 << 20, "1.5GiB": 3 << 29, "2TiB": 2 << 40,
		"500kB": 500_000, "3GB": 3_000_000_000, "7K": 7 << 10,
	} {
		var s Size
		if err := s.Set(text); err != nil || int64(s) != want {
			t.Errorf("%s: %d, %v, want %d", text, s, err, want)
		}
		var again Size
		if err := again.Set(s.String()); err != nil || again != s {
			t.Errorf("%s: shown as %s, which is %d, %v", text, s.String(), again, err)
		}
	}
	for _, text := range []string{"", "M", "-1", "+1", "1e3", "0x10", "ten", "10 MiB", "10mib", "1,5G", "1..5G", "inf", "NaN",
		"99999999TiB", "10MiBB", "1_000", "10iB"} {
		var s Size
		if err := s.Set(text); err == nil {
			t.Errorf("%q is %d", text, s)
		}
	}
}
