package settings

import (
	"embed"
	"strings"

	"github.com/krmflow/krmflow/trust"
)

// Distributors set these with the linker, through make krmflow (TR-17, TR-20, TR-29). The
// environment of a run has no effect on them (TR-18).
var (
	// trustedCatalogs are references to catalogs, separated by commas. The content of
	// embedded:NAME is compiled in.
	trustedCatalogs string
	// disableCatalogAddition is "true" if only these catalogs are trusted, regardless of flags
	// and configuration.
	disableCatalogAddition string
)

//go:embed catalogs
var embedded embed.FS

// BuiltIn returns the built-in catalogs in search order.
func BuiltIn() []trust.Source {
	var list []trust.Source
	for ref := range strings.SplitSeq(trustedCatalogs, ",") {
		if ref == "" {
			continue
		}
		s := trust.Source{Ref: ref, By: trust.ByBuiltIn}
		if name, ok := strings.CutPrefix(ref, "embedded:"); ok {
			s.Ref = name
			// An empty file if missing, which is reported as not a catalog.
			s.Content, _ = embedded.ReadFile("catalogs/" + name)
			s.Content = append([]byte{}, s.Content...)
		}
		list = append(list, s)
	}
	return list
}

// Locked reports whether only the catalogs of [BuiltIn] are trusted.
func Locked() bool { return disableCatalogAddition == "true" }
