package address

import (
	"net/url"
	"regexp"
	"strings"
)

// link is one of a Link header: an address and its parameters (RFC 8288).
var link = regexp.MustCompile(`<([^>]*)>((?:[^,"]|"[^"]*")*)`)

// NextPage returns the query of the address that Link headers name as the next page, empty if there is none. The rest of the address is not taken
// from a header: who asks knows it.
func NextPage(headers []string) string {
	for _, header := range headers {
		for _, m := range link.FindAllStringSubmatch(header, -1) {
			for param := range strings.SplitSeq(m[2], ";") {
				name, value, _ := strings.Cut(strings.TrimSpace(param), "=")
				if !strings.EqualFold(name, "rel") || !strings.EqualFold(strings.Trim(value, `"`), "next") {
					continue
				}
				if u, err := url.Parse(m[1]); err == nil {
					return u.RawQuery
				}
			}
		}
	}
	return ""
}
