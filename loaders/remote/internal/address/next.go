package address

import (
	"net/url"
	"regexp"
	"strings"
)

// link matches a link of a Link header: an address and its parameters (RFC 8288).
var link = regexp.MustCompile(`<([^>]*)>((?:[^,"]|"[^"]*")*)`)

// NextPage returns the query of the next page in Link headers, or an empty string. It ignores the
// rest of the address, which the caller knows and which a header must not change.
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
