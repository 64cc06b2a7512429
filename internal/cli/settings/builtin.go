package settings

import (
	"embed"
	"strings"

	"github.com/krmflow/krmflow/trust"
)

// Who builds a krmflow of his own sets these by the linker, through make krmflow (TR-17, TR-20, TR-29). The environment of a run has no
// effect on them (TR-18).
var (
	// trustedCatalogs are references of catalogs, separated by commas; embedded:NAME is one whose content is compiled in.
	trustedCatalogs string
	// disableCatalogAddition is "true" if nothing else than these is trusted, whatever flags and configuration say.
	disableCatalogAddition string
)

//go:embed catalogs
var embedded embed.FS

// BuiltIn returns the catalogs that are compiled in, in the order of the search.
func BuiltIn() []trust.Source {
	var list []trust.Source
	for ref := range strings.SplitSeq(trustedCatalogs, ",") {
		if ref == "" {
			continue
		}
		s := trust.Source{Ref: ref, By: trust.ByBuiltIn}
		if name, ok := strings.CutPrefix(ref, "embedded:"); ok {
			s.Ref = name
			s.Content, _ = embedded.ReadFile("catalogs/" + name) // missing, it is an empty file: no catalog, and said so
			s.Content = append([]byte{}, s.Content...)
		}
		list = append(list, s)
	}
	return list
}

// Locked reports whether nothing is trusted beside [BuiltIn].
func Locked() bool { return disableCatalogAddition == "true" }
