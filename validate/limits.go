package validate

import (
	"math"
	"net/netip"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
)

// rules checks a value of the right type against the further constraints of a document.
func (c *checker) rules(r *rules, v yaml.Value) {
	if r.enum != nil {
		c.enum(r.enum, v)
	}
	switch v.Type() {
	case yaml.Int, yaml.Float:
		c.numberRules(r, v)
	case yaml.String, yaml.Time:
		c.textRules(r, v)
	case yaml.Seq:
		c.count(r.items, v.Len(), "item", v)
		if r.set {
			c.set(v)
		}
	case yaml.Map:
		c.count(r.fields, v.Len(), "field", v)
	}
	for _, s := range r.allOf {
		c.within(s, v, &c.findings)
	}
	if r.anyOf != nil {
		c.choice(r.anyOf, v, false)
	}
	if r.oneOf != nil {
		c.choice(r.oneOf, v, true)
	}
	if r.not != nil {
		var findings []Finding
		if c.within(r.not, v, &findings); len(findings) == 0 {
			c.found(WrongValue, v, "is ruled out by its schema (not)")
		}
	}
}

// within compares v with p and adds to findings.
func (c *checker) within(p *property, v yaml.Value, findings *[]Finding) {
	inner := *c
	inner.findings = *findings
	inner.check(c.release.of(p), v)
	*findings, c.steps = inner.findings, inner.steps
}

// choice requires v to match at least one of the schemas, or exactly one if one is true.
func (c *checker) choice(schemas []*property, v yaml.Value, one bool) {
	fits := 0
	var nearest []Finding
	for _, s := range schemas {
		var findings []Finding
		c.within(s, v, &findings)
		switch {
		case len(findings) == 0:
			fits++
		case nearest == nil || len(findings) < len(nearest):
			nearest = findings
		}
	}
	switch {
	case fits == 0 && len(nearest) > 0:
		f := c.found(WrongValue, v, "matches none of the %d allowed forms", len(schemas))
		for _, n := range nearest {
			f.Hints = append(f.Hints, "to match one of them: "+n.Text())
		}
	case one && fits > 1:
		c.found(WrongValue, v, "matches %d of the %d allowed forms, but must match exactly one", fits, len(schemas))
	}
}

func (c *checker) enum(values []yaml.Value, v yaml.Value) {
	var texts []string
	for _, x := range values {
		if sameData(x, v) {
			return
		}
		texts = append(texts, textOf(x))
	}
	f := c.found(WrongValue, v, "%s is not one of %s", c.show(v), diag.Some(texts))
	if v.IsScalar() {
		f.Hints = diag.DidYouMean(v.Text(), texts)
	}
}

// sameData reports whether a and b represent the same JSON value.
func sameData(a, b yaml.Value) bool {
	if isNumber(a) && isNumber(b) {
		x, _ := number(a)
		y, _ := number(b)
		return x == y
	}
	if isString(a) && isString(b) {
		return a.Text() == b.Text()
	}
	return a.Equal(b)
}

func number(v yaml.Value) (float64, bool) {
	if !isNumber(v) {
		return 0, false
	}
	if n, ok := wholeNumber(v); ok && n != nil {
		x, _ := n.Float64()
		return x, true
	}
	x, err := strconv.ParseFloat(strings.ReplaceAll(v.Text(), "_", ""), 64)
	return x, err == nil
}

func (c *checker) numberRules(r *rules, v yaml.Value) {
	x, ok := number(v)
	if !ok {
		return
	}
	form := func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
	switch {
	case r.least.is && (x < r.least.value || r.least.exclusive && x == r.least.value):
		c.found(WrongValue, v, "%s is too small: the minimum is %s%s", c.show(v), form(r.least.value), exclusive(r.least))
	case r.most.is && (x > r.most.value || r.most.exclusive && x == r.most.value):
		c.found(WrongValue, v, "%s is too large: the maximum is %s%s", c.show(v), form(r.most.value), exclusive(r.most))
	case r.multiple > 0 && math.Abs(x/r.multiple-math.Round(x/r.multiple)) > 1e-9:
		c.found(WrongValue, v, "%s is not a multiple of %s", c.show(v), form(r.multiple))
	}
}

func exclusive(l limit) string {
	if l.exclusive {
		return ", exclusive"
	}
	return ""
}

func (c *checker) textRules(r *rules, v yaml.Value) {
	text := v.Text()
	c.count(r.text, utf8.RuneCountInString(text), "character", v)
	if r.pattern != nil {
		if re := r.pattern(); re != nil && !re.MatchString(text) {
			c.found(WrongValue, v, "%s does not match the pattern %s", c.show(v), diag.OneLine(re.String()))
		}
	}
	if r.format != "" && !hasFormat(text, r.format) {
		c.found(WrongValue, v, "%s is not a valid %s", c.show(v), r.format)
	}
}

// hasFormat reports whether text has the given format. It checks only formats that API servers
// also check and that have an unambiguous definition; text has every other format.
func hasFormat(text, format string) (ok bool) {
	var err error
	switch format {
	case "date":
		_, err = time.Parse(time.DateOnly, text)
	case "ipv4":
		a, e := netip.ParseAddr(text)
		return e == nil && a.Is4()
	case "ipv6":
		a, e := netip.ParseAddr(text)
		return e == nil && a.Is6()
	case "cidr":
		_, err = netip.ParsePrefix(text)
	}
	return err == nil
}

func (c *checker) count(limits counts, n int, thing string, v yaml.Value) {
	switch {
	case limits.least >= 0 && n < limits.least:
		c.found(WrongValue, v, "has %s, but needs at least %d", diag.Count(n, thing), limits.least)
	case limits.most >= 0 && n > limits.most:
		c.found(WrongValue, v, "has %s, but may have at most %d", diag.Count(n, thing), limits.most)
	}
}

// set requires the items of a list to differ.
func (c *checker) set(v yaml.Value) {
	seen := map[string]int{}
	for i, item := range v.Items() {
		text := string(yaml.AppendJSON(nil, item))
		if first, ok := seen[text]; ok {
			c.index(i)
			c.found(DuplicateKey, item, "is the same as item %d of the list", first)
			c.up()
			continue
		}
		seen[text] = i
	}
}
