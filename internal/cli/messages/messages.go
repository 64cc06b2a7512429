// Package messages has a page for each kind of message: what it means, why it happens, what to do, and an example. The pages are embedded as
// they are written, in folder pages, and read when somebody asks for one.
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

// A Page explains a kind of message.
type Page struct {
	Code diag.Code
	// Title says in a line what is wrong.
	Title string
	// Text is Markdown: the meaning, causes, what to do, and examples as archives in code blocks.
	Text string
}

// An Area is a part of the pages: those whose codes begin alike.
type Area struct {
	Title string
	Pages []Page
}

// Areas returns all pages in the order of their codes. The result must not be changed.
var Areas = sync.OnceValue(func() []Area {
	var areas []Area
	entries, err := files.ReadDir("pages")
	if err != nil {
		panic(err) // they are compiled in
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

// parse reads a file: its title, and a section for each code.
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

// Find returns the page of a code, whatever the case of its letters and with or without KF; nil if there is none.
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

// Codes returns all codes, in order.
func Codes() (list []string) {
	for _, a := range Areas() {
		for _, p := range a.Pages {
			list = append(list, string(p.Code))
		}
	}
	return list
}

// URI returns where the page of a code is to be read.
func URI(code diag.Code) string {
	return "https://github.com/krmflow/krmflow/blob/main/docs/messages.md#" + strings.ToLower(string(code))
}
