package validate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/validate/internal/openapi"
)

const (
	// maxFindings is the maximum number of findings per object.
	maxFindings = 100
	// maxSteps bounds the work for one object: see [reader].
	maxSteps = 5_000_000
)

// A checker compares one object with schemas.
type checker struct {
	release  *release // nil for a configuration
	config   bool     // the object is the configuration of a function, which no API server sees
	path     []step
	findings []Finding
	steps    int
	secret   bool // the object holds secrets, so messages must not show values
	status   bool // within the status, where no field is required because the status is not applied
	sealed   bool // encrypted by SOPS: encrypted values are not the applied ones
}

// A step is one element of a path: the key of a field or, if index is not negative, the index of
// an item.
type step struct {
	key   string
	index int
}

func (c *checker) key(key string) { c.path = append(c.path, step{key, -1}) }
func (c *checker) index(i int)    { c.path = append(c.path, step{"", i}) }
func (c *checker) up()            { c.path = c.path[:len(c.path)-1] }

// found adds a finding about v at the current path.
func (c *checker) found(code Code, v yaml.Value, format string, args ...any) *Finding {
	f := Finding{Code: code, Path: make([]any, len(c.path)), Msg: fmt.Sprintf(format, args...), Value: v}
	for i, s := range c.path {
		if s.index < 0 {
			f.Path[i] = s.key
		} else {
			f.Path[i] = s.index
		}
	}
	if len(c.findings) == maxFindings {
		return &f
	}
	c.findings = append(c.findings, f)
	return &c.findings[len(c.findings)-1]
}

// object checks a whole object and returns the findings.
func (c *checker) object(s *schema, v yaml.Value) []Finding {
	c.check(s, v)
	if c.steps > maxSteps {
		c.found(WrongValue, v, "the schema is too large to check this object")
	}
	return c.findings
}

// check compares v with s. An API server treats a null like a missing field.
func (c *checker) check(s *schema, v yaml.Value) {
	v = v.Settled()
	if c.steps++; c.steps > maxSteps || v.IsNull() && (s.nullable || !c.config) || c.sealed && strings.HasPrefix(v.Text(), "ENC[") {
		return
	}
	n, ok := len(c.findings), true
	switch {
	case s.what == openapi.Object || s.what == openapi.Any && v.Type() == yaml.Map:
		ok = c.mapping(s, v)
	case s.what == openapi.List || s.what == openapi.Any && v.Type() == yaml.Seq:
		ok = c.list(s, v)
	case s.what != openapi.Any:
		ok = c.scalar(s, v)
	}
	if ok && s.rules != nil {
		c.rules(s.rules, v)
	}
	if len(c.findings) > n && !c.config && v.Type() == yaml.String && hasVariable(v.Text()) {
		for i := range c.findings[n:] {
			f := &c.findings[n+i]
			f.Warning, f.Hints = true,
				[]string{"it contains a variable that another tool, such as Flux, must replace before this is applied"}
		}
	}
}

// hasVariable reports whether text contains a variable in braces.
func hasVariable(text string) bool {
	_, after, ok := strings.Cut(text, "${")
	return ok && strings.Contains(after, "}")
}

func (c *checker) mapping(s *schema, v yaml.Value) (ok bool) {
	if v.Type() != yaml.Map {
		c.wrongType("a mapping", v)
		return false
	}
	for _, f := range v.Fields() {
		p := cmp.Or(s.fields[f.Key], s.more)
		if p == nil {
			header := isHeader(f.Key) && (s.embedded || c.config && len(c.path) == 0)
			if !s.open && !header && !(c.sealed && len(c.path) == 0 && f.Key == "sops") {
				c.unknownField(s, f)
			}
			continue
		}
		c.key(f.Key)
		top := len(c.path) == 1 && f.Key == "status" && !c.config
		c.status = c.status || top
		c.check(c.release.of(p), f.Value)
		c.status = c.status && !top
		c.up()
	}
	if c.status {
		return true
	}
	for _, name := range s.required {
		if x := v.Get(name); x.IsNull() && !(c.config && x.Exists()) {
			c.found(MissingField, yaml.Value{}, "the required field %q is missing", name)
		}
	}
	return true
}

func (c *checker) unknownField(s *schema, f yaml.Field) {
	c.key(f.Key)
	defer c.up()
	found := c.found(UnknownField, f.Value, "unknown field")
	switch from, to := presence(s.node, f.Key); {
	case s.node == 0 || from == 0:
		found.Hints = diag.DidYouMean(f.Key, slices.Sorted(maps.Keys(s.fields)))
	case from > c.release.minor:
		found.Hints = []string{fmt.Sprintf("Kubernetes has it since 1.%d; this is checked for 1.%d", from, c.release.minor)}
	case to < c.release.minor:
		found.Hints = []string{fmt.Sprintf("Kubernetes had it until 1.%d; this is checked for 1.%d", to, c.release.minor)}
	}
}

func (c *checker) list(s *schema, v yaml.Value) (ok bool) {
	if v.Type() != yaml.Seq {
		c.wrongType("a list", v)
		return false
	}
	if s.elem == nil {
		return true
	}
	items := c.release.of(s.elem)
	for i, item := range v.Items() {
		c.index(i)
		c.check(items, item)
		c.up()
	}
	if len(s.keys) > 0 && v.Len() > 1 && !c.status {
		c.unique(s, v)
	}
	return true
}

// unique reports items with the same keys as an earlier item.
func (c *checker) unique(s *schema, v yaml.Value) {
	var few [16]string
	keys := few[:0]
	for _, item := range v.Items() {
		keys = append(keys, itemKey(s, item))
	}
	if v.Len() <= len(few) {
		for i, key := range keys {
			if first := slices.Index(keys[:i], key); key != "" && first >= 0 {
				c.duplicate(s, i, first, v.Items()[i])
			}
		}
		return
	}
	seen := make(map[string]int, len(keys))
	for i, key := range keys {
		if first, ok := seen[key]; ok && key != "" {
			c.duplicate(s, i, first, v.Items()[i])
		} else {
			seen[key] = i
		}
	}
}

func (c *checker) duplicate(s *schema, i, first int, item yaml.Value) {
	var what []string
	for _, key := range s.keys {
		if v := item.Get(key); !v.IsNull() && !c.secret {
			what = append(what, key+" "+c.show(v))
		}
	}
	of := c.path[len(c.path)-1].key
	c.index(i)
	defer c.up()
	f := c.found(DuplicateKey, item, "item %d of the list has the same %s", first, strings.Join(what, " and "))
	if s.node != 0 && !(slices.Contains(refused, of) || of == "ports" && len(c.path) == 3) {
		f.Warning = true
		f.Hints = []string{"server-side apply rejects this, and client-side apply may lose one of them"}
	}
}

// refused are the lists of Kubernetes' own kinds in which API servers always reject two items
// with the same key. In other lists only server-side apply rejects them, so they cause a warning.
var refused = []string{"containers", "initContainers", "ephemeralContainers", "volumes", "volumeMounts", "volumeDevices", "webhooks",
	"topologySpreadConstraints", "versions"}

// itemKey returns the identity of an item, "" if it has none.
func itemKey(s *schema, item yaml.Value) string {
	if len(s.keys) == 1 {
		return item.Get(s.keys[0]).Text()
	}
	var b strings.Builder
	any := false
	for _, key := range s.keys {
		v := item.Get(key)
		text := v.Text()
		any = any || text != ""
		if text == "" && key == "protocol" {
			text = "TCP"
		}
		b.WriteString(strconv.Quote(text))
	}
	if !any {
		return ""
	}
	return b.String()
}

// wrongType adds a finding about a value of the wrong type.
func (c *checker) wrongType(want string, v yaml.Value) *Finding {
	found := v.Type().Article()
	if v.IsScalar() && !c.secret {
		found = "the " + v.Type().String() + " " + c.show(v)
	}
	return c.found(WrongType, v, "must be %s, not %s", want, found)
}
