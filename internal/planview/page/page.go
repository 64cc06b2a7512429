// Package page writes HTML pages that need nothing else: no network, no files beside them, and no script or style but their own. Texts of others are
// never more than text in them.
package page

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"strings"

	"github.com/krmflow/krmflow/diag"
)

//go:embed page.css
var common string

// A Page is one that is being written. Its zero value is empty.
type Page struct{ strings.Builder }

// Raw is text that is HTML already.
type Raw string

// F writes a text. All operands that are texts but Raw are escaped, so that none can be more than text.
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

// A Head is what stands before the content of a page, and decides about all of it.
type Head struct {
	// Begins is what the page begins with: a document type, and a comment by which it is known.
	Begins string
	Title  string
	// Style and Script are those of the page, in addition to what all pages have, and the only ones that browsers take.
	Style, Script string
	// StyleAttributes lets elements have styles of their own.
	StyleAttributes bool
}

// Begin writes all up to the content. No other script runs, whatever a name in the page is, and nothing is fetched or sent.
func (p *Page) Begin(h Head) {
	style := common + h.Style
	attributes := ""
	if h.StyleAttributes {
		attributes = "; style-src-attr 'unsafe-inline'"
	}
	p.F("%s<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\n", Raw(h.Begins))
	p.F("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; base-uri 'none'; form-action 'none'; style-src '%s'%s; script-src '%s'\">\n",
		Raw(hash(style)), Raw(attributes), Raw(hash(h.Script)))
	p.F("<title>%s</title>\n<style>%s</style></head><body>\n", h.Title, Raw(style))
}

// End writes what comes behind the content.
func (p *Page) End(h Head) { p.F("<script>%s</script></body></html>\n", Raw(h.Script)) }

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// Data writes a value as JSON, for the script of the page. Nothing in it can end the element that it stands in. Its texts are as they are: the
// script makes nothing but text of them, and [Text] has made harmless what would steer that.
func (p *Page) Data(id string, value any) error {
	text, err := json.Marshal(value) // it escapes <, > and &
	if err != nil {
		return err
	}
	p.F("<script type=\"application/json\" id=\"%s\">", id)
	p.Write(text)
	p.WriteString("</script>\n")
	return nil
}

// Text returns a text of others as pages show it: on one line, and without what changes the direction of letters.
func Text(s string) string { return diag.OneLine(diag.Sanitise(s)) }

// Name returns a name as pages show it: as [Text] does, and not without end.
func Name(s string) string {
	const longest = 240
	r := []rune(Text(s))
	if len(r) > longest {
		return string(r[:longest/2]) + " … " + string(r[len(r)-longest/2:])
	}
	return string(r)
}
