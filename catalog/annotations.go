package catalog

import (
	"fmt"
	"strconv"
	"time"
)

// The annotations that let a publisher prevent the use of an old catalog.
const (
	SerialAnnotation  = "krmflow.dev/serial"  // a positive number that increases with each release
	ExpiresAnnotation = "krmflow.dev/expires" // expiry: 2027-01-31 or 2027-01-31T12:00:00Z
)

// Serial returns the serial number, which its publisher increases with each release, or 0 if the
// catalog has none.
func (c *Catalog) Serial() (int64, error) {
	text := c.Annotations[SerialAnnotation]
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%s: %q is not a positive number", SerialAnnotation, text)
	}
	return n, nil
}

// Expires returns the time when the catalog expires, or the zero time if it does not expire.
func (c *Catalog) Expires() (time.Time, error) {
	text := c.Annotations[ExpiresAnnotation]
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%s: %q is not a date such as 2027-01-31", ExpiresAnnotation, text)
}
