// Package messages has a page for each kind of message: its meaning, causes, solutions and an
// example. The pages are embedded from the folder pages as they are, and parsed on first use.
package messages

import (
	"embed"
	"slices"
	"strings"
	"sync"

	"github.com/krmflow/krmflow/diag"
)

//go:embed pages
var files embed.FS

// A Page explains one kind of message.
type Page struct {
	Code diag.Code
	// Title states the problem in one line.
	Title string
	// Text is Markdown: meaning, causes, solutions, and examples as archives in code blocks.
	Text string
}

// An Area is a group of pages whose codes have the same prefix.
type Area struct {
	Title string
	Pages []Page
}

// Areas returns all pages, ordered by code. The result must not be changed.
var Areas = sync.OnceValue(func() []Area {
	var areas []Area
	entries, err := files.ReadDir("pages")
	if err != nil {
		panic(err) // cannot fail: they are compiled in
	}
	for _, e := range entries {
		text, err := files.ReadFile("pages/" + e.Name())
		if err != nil {
			panic(err)
		}
		areas = append(areas, parse(string(text)))
	}
	return areas
})

// parse parses a file, which has a title and a section for each code.
func parse(text string) Area {
	sections := strings.Split("\n"+text, "\n## ")
	area := Area{Title: strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(sections[0]), "# "))}
	for _, s := range sections[1:] {
		head, body, _ := strings.Cut(s, "\n")
		code, title, _ := strings.Cut(head, " ")
		area.Pages = append(area.Pages, Page{diag.Code(code), title, strings.TrimSpace(body) + "\n"})
	}
	return area
}

// Find returns the page of a code, or nil if there is none. The code is case-insensitive, and
// its prefix KF may be omitted.
func Find(code string) *Page {
	code = strings.ToUpper(code)
	if !strings.HasPrefix(code, "KF") {
		code = "KF" + code
	}
	for _, a := range Areas() {
		if i := slices.IndexFunc(a.Pages, func(p Page) bool { return string(p.Code) == code }); i >= 0 {
			return &a.Pages[i]
		}
	}
	return nil
}

// Codes returns all codes in order.
func Codes() (list []string) {
	for _, a := range Areas() {
		for _, p := range a.Pages {
			list = append(list, string(p.Code))
		}
	}
	return list
}

// URI returns the address of the page of a code.
func URI(code diag.Code) string {
	return "https://github.com/krmflow/krmflow/blob/main/docs/messages.md#" + strings.ToLower(string(code))
}
