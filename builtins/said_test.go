package builtins

import (
	"fmt"
	"strings"

	"github.com/krmflow/krmflow/diag"
)

// says reports whether msg is want, with its hint lines or without any of them.
func says(msg any, want string) bool { return fmt.Sprint(msg) == want || said(msg) == want }

// said returns the text of a message without its hint lines.
func said(msg any) string {
	lines := strings.Split(fmt.Sprint(msg), "\n")
	kept := lines[:0]
	for _, l := range lines {
		if !strings.HasPrefix(l, "  ") {
			kept = append(kept, l)
		}
	}
	return strings.Join(kept, "\n")
}

// told returns a Warn that collects warnings without their hint lines.
func told(warnings *[]string) Warn {
	return func(_ diag.Code, format string, args ...any) {
		*warnings = append(*warnings, said(fmt.Errorf(format, args...)))
	}
}
