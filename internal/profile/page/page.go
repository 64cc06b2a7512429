// Package page shows a profile as one HTML page that needs nothing else: no network, no tools, and no script for what matters.
package page

import (
	"io"

	"github.com/krmflow/krmflow/internal/profile"
)

// Begins is what each page begins with.
const Begins = "<!doctype html>\n<!-- krmflow bench -->\n"

func Write(w io.Writer, r *profile.Report) error { _, err := io.WriteString(w, Begins); return err }
