package validate

import (
	"encoding/base64"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/validate/internal/openapi"
)

// scalar compares a scalar with s and reports whether v fits.
func (c *checker) scalar(s *schema, v yaml.Value) bool {
	n := len(c.findings)
	switch text := isString(v); s.what {
	case openapi.Bool:
		if v.Type() != yaml.Bool {
			c.wrongType("a boolean", v).Hints = withoutQuotes(v, yaml.Bool)
		}
	case openapi.Int32:
		c.integer(v, math.MinInt32, math.MaxInt32)
	case openapi.Int64:
		c.integer(v, math.MinInt64, math.MaxInt64)
	case openapi.Number:
		if !isNumber(v) {
			c.wrongType("a number", v).Hints = withoutQuotes(v, yaml.Float)
		}
	case openapi.IntOrString:
		if !text {
			c.intOrString(v)
		}
	case openapi.Quantity:
		c.quantity(v)
	default:
		c.text(s, v)
	}
	return len(c.findings) == n
}

// text compares v with a schema whose values are strings.
func (c *checker) text(s *schema, v yaml.Value) {
	if !isString(v) {
		f := c.wrongType("a string", v)
		if v.IsScalar() && !c.secret {
			f.Hints = []string{"write it in quotes: " + quoted(v)}
		}
		return
	}
	switch s.what {
	case openapi.String:
		if s.values != nil && v.Text() != "" && !slices.Contains(s.values, v.Text()) {
			c.found(WrongValue, v, "%s is not one of %s", c.show(v), strings.Join(s.values, ", ")).Hints = diag.DidYouMean(v.Text(),
				s.values)
		}
	case openapi.Bytes:
		if !isBase64(v.Text()) {
			c.found(WrongValue, v, "is not valid base64")
		}
	case openapi.Time:
		if _, err := time.Parse(time.RFC3339, v.Text()); err != nil {
			c.found(WrongValue, v, "%s is not a time such as 2006-01-02T15:04:05Z", c.show(v))
		}
	}
}

// show formats a value for messages. It hides values of Secrets.
func (c *checker) show(v yaml.Value) string {
	if c.secret {
		return "this"
	}
	if !isString(v) {
		return strings.Trim(quoted(v), `"`)
	}
	return quoted(v)
}

// isString reports whether v is written as a string.
func isString(v yaml.Value) bool { return v.Type() == yaml.String || v.Type() == yaml.Time }

func isNumber(v yaml.Value) bool { return v.Type() == yaml.Int || v.Type() == yaml.Float }

func (c *checker) integer(v yaml.Value, least, most int64) {
	if !isNumber(v) {
		c.wrongType("an integer", v).Hints = withoutQuotes(v, yaml.Int)
		return
	}
	n, ok := wholeNumber(v)
	switch {
	case !ok:
		c.wrongType("an integer", v)
	case c.config:
	case n == nil || n.Cmp(big.NewInt(least)) < 0 || n.Cmp(big.NewInt(most)) > 0:
		bits := 32
		if most == math.MaxInt64 {
			bits = 64
		}
		c.found(WrongValue, v, "%s does not fit in %d bits", c.show(v), bits)
	}
}

func (c *checker) intOrString(v yaml.Value) {
	if n, ok := wholeNumber(v); !ok {
		c.wrongType("an integer or a string", v)
	} else if !c.config && (n == nil || !n.IsInt64() || n.Int64() != int64(int32(n.Int64()))) {
		c.found(WrongValue, v, "%s does not fit in 32 bits", c.show(v))
	}
}

// wholeNumber returns the value of an integer or of a float without a fraction. n is nil if the
// number is too large to convert.
func wholeNumber(v yaml.Value) (n *big.Int, ok bool) {
	text := strings.ReplaceAll(v.Text(), "_", "")
	switch v.Type() {
	case yaml.Int:
		if i, err := strconv.ParseInt(text, 0, 64); err == nil {
			return big.NewInt(i), true
		}
		if len(text) > 100 {
			return nil, true
		}
		n, ok = new(big.Int).SetString(strings.TrimPrefix(text, "+"), 0)
		if !ok {
			return nil, true
		}
		return n, true
	case yaml.Float:
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsInf(x, 0) || x != math.Trunc(x) {
			return nil, false
		}
		if math.Abs(x) > 1e19 {
			return nil, true
		}
		n, _ = big.NewFloat(x).Int(nil)
		return n, true
	}
	return nil, false
}

var quantityForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$`)
})

func (c *checker) quantity(v yaml.Value) {
	switch {
	case isNumber(v):
	case !isString(v):
		c.wrongType("a quantity", v)
	case !isPlainQuantity(v.Text()) && !quantityForm().MatchString(strings.TrimSpace(v.Text())):
		c.found(WrongValue, v, "%s is not a quantity such as 500m, 2 or 1.5Gi", c.show(v))
	}
}

// isPlainQuantity reports whether text consists of digits and a common unit. It saves most
// quantities the regular expression.
func isPlainQuantity(text string) bool {
	digits := strings.TrimRight(text, "mkKMGTi")
	switch text[len(digits):] {
	case "", "m", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti":
	default:
		return false
	}
	for i := range len(digits) {
		if digits[i] < '0' || digits[i] > '9' {
			return false
		}
	}
	return digits != ""
}

func isBase64(text string) bool {
	if len(text) > 1<<10 {
		_, err := base64.StdEncoding.DecodeString(text)
		return err == nil
	}
	var buf [1 << 10]byte
	_, err := base64.StdEncoding.Decode(buf[:], []byte(text))
	return err == nil
}

// withoutQuotes returns a hint if v is a string that looks like a value of type t.
func withoutQuotes(v yaml.Value, t yaml.Type) []string {
	text := v.Text()
	if v.Type() != yaml.String || len(text) > 40 {
		return nil
	}
	var err error
	switch t {
	case yaml.Bool:
		if text != "true" && text != "false" {
			return nil
		}
	case yaml.Int:
		_, err = strconv.ParseInt(text, 10, 64)
	default:
		_, err = strconv.ParseFloat(text, 64)
	}
	if err != nil {
		return nil
	}
	return []string{"write it without quotes: " + text}
}
