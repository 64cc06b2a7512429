package helm

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/krmflow/krmflow/krm/chart"
)

// changing are the nondeterministic functions of helm's templates: they depend on time,
// randomness, a cluster or the network, or list the keys of a mapping in random order.
var changing = map[string]bool{
	"now": true, "ago": true, "date": true, "dateInZone": true, "date_in_zone": true, "htmlDate": true, "htmlDateInZone": true,
	"durationRound": true,
	"randAlphaNum":  true, "randAlpha": true, "randNumeric": true, "randAscii": true, "randBytes": true, "randInt": true, "shuffle": true,
	"uuidv4":        true,
	"genPrivateKey": true, "genCA": true, "genCAWithKey": true, "genSelfSignedCert": true, "genSelfSignedCertWithKey": true,
	"genSignedCert":        true,
	"genSignedCertWithKey": true, "encryptAES": true, "bcrypt": true, "htpasswd": true,
	"lookup": true, "getHostByName": true, "keys": true, "values": true,
}

// notReused returns a reason why two renders of the chart with the same inputs can differ, "" if
// there is none. It searches the actions of all files for names of functions, because templates
// can be created from any file and from values. It can report a reason where none exists; helm
// then renders the chart each time.
func (g *Generator) notReused(c *chart.Chart) string {
	if g.Secret {
		return "values of a Secret"
	}
	if g.ReleaseName == "" && g.NameTemplate == "" {
		return "no releaseName"
	}
	if name := changingIn([]byte(g.NameTemplate)); name != "" {
		return "nameTemplate uses " + name
	}
	for _, f := range append(c.Files[:len(c.Files):len(c.Files)], c.Values...) {
		if strings.HasSuffix(f.Name, ".tgz") {
			return "packed chart in it"
		}
		if name := changingIn(f.Data); name != "" {
			return fmt.Sprintf("template uses %s", name)
		}
	}
	return ""
}

// changingIn returns the first of the changing functions in an action of a template, or "".
func changingIn(text []byte) string {
	for {
		_, rest, ok := bytes.Cut(text, []byte("{{"))
		if !ok {
			return ""
		}
		var action []byte
		action, text, _ = bytes.Cut(rest, []byte("}}"))
		for start := 0; start < len(action); {
			if !isWord(action[start]) {
				start++
				continue
			}
			end := start
			for end < len(action) && isWord(action[end]) {
				end++
			}
			field := start > 0 && (action[start-1] == '.' || action[start-1] == '$')
			if word := action[start:end]; !field && changing[string(word)] {
				return string(word)
			}
			start = end
		}
	}
}

func isWord(c byte) bool { return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' }
