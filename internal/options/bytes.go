package options

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/krmflow/krmflow/diag"
)

// Bytes is the value of a flag that is a number of bytes: 1048576, 512MiB or 2GB. Units of three letters count in steps of 1,024, others in
// steps of 1,000.
type Bytes int64

// units are the factors of the units, those that end like others first.
var units = []struct {
	name  string
	bytes float64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"Ki", 1 << 10}, {"Mi", 1 << 20}, {"Gi", 1 << 30}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"B", 1}}

// Set sets the value.
func (b *Bytes) Set(text string) error {
	number, factor := text, 1.0
	for _, u := range units {
		if rest, ok := strings.CutSuffix(text, u.name); ok {
			number, factor = rest, u.bytes
			break
		}
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if n *= factor; err != nil || math.IsNaN(n) || n < 1 || n >= math.MaxInt64 {
		return errors.New("want a number of bytes such as 512MiB or 2GiB")
	}
	*b = Bytes(n)
	return nil
}

// String returns the value.
func (b *Bytes) String() string {
	if *b == 0 {
		return ""
	}
	return strings.ReplaceAll(diag.Size(int64(*b)), " ", "")
}

// Type says in help what a value is.
func (b *Bytes) Type() string { return "SIZE" }
