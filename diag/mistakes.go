package diag

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
)

// MaxMistakes is the maximum number of mistakes reported individually, per file and per run.
const MaxMistakes = 100

// A MoreError is a number of mistakes that are not reported individually.
type MoreError int

func (e MoreError) Error() string { return "and " + Count(int(e), "more mistake") }

// Plural formats a number of things for plans: "1 thing", "12345 things".
func Plural(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return strconv.Itoa(n) + " " + thing
}

// Count formats a number of things for messages: "1 thing", "12,345 things".
func Count(n int, thing string) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	if n != 1 {
		thing += "s"
	}
	return digits + " " + thing
}

// Size formats an exact number of bytes for messages: "4 MiB", "1,500 bytes".
func Size(n int64) string {
	for _, unit := range []struct {
		name  string
		bytes int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n >= unit.bytes && n%unit.bytes == 0 {
			return fmt.Sprintf("%d %s", n/unit.bytes, unit.name)
		}
	}
	return Count(int(n), "byte")
}

// Some formats a long list of names: the first ones separated by commas, and the number of the
// others.
func Some(names []string) string {
	const some = 20
	if len(names) <= some {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:some], ", ") + " and " + Count(len(names)-some, "other")
}

// Each yields the errors joined in err, recursively and in order. It yields err itself if err is
// not a joined error, and nothing for nil.
func Each(err error) iter.Seq[error] {
	return func(yield func(error) bool) { each(err, yield) }
}

func each(err error, yield func(error) bool) bool {
	if err == nil {
		return true
	}
	many, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return yield(err)
	}
	for _, e := range many.Unwrap() {
		if !each(e, yield) {
			return false
		}
	}
	return true
}

// Mistakes collects errors. It keeps the first [MaxMistakes] and only counts the others. The zero
// value is empty and ready to use.
type Mistakes struct {
	kept []error
	more int
	// apart is the number of errors that another Mistakes has kept: see [Mistakes.Apart].
	apart int
}

// Apart returns an empty Mistakes that is full when m and it have kept [MaxMistakes] together. The
// caller adds it to m later.
func (m *Mistakes) Apart() Mistakes { return Mistakes{apart: m.apart + len(m.kept)} }

// Add adds err, or each error joined in it. A [MoreError] adds its number.
func (m *Mistakes) Add(err error) {
	var more MoreError
	switch many, ok := err.(interface{ Unwrap() []error }); {
	case err == nil:
	case ok:
		for _, e := range many.Unwrap() {
			m.Add(e)
		}
	case errors.As(err, &more):
		m.more += int(more)
	case m.Full():
		m.more++
	default:
		m.kept = append(m.kept, err)
	}
}

// AddOnce adds the errors of other that m does not contain yet, and the number of its further
// errors.
func (m *Mistakes) AddOnce(other Mistakes) {
	for _, err := range other.kept {
		if !slices.Contains(m.kept, err) {
			m.Add(err)
		}
	}
	m.more += other.more
}

// Full reports whether m would only count a further error. Callers can then skip formatting it.
func (m *Mistakes) Full() bool { return m.apart+len(m.kept) >= MaxMistakes }

// Len returns the number of all errors, including those that are only counted.
func (m *Mistakes) Len() int { return len(m.kept) + m.more }

// Since returns the errors added after Len was n.
func (m *Mistakes) Since(n int) Mistakes {
	late := slices.Clone(m.kept[min(n, len(m.kept)):])
	return Mistakes{kept: late, more: m.Len() - n - len(late)}
}

// Errors returns the kept errors, followed by a [MoreError] if m has counted more.
func (m *Mistakes) Errors() []error {
	if m.more == 0 {
		return m.kept
	}
	return append(slices.Clip(m.kept), MoreError(m.more))
}
