package builtins

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/krmflow/krmflow/krm"
)

// sameStyle returns text in the style of old: kustomize replaces the text of a scalar and keeps its quotes or their
// absence, so that an unquoted text may turn into a number. Whether a string had quotes is not known unless it needed
// them; one that did not need them is taken for unquoted.
func sameStyle(old krm.Value, text string) krm.Value {
	if old.Type() == krm.String && plainScalar(old.Text()).Type() != krm.String {
		return krm.Str(text)
	}
	return plainScalar(text)
}

// plainScalar returns what text is in YAML without quotes.
func plainScalar(text string) krm.Value {
	switch text {
	case "", "~", "null", "Null", "NULL":
		return krm.NullValue
	case "true", "True", "TRUE":
		return krm.BoolValue(true)
	case "false", "False", "FALSE":
		return krm.BoolValue(false)
	}
	if text[0] > '9' || strings.IndexByte("+-.0123456789", text[0]) < 0 {
		return krm.Str(text)
	}
	digits := strings.ReplaceAll(text, "_", "")
	if _, err := strconv.ParseInt(digits, 0, 64); err == nil {
		return krm.Number(krm.Int, text)
	}
	if isFloat(text) {
		return krm.Number(krm.Float, text)
	}
	return krm.Str(text)
}

// isFloat accepts [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?
func isFloat(text string) bool {
	text = strings.TrimLeft(text[:1], "+-") + text[1:]
	mantissa, exponent, ok := strings.Cut(strings.ToLower(text), "e")
	if ok {
		if exponent != "" && (exponent[0] == '+' || exponent[0] == '-') {
			exponent = exponent[1:]
		}
		if exponent == "" || !allDigits(exponent) {
			return false
		}
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	return allDigits(whole+fraction) && (whole != "" || fraction != "")
}

func allDigits(s string) bool { return strings.Trim(s, "0123456789") == "" }

func errNotScalar(v krm.Value) error { return fmt.Errorf("expected a scalar, found a %s", v.Type()) }

// resourceError says which resource err is about.
func resourceError(r *krm.Resource, err error) error {
	if r.Pos.File != "" {
		return fmt.Errorf("%s (%s): %w", r.ID(), r.Pos, err)
	}
	return fmt.Errorf("%s: %w", r.ID(), err)
}
