// Package page writes self-contained HTML pages: they need no network, no other files, and only
// their own script and style. Untrusted text in a page is always escaped.
package page

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"strings"
	"unicode/utf8"

	"github.com/krmflow/krmflow/diag"
)

//go:embed page.css
var common string

// A Page is the content of an HTML page. Its zero value is an empty page ready to use.
type Page struct{ strings.Builder }

// Raw is text that is already HTML.
type Raw string

// F writes formatted text. It escapes all string arguments except those of type [Raw], and
// modifies args.
func (p *Page) F(format string, args ...any) {
	for i, arg := range args {
		switch v := arg.(type) {
		case Raw:
			args[i] = string(v)
		case string:
			args[i] = html.EscapeString(diag.Sanitise(v))
		}
	}
	fmt.Fprintf(p, format, args...)
}

// A Head describes the part of a page before its content.
type Head struct {
	// Begins is the start of the page: the document type and a comment that identifies the page.
	Begins string
	Title  string
	// Style and Script are the page's style sheet and script. The common style sheet is added to
	// Style. The content security policy allows no others.
	Style, Script string
	// StyleAttributes permits style attributes on elements.
	StyleAttributes bool
}

// Begin writes the page up to its content. The content security policy blocks all other scripts
// and all network requests, so that even a mistake in escaping cannot run code.
func (p *Page) Begin(h Head) {
	style := common + h.Style
	attributes := ""
	if h.StyleAttributes {
		attributes = "; style-src-attr 'unsafe-inline'"
	}
	p.F("%s<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\n", Raw(h.Begins))
	p.F(
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; base-uri 'none'; form-action 'none'; style-src '%s'%s; script-src '%s'\">\n",
		Raw(hash(style)), Raw(attributes), Raw(hash(h.Script)))
	p.F("<title>%s</title>\n<style>%s</style></head><body>\n", h.Title, Raw(style))
}

// End writes the script and the end of the page.
func (p *Page) End(h Head) { p.F("<script>%s</script></body></html>\n", Raw(h.Script)) }

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// Data writes a value as a JSON element for the page's script. The JSON cannot end the element
// it is embedded in. Its strings are not HTML-escaped: the script must insert them as text only,
// and callers pass them through [Text] first.
func (p *Page) Data(id string, value any) error {
	text, err := json.Marshal(value) // Marshal escapes <, > and &
	if err != nil {
		return err
	}
	p.F("<script type=\"application/json\" id=\"%s\">", id)
	p.Write(text)
	p.WriteString("</script>\n")
	return nil
}

// Text returns untrusted text as a single line without characters that change the text
// direction.
func Text(s string) string { return diag.OneLine(diag.Sanitise(s)) }

// Breakable returns text as HTML in which long words, such as paths and addresses, can be broken
// after their separators. Browsers break such words only anywhere or nowhere.
func Breakable(text string) Raw {
	const long = 20 // shorter words fit into every column
	var b strings.Builder
	for i, word := range strings.Split(diag.Sanitise(text), " ") {
		if i > 0 {
			b.WriteByte(' ')
		}
		if len(word) <= long {
			b.WriteString(html.EscapeString(word))
			continue
		}
		start := 0
		for at := range len(word) - 1 {
			if strings.IndexByte("./,:;=-_])}@", word[at]) >= 0 && at+1-start > 3 && utf8.RuneStart(word[at+1]) {
				b.WriteString(html.EscapeString(word[start:at+1]) + "<wbr>")
				start = at + 1
			}
		}
		b.WriteString(html.EscapeString(word[start:]))
	}
	return Raw(b.String())
}

// Name returns a name in the form of [Text], with the middle omitted if it is very long.
func Name(s string) string {
	const longest = 240
	r := []rune(Text(s))
	if len(r) > longest {
		return string(r[:longest/2]) + " … " + string(r[len(r)-longest/2:])
	}
	return string(r)
}
