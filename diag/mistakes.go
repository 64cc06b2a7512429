package diag

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
)

// MaxMistakes is how many mistakes of a file, and of a run, are told one by one.
const MaxMistakes = 100

// A MoreError stands for that many mistakes which are not told one by one.
type MoreError int

func (e MoreError) Error() string { return "and " + Count(int(e), "more mistake") }

// Plural returns a number of things as plans show it: "1 thing", "12345 things".
func Plural(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return strconv.Itoa(n) + " " + thing
}

// Count returns a number of things as messages show it: "1 thing", "12,345 things".
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

// Size returns a number of bytes as messages show it, exactly: "4 MiB", "1,500 bytes".
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

// Some returns the first of many names, separated by commas, and how many there are besides.
func Some(names []string) string {
	const some = 20
	if len(names) <= some {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:some], ", ") + " and " + Count(len(names)-some, "other")
}

// Each yields the errors that err joins, in order: err itself if it joins none, nothing for nil.
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

// Mistakes collects errors: the first [MaxMistakes] themselves, of the others only the number. The zero value is empty.
type Mistakes struct {
	kept []error
	more int
}

// Add adds an error, or those that it joins. A [MoreError] counts as many as it stands for.
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

// AddOnce adds those of other that m does not have.
func (m *Mistakes) AddOnce(other Mistakes) {
	for _, err := range other.kept {
		if !slices.Contains(m.kept, err) {
			m.Add(err)
		}
	}
	m.more += other.more
}

// Full reports whether a further error would only be counted: then there is no use in making its text.
func (m *Mistakes) Full() bool { return len(m.kept) >= MaxMistakes }

// Len returns the number of all errors.
func (m *Mistakes) Len() int { return len(m.kept) + m.more }

// Since returns the errors that were added after Len was n.
func (m *Mistakes) Since(n int) Mistakes {
	late := slices.Clone(m.kept[min(n, len(m.kept)):])
	return Mistakes{late, m.Len() - n - len(late)}
}

// Errors returns the errors that were kept, and a [MoreError] if there are more.
func (m *Mistakes) Errors() []error {
	if m.more == 0 {
		return m.kept
	}
	return append(slices.Clip(m.kept), MoreError(m.more))
}
