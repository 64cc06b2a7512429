package trust

import (
	"slices"
	"strconv"
	"strings"

	"github.com/krmflow/krmflow/catalog"
	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
)

// The current apiVersion and kind of a user's configuration, and the accepted kind of an older
// proposal.
const (
	ConfigVersion = "krmflow.dev/v1alpha1"
	ConfigKind    = "Config"
	oldConfigKind = "KustomizeConfig"
)

// A Config contains the trust settings of the user's configuration: the catalogs trusted without
// a flag (TR-26, TR-27, TR-34).
type Config struct {
	Catalogs   []Configured
	Publishers []Publisher
	Grants     []Granted
	// Err is the reason why the configuration cannot be used. It then trusts and grants nothing.
	Err error
}

// A Configured is an entry of trustedCatalogs.
type Configured struct {
	Ref catalog.Ref
	// Below is true for an entry ending in /*. It trusts every catalog below Ref that a layer
	// names, and adds no catalog by itself.
	Below bool
	Pos   diag.Pos
}

// ConfigFields lists the fields of a user's configuration for its header and for trust. The
// other fields set flags.
var ConfigFields = []string{"apiVersion", "kind", "metadata", "trustedCatalogs", "publishers", "grants"}

// ParseConfig reads the trust settings of a user's configuration and ignores the others. It
// reports all errors at once, as [*diag.Error] values joined into one error.
func ParseConfig(src *yaml.Source) (*Config, error) {
	doc, err := src.Strict()
	if err != nil {
		return nil, err
	}
	c := &Config{}
	if !doc.Value.Exists() {
		return c, nil
	}
	top := yaml.NewCursor(doc.Value, doc.Locate)
	if CheckConfig(top); doc.Value.Type() == yaml.Map {
		for _, item := range top.Field("trustedCatalogs").Items() {
			if text := item.Line(); text != "" {
				if e, ok := configured(item, text); ok {
					c.Catalogs = append(c.Catalogs, e)
				}
			}
		}
		for _, item := range top.Field("publishers").Items() {
			c.Publishers = append(c.Publishers, publisher(item))
		}
		for _, item := range top.Field("grants").Items() {
			if g, ok := configuredGrant(item); ok {
				c.Grants = append(c.Grants, g)
			}
		}
	}
	return c, top.Err()
}

// configuredGrant reads an item of grants.
func configuredGrant(item yaml.Cursor) (g Granted, ok bool) {
	if !item.Known("catalog", "function", "allow") {
		return g, false
	}
	g = Granted{Function: item.Field("function").Required(), Names: item.Field("allow").Strings(), By: ByConfig, Pos: item.Pos()}
	if at := item.Field("catalog"); at.Exists() {
		e, ok := configured(at, at.Line())
		if !ok {
			return g, false
		}
		g.Catalog = &e
	}
	if len(g.Names) == 0 {
		item.Field("allow").Required()
		return g, false
	}
	if err := g.check(); err != nil && g.Function != "" {
		item.Errorf("%v", err).With(diag.BadConfig)
		return g, false
	}
	return g, true
}

// CheckConfig reports an error if top is not a user's configuration.
func CheckConfig(top yaml.Cursor) {
	if top.Value().Type() != yaml.Map {
		top.Known() // reports the actual type
		return
	}
	kind := top.Field("kind")
	switch name := kind.Text(); {
	case name == oldConfigKind:
	case name != ConfigKind:
		kind.Errorf("not a krmflow configuration: found kind %q", name).With(diag.BadConfig).Hint("write apiVersion: %s and kind: %s",
			ConfigVersion, ConfigKind)
	default:
		if v := top.Field("apiVersion"); v.Text() != ConfigVersion {
			v.Errorf("%q is not %s", v.Text(), ConfigVersion).With(diag.BadConfig)
		}
	}
}

// configured parses a reference, or a place followed by /*.
func configured(item yaml.Cursor, text string) (e Configured, ok bool) {
	place, below, ref, err := parseEntry(text)
	switch {
	case err != nil:
		text, hints := diag.Parts(err)
		item.Errorf("%s", text).With(diag.BadConfig).Hints = hints
		return e, false
	case strings.Contains(text, "*") && (!below || strings.Contains(place, "*")):
		item.Errorf("%q: a * matches everything below a location, and is allowed only at the end, after a /",
			diag.Redact(text)).With(diag.BadConfig)
		return e, false
	case !ref.Remote() && !ref.Absolute():
		item.Errorf("%q: the path must be absolute",
			text).With(diag.BadConfig).Hint("a relative path would name a different catalog in each directory")
		return e, false
	}
	return Configured{Ref: ref.Shown(place), Below: below, Pos: item.Pos()}, true
}

// parseEntry parses the text of an entry. place is the text without /*.
func parseEntry(text string) (place string, below bool, ref catalog.Ref, err error) {
	if place, below = strings.CutSuffix(text, "/*"); below {
		ref, err = catalog.ParsePlace(place)
	} else {
		ref, err = catalog.ParseRef(place)
	}
	return place, below, ref, err
}

// String returns the entry as written, with credentials redacted.
func (e Configured) String() string {
	if e.Below {
		return e.Ref.String() + "/*"
	}
	return e.Ref.String()
}

// Covers reports whether the entry trusts the catalog ref, whose path must have no symbolic
// links.
func (e Configured) Covers(ref catalog.Ref) bool {
	if !e.Below {
		return e.Ref.Same(ref)
	}
	return ref.Below(e.Ref)
}

// is reports whether the entry is for the catalog ref, regardless of its pin.
func (e Configured) is(ref catalog.Ref, below bool) bool {
	return e.Ref.Scheme == ref.Scheme && e.Ref.Location == ref.Location && e.Below == below
}

// EditConfig returns the text of a configuration with text as the entry for its catalog. It
// replaces the existing entry for the same catalog, or appends the entry if there is none. With
// remove it deletes the existing entry instead. All other lines remain unchanged, including
// comments. found reports whether there was an existing entry.
func EditConfig(src *yaml.Source, text string, remove bool) (data []byte, found bool, err error) {
	c, err := ParseConfig(src)
	if err != nil {
		return nil, false, err
	}
	_, below, ref, err := parseEntry(text)
	if err != nil {
		return nil, false, err
	}
	at := slices.IndexFunc(c.Catalogs, func(e Configured) bool { return e.is(ref, below) })
	lines := slices.Collect(strings.Lines(string(src.Data)))
	if n := len(lines); n > 0 && !strings.HasSuffix(lines[n-1], "\n") {
		lines[n-1] += "\n"
	}
	entry := "- " + strconv.Quote(text) + "\n"
	switch {
	case at < 0 && remove:
		return src.Data, false, nil
	case len(lines) == 0:
		lines = []string{"apiVersion: " + ConfigVersion + "\n", "kind: " + ConfigKind + "\n", "trustedCatalogs:\n", entry}
	case len(c.Catalogs) == 0:
		// The list is empty if its last entry was removed.
		lines = slices.DeleteFunc(lines, func(line string) bool { return strings.TrimSpace(line) == "trustedCatalogs:" })
		lines = append(lines, "trustedCatalogs:\n", entry)
	default:
		e := c.Catalogs[len(c.Catalogs)-1]
		if at >= 0 {
			e = c.Catalogs[at]
		}
		i := e.Pos.Line - 1
		indent, isItem := strings.CutSuffix(lines[i], strings.TrimLeft(lines[i], " "))
		if isItem = isItem && strings.HasPrefix(lines[i], indent+"- "); !isItem {
			return nil, at >= 0, errNotLines(src)
		}
		first, after := i, i+1
		if at < 0 {
			first++ // insert after the last entry
		}
		var with []string
		if !remove {
			with = []string{indent + entry}
		}
		lines = slices.Replace(lines, first, after, with...)
	}
	edited := &yaml.Source{File: src.File, Data: []byte(strings.Join(lines, ""))}
	if _, err := ParseConfig(edited); err != nil {
		return nil, at >= 0, errNotLines(src)
	}
	return edited.Data, at >= 0, nil
}

// errNotLines returns the error for a list whose layout does not allow adding or removing a
// line.
func errNotLines(src *yaml.Source) error {
	return diag.Errorf(diag.Pos{File: src.File}, "trustedCatalogs",
		"cannot edit the list as it is written").With(diag.BadConfig).Hint("write one entry per line, each after a dash")
}
