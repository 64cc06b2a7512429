package catalog

import (
	"fmt"
	"strconv"
	"time"
)

// The annotations by which a publisher says how old a catalog is.
const (
	SerialAnnotation  = "krmflow.dev/serial"  // a number that grows with each catalog
	ExpiresAnnotation = "krmflow.dev/expires" // when it is out of date: 2027-01-31 or 2027-01-31T12:00:00Z
)

// Serial returns the number of the catalog among those of its publisher, 0 if it has none.
func (c *Catalog) Serial() (int64, error) {
	text := c.Annotations[SerialAnnotation]
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%s: %q is no positive number", SerialAnnotation, text)
	}
	return n, nil
}

// Expires returns when the catalog is out of date, the zero time if it never is.
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
	return time.Time{}, fmt.Errorf("%s: %q is no date such as 2027-01-31", ExpiresAnnotation, text)
}
