package records

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/internal/sys/filestat"
	"github.com/krmflow/krmflow/loaders"
)

// TestFailedLookupIsNotAbsence checks a file that was missing and cannot be looked up now. A long
// name is an error for all users; root can look up names in a directory without permissions.
func TestFailedLookupIsNotAbsence(t *testing.T) {
	top := t.TempDir()
	for name, want := range map[string]bool{"missing": true, strings.Repeat("x", 300): false} {
		for _, kind := range []loaders.Kind{loaders.SawNothing, loaders.SawNoDir} {
			f := &file{dir: &dir{top, top}, name: name, kind: kind}
			if got := f.check(newView(nil, &filestat.Dirs{})); got != want {
				t.Errorf("%s, kind %d: absent: %t", filepath.Base(f.path())[:5], kind, got)
			}
		}
	}
}
