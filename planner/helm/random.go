package helm

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/krmflow/krmflow/krm/chart"
)

// changing are the functions of helm's templates whose result is not decided by their arguments: they ask for the time, chance, a cluster or
// the network, or list the keys of a mapping in any order.
var changing = map[string]bool{
	"now": true, "ago": true, "date": true, "dateInZone": true, "date_in_zone": true, "htmlDate": true, "htmlDateInZone": true, "durationRound": true,
	"randAlphaNum": true, "randAlpha": true, "randNumeric": true, "randAscii": true, "randBytes": true, "randInt": true, "shuffle": true, "uuidv4": true,
	"genPrivateKey": true, "genCA": true, "genCAWithKey": true, "genSelfSignedCert": true, "genSelfSignedCertWithKey": true, "genSignedCert": true,
	"genSignedCertWithKey": true, "encryptAES": true, "bcrypt": true, "htpasswd": true,
	"lookup": true, "getHostByName": true, "keys": true, "values": true,
}

// notReused says why two renders of the chart can differ although nothing else does, "" if they cannot. It looks for the names of functions
// in all actions of all files, since templates can be made of any file and of values; so it is wrong about some charts, which helm renders each
// time.
func (g *Generator) notReused(c *chart.Chart) string {
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

// changingIn returns the first of the changing functions that an action of a template names, "" for none.
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
