package settings

import (
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/sys/glob"
	"github.com/krmflow/krmflow/krm/yaml"
)

// restrictionsKey is the field of the file with load restrictors for individual roots.
const restrictionsKey = "loadRestrictions"

// A Restriction sets the load restrictor for the roots at or below a path: whether their layers
// may read files outside their own directories.
type Restriction struct {
	// Path is the path as written in the file. None is true if the restriction is turned off.
	Path string
	None bool
	Pos  diag.Pos

	pattern glob.Pattern
}

// restrictions reads the list.
func (s *Settings) restrictions(c yaml.Cursor) {
	for _, x := range c.Items() {
		if !x.Known("path", "restrictor") {
			continue
		}
		r := Restriction{Path: x.Field("path").Required(), Pos: x.Pos()}
		switch word := x.Field("restrictor"); word.Required() {
		case "":
		case "none", "LoadRestrictionsNone":
			r.None = true
		case "rootOnly", "LoadRestrictionsRootOnly":
		default:
			word.Errorf("must be none or rootOnly, not %q", word.Text()).With(diag.BadConfig)
		}
		if r.Path == "" {
			continue
		}
		place, ok := absolute(r.Path)
		if !ok {
			x.Field("path").Errorf("%q must be absolute, or begin with ~/", r.Path).With(diag.BadConfig)
			continue
		}
		var err error
		if r.pattern, err = glob.Parse(place); err != nil {
			x.Field("path").Errorf("%q has an unclosed bracket or a trailing backslash", r.Path).With(diag.BadConfig)
			continue
		}
		s.Restrictions = append(s.Restrictions, r)
	}
}

// absolute returns the slash-separated path of a pattern. In the part before the first
// wildcard, symbolic links are resolved. ok is false for a relative path.
func absolute(text string) (place string, ok bool) {
	if below, home := strings.CutPrefix(text, "~/"); home {
		text = filepath.Join(os.Getenv("HOME"), below)
	}
	if !filepath.IsAbs(text) {
		return "", false
	}
	place = path.Clean(filepath.ToSlash(text))
	end := strings.IndexAny(place, `*?[\`)
	if end < 0 {
		end = len(place)
	} else {
		end = strings.LastIndexByte(place[:end], '/')
	}
	if real, err := filepath.EvalSymlinks(filepath.FromSlash(place[:end])); err == nil && end > 0 {
		place = strings.TrimSuffix(filepath.ToSlash(real), "/") + place[end:]
	}
	return place, true
}

// Unrestricted returns a function that reports whether a root may read files outside its
// directory. dir is a path without symbolic links; the last entry that matches it takes
// precedence. The function is nil without entries.
func (s *Settings) Unrestricted() func(dir string) bool {
	if s == nil || len(s.Restrictions) == 0 {
		return nil
	}
	return func(dir string) (none bool) {
		for _, r := range s.Restrictions {
			if r.pattern.MatchBelow(filepath.ToSlash(dir)) {
				none = r.None
			}
		}
		return none
	}
}
