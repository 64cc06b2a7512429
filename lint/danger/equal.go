package danger

import (
	"math/big"
	"strings"

	"github.com/krmflow/krmflow/krm/yaml"
)

// defaults are the values that an API server sets for absent fields of pods, volumes and
// references. The names have the same meaning wherever they occur in the fields of [Rules].
var defaults = map[string]string{
	"apiGroup":                      "rbac.authorization.k8s.io",
	"dnsPolicy":                     "ClusterFirst",
	"protocol":                      "TCP",
	"schedulerName":                 "default-scheduler",
	"terminationGracePeriodSeconds": "30",
	"terminationMessagePath":        "/dev/termination-log",
	"terminationMessagePolicy":      "File",
	"volumeMode":                    "Filesystem",
}

// equal reports whether an API server sees two values as equal: empty and absent values are equal,
// and so are an absent field and its default, and two forms of a quantity.
func equal(a, b yaml.Value) bool {
	switch {
	case a.Same(b), a.IsEmpty() && b.IsEmpty():
		return true
	case (a.Type() == yaml.Map || a.IsNull()) && (b.Type() == yaml.Map || b.IsNull()):
		return equalFields(a, b) && equalFields(b, a)
	case a.Type() == yaml.Seq && b.Type() == yaml.Seq:
		if a.Len() != b.Len() {
			return false
		}
		for i, x := range a.Items() {
			if !equal(x, b.Items()[i]) {
				return false
			}
		}
		return true
	case a.IsScalar() && b.IsScalar():
		return a.Text() == b.Text() && (a.Type() == yaml.String) == (b.Type() == yaml.String)
	}
	return false
}

// equalFields reports whether two mappings have equal fields. It visits each pair once: a second
// visit would double the time at each level of nesting.
func equalFields(a, b yaml.Value) bool {
	others := make(map[string]yaml.Value, b.Len())
	for _, f := range b.Fields() {
		others[f.Key] = f.Value
	}
	for _, f := range a.Fields() {
		if !equalField(f.Key, f.Value, others[f.Key]) {
			return false
		}
		delete(others, f.Key)
	}
	for key, other := range others {
		if !equalField(key, yaml.Value{}, other) {
			return false
		}
	}
	return true
}

// equalField reports whether two values of a field are equal. One of them may be absent.
func equalField(key string, a, b yaml.Value) bool {
	isDefault := func(v yaml.Value) bool { return v.IsScalar() && v.Text() == defaults[key] && v.Text() != "" }
	switch {
	case !a.Exists() && isDefault(b), !b.Exists() && isDefault(a):
		return true
	case isAmounts(key) && a.Type() == yaml.Map && b.Type() == yaml.Map:
		return equalAmounts(a, b)
	}
	return equal(a, b)
}

// isAmounts reports whether the values of a field are quantities.
func isAmounts(field string) bool {
	return field == "requests" || field == "limits" || field == "capacity"
}

// equalAmounts reports whether two mappings have equal quantities.
func equalAmounts(a, b yaml.Value) bool {
	if a.Len() != b.Len() {
		return false
	}
	for _, f := range a.Fields() {
		other := b.Get(f.Key)
		if x, y := quantity(f.Value), quantity(other); !equal(f.Value, other) && (x == nil || y == nil || x.Cmp(y) != 0) {
			return false
		}
	}
	return true
}

// suffixes are the units of quantities.
var suffixes = []struct {
	unit  string
	base  int64
	power int64
}{
	{"Ki", 1024, 1}, {"Mi", 1024, 2}, {"Gi", 1024, 3}, {"Ti", 1024, 4}, {"Pi", 1024, 5}, {"Ei", 1024, 6},
	{"k", 1000, 1}, {"M", 1000, 2}, {"G", 1000, 3}, {"T", 1000, 4}, {"P", 1000, 5}, {"E", 1000, 6},
}

// quantity returns the value of a quantity such as "10Gi", nil if v is not a quantity.
func quantity(v yaml.Value) *big.Rat {
	text := v.Text()
	if !v.IsScalar() || len(text) > 64 {
		return nil
	}
	factor := big.NewRat(1, 1)
	small := map[string]int64{"m": 1e3, "u": 1e6, "n": 1e9}
	if n := len(text); n > 1 && small[text[n-1:]] > 0 {
		factor, text = big.NewRat(1, small[text[n-1:]]), text[:n-1]
	}
	for _, s := range suffixes {
		if number, ok := strings.CutSuffix(text, s.unit); ok {
			factor.SetInt(new(big.Int).Exp(big.NewInt(s.base), big.NewInt(s.power), nil))
			text = number
			break
		}
	}
	number, power, _ := strings.Cut(strings.ToLower(text), "e")
	if strings.Trim(number, "+-.0123456789") != "" || number == "" || len(power) > 3 {
		return nil // an exponent could otherwise take all memory
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil
	}
	return r.Mul(r, factor)
}
