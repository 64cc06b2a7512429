package options

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A Size is a flag value in bytes: "10MiB", "1.5GiB", "500kB", "4096".
type Size int64

// units are the units of a [Size]. A single letter is a binary unit, as in du and sort. Ki and
// Mi have the same meaning as in Kubernetes.
var units = []struct {
	names []string
	bytes int64
}{
	{[]string{"TiB", "Ti", "T"}, 1 << 40}, {[]string{"GiB", "Gi", "G"}, 1 << 30}, {[]string{"MiB", "Mi", "M"}, 1 << 20},
	{[]string{"KiB", "Ki", "K"}, 1 << 10},
	{[]string{"TB"}, 1e12}, {[]string{"GB"}, 1e9}, {[]string{"MB"}, 1e6}, {[]string{"kB", "KB"}, 1e3}, {[]string{"B", ""}, 1},
}

func (s *Size) String() string {
	n := int64(*s)
	for _, u := range units[:4] {
		if n >= u.bytes && n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.names[0]
		}
	}
	return strconv.FormatInt(n, 10)
}

// Type returns the name of the value in help.
func (s *Size) Type() string { return "size" }

// Set parses the value.
func (s *Size) Set(text string) error {
	digits := strings.TrimRight(text, "KMGTiBk")
	for _, u := range units {
		for _, name := range u.names {
			if text[len(digits):] != name {
				continue
			}
			n, err := strconv.ParseFloat(digits, 64)
			if err != nil || strings.Trim(digits, "0123456789.") != "" {
				continue
			}
			if n *= float64(u.bytes); n >= math.MaxInt64 {
				return strconv.ErrRange
			}
			*s = Size(n)
			return nil
		}
	}
	return fmt.Errorf("%q is not a size, such as 10MiB, 1.5GiB or 4096", text)
}
