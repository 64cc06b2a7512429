package roots

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/internal/sys/glob"
)

// A PatternError reports an invalid pattern in a flag.
type PatternError struct{ Flag, Text string }

func (e *PatternError) Error() string {
	return fmt.Sprintf("%s %s: the pattern has an unclosed bracket or a trailing backslash", e.Flag, e.Text)
}

// A pattern is the value of a flag.
type pattern struct {
	glob.Pattern
	flag, text string
	matches    bool // it has matched a root
}

func parse(flag string, texts []string) (list []*pattern, err error) {
	for _, text := range texts {
		at := path.Clean(text)
		if flag == "--leaves" && !strings.Contains(text, "/") {
			at = "**/" + at // a name at any depth
		}
		p, err := glob.Parse(at)
		if err != nil || text == "" {
			return nil, &PatternError{flag, text}
		}
		list = append(list, &pattern{Pattern: p, flag: flag, text: text})
	}
	return list, nil
}

// matchAny reports whether any pattern matches a path, and records which patterns do.
func matchAny(patterns []*pattern, rel string) (any bool) {
	for _, p := range patterns {
		if p.MatchBelow(rel) {
			p.matches, any = true, true
		}
	}
	return any
}

// choose applies the selection to the layers found.
func (s *search) choose(only, exclude, keep []*pattern) (*Found, error) {
	f := &Found{Ignored: s.ignored, Keys: s.keys, Skipped: s.skipped}
	var rels []string
	slices.SortStableFunc(s.layers, func(a, b *layer) int { return strings.Compare(a.dir, b.dir) })
	seen := map[*layer]bool{}
	for _, t := range s.tops {
		slices.SortFunc(t.layers, func(a, b *layer) int { return strings.Compare(a.dir, b.dir) })
		for _, l := range t.layers {
			if !l.root || seen[l] {
				continue
			}
			seen[l] = true
			if l.given {
				f.Dirs = append(f.Dirs, l.dir)
				continue
			}
			rels = append(rels, l.rel)
			meant, not := matchAny(only, l.rel) || len(only) == 0, matchAny(exclude, l.rel)
			kept := matchAny(keep, l.rel)
			switch {
			case !meant || not:
				f.Excluded = append(f.Excluded, l.dir)
			case l.used && !kept:
				f.Used, f.UsedBy = append(f.Used, l.dir), append(f.UsedBy, l.usedBy.dir)
			default:
				f.Dirs = append(f.Dirs, l.dir)
			}
		}
	}
	for _, p := range slices.Concat(only, exclude, keep) {
		if !p.matches {
			w := diag.Errorf(diag.Pos{}, "", "%s %s matches none of %s", p.flag, p.text, diag.Count(len(rels), "root")).With(diag.NoRoots)
			if w.Hints = diag.DidYouMean(p.text, rels); len(w.Hints) == 0 {
				w.Hints = s.startsAt(p.text)
			}
			f.Warnings = append(f.Warnings, w)
		}
	}
	if len(f.Dirs) == 0 {
		return nil, errors.Join(append(warningErrors(f.Warnings), f.nothing())...)
	}
	return f, nil
}

// startsAt returns a hint if a pattern begins with a searched directory, which it must be
// relative to.
func (s *search) startsAt(text string) []string {
	for _, t := range s.tops {
		if rest, ok := strings.CutPrefix(path.Clean(text), filepath.ToSlash(filepath.Clean(t.dir))+"/"); ok {
			return []string{fmt.Sprintf("patterns are relative to %s: write %q", t.dir, rest)}
		}
	}
	return nil
}

func warningErrors(list []*diag.Error) (errs []error) {
	for _, w := range list {
		errs = append(errs, w)
	}
	return errs
}

// nothing returns the error for a selection without a result.
func (f *Found) nothing() error {
	err := diag.Errorf(diag.Pos{}, "", "all roots were left out: found %s", diag.Count(f.LeftOut(), "root")).With(diag.NoRoots)
	if len(f.Excluded) > 0 {
		err.Hint("left out by --only and --exclude: %s", diag.Some(f.Excluded))
	}
	if len(f.Used) > 0 {
		err.Hint("left out by --leaves, because other layers use them: %s", diag.Some(f.Used))
	}
	return err
}
