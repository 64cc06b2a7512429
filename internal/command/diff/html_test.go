package diff_test

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/krmflow/krmflow/diag"
	diffcmd "github.com/krmflow/krmflow/internal/command/diff"
	"github.com/krmflow/krmflow/internal/command/diff/findings"
	"github.com/krmflow/krmflow/internal/dev/longtest"
	"github.com/krmflow/krmflow/internal/dev/pagetest"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/diff"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/lint/danger"
)

// hostile is a value that does harm unless it is treated as plain text.
const hostile = `</script><script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">'\"&amp;\e[31m\u2028\u202e`

func list(t *testing.T, text string) *krm.List {
	t.Helper()
	rs, err := krm.Resources(&yaml.Source{File: "all.yaml", Data: []byte(text)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return krm.NewList(rs...)
}

// result returns a diff with two equal roots and a changed one that has this number of additional
// resources.
func result(t *testing.T, more int) *diffcmd.Result {
	t.Helper()
	var long strings.Builder
	for i := range 200 {
		fmt.Fprintf(&long, `%d\n`, i)
	}
	var many strings.Builder
	for i := range more {
		fmt.Fprintf(&many, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: many%d}\ndata: {a: \"%d\"}\n", i, i)
	}
	thing := func(image, extra, text, password string) string {
		return fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec: {replicas: 2, template: {spec: {containers: [{name: server, image: "%s"}]}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {a.txt: "%s", inside.json: '{"level": "%s"}', note: "%s"}
---
apiVersion: v1
kind: Secret
metadata: {name: s}
stringData: {password: "%s"}
---
apiVersion: v1
kind: Namespace
metadata: {name: %s}
`, image, text, extra, extra, password, extra)
	}
	text := `one\ntwo\nthree\nfour\nfive\nsix\n`
	old, now := list(t, thing("a:1", "old", text, "geheim1")),
		list(t, thing("a:2", "new", strings.ReplaceAll(text, "three", "3")+long.String(), "geheim2"))
	other := diff.Lists(list(t, thing("a:1", "old", text, "geheim1")), list(t, thing(hostile, "new", text, "geheim1")+many.String()), nil)
	r := &diffcmd.Result{Against: "git:" + hostile, Commit: "0123456789abcdef", Same: 4, Failed: []string{hostile}}
	for _, name := range []string{"overlays/a", "overlays/b"} {
		root := diffcmd.Root{Name: name, Changes: diff.Lists(old, now, nil)}
		for i := range root.Changes.Resources {
			root.Causes = append(root.Causes, make([]diag.Pos, len(root.Changes.Resources[i].Edits)))
			for k := range root.Causes[i] {
				root.Causes[i][k] = diag.Pos{File: "base/deployment.yaml", Line: 7}
			}
		}
		r.Roots = append(r.Roots, root)
	}
	const control = hostile + "\x1b[31m\u2028\u202e\n"
	finding := findings.Finding{Cause: diag.Pos{File: control, Line: 7},
		Finding: danger.Finding{Code: diag.Immutable, Level: diag.LevelError,
			Field: control, Msg: control, Hints: []string{control}}}
	r.Roots = append(r.Roots, diffcmd.Root{Name: hostile, Changes: other, Findings: [][]findings.Finding{{finding}}})
	return r
}

func page(t *testing.T, r *diffcmd.Result) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := r.WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// The page contains no value of a Secret, treats every name as plain text, and needs no external
// resources.
func TestHTMLIsSafe(t *testing.T) {
	text := string(page(t, result(t, 3)))
	if strings.Contains(text, "geheim") {
		t.Error("a value of a Secret is in the page")
	}
	if n := strings.Count(text, "<script"); n != 1 {
		t.Errorf("%d scripts", n)
	}
	for _, bad := range []string{"<img", "onerror=\"", "\x1b", "\u2028", "\u202e"} {
		if strings.Contains(text, bad) {
			t.Errorf("%q is in the page", bad)
		}
	}
	if found := regexp.MustCompile(`(?i)(src|href|action)\s*=\s*"|url\(|@import|https?:|<link|<iframe| style=|unsafe-`).FindAllString(text,
		-1); found != nil {
		t.Errorf("the page refers to %q", found)
	}
	if !strings.HasPrefix(text, diffcmd.HTMLBegins) {
		t.Errorf("it begins with %.60q", text)
	}
}

// In a browser the page shows fields with both sides and their causes, shows lines side by side,
// and can be searched and filtered.
func TestHTMLBrowser(t *testing.T) {
	b := pagetest.Open(t, page(t, result(t, 0)), 1300, 1500, false)
	b.Wait(`document.getElementById("shown").textContent === "9 resources"`)
	text := pagetest.Eval[string](b, "document.body.innerText")
	for _, want := range []string{"overlays/a, overlays/b", "~ Deployment shop/web", "spec.template.spec.containers[name=server].image",
		"a:1", "a:2", "base/deployment.yaml:7", "+ Namespace new", "- Namespace old",
		`data."inside.json" › level`, "Not compared"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not shown", want)
		}
	}
	beside := pagetest.Eval[string](b,
		`[...document.querySelectorAll(".lines tr")].map(r => [...r.cells].map(c => c.textContent).join("|")).filter(r => r.includes("three"))[0]`)
	if beside != "3|three|3|3" {
		t.Errorf("the line that has changed is shown as %q", beside)
	}
	if !pagetest.Eval[bool](b,
		`(r => r[0].offsetWidth > r[1].offsetWidth * 1.5 && r[3].offsetWidth > r[1].offsetWidth)(document.querySelector(".resource th").parentElement.cells)`) {
		t.Error("paths and places have no more room than values")
	}
	b.Picture("diff-light")

	visible := `[...document.querySelectorAll(".resource:not([hidden])")].filter(r => !r.parentElement.hidden).length`
	b.Do(pagetest.Slash(), chromedp.KeyEvent("a:2"))
	b.Wait(visible + ` === 1 && document.getElementById("shown").textContent === "1 of 9 resources"`)
	b.Do(chromedp.KeyEvent(kb.Escape))
	b.Wait(visible + ` === 9`)
	b.Do(chromedp.Click(chromedp.CSS(`input[value="changed"]`)))
	b.Wait(visible + ` === 4`)
	b.Do(chromedp.Click(chromedp.CSS("#fold")))
	b.Wait(`document.querySelectorAll(".resource[open]:not([hidden])").length === 0`)
	b.Do(chromedp.Focus(chromedp.CSS("#search")), chromedp.KeyEvent(kb.ArrowDown+kb.ArrowRight))
	b.Wait(`document.activeElement.tagName === "SUMMARY" && document.activeElement.parentElement.open`)
	if pagetest.Eval[bool](b,
		`document.title === "taken" || document.querySelector("img") !== null || document.querySelectorAll("script").length !== 1`) {
		t.Error("a name has become more than text")
	}
	b.Confined()
}

// Thousands of resources are folded and can be searched.
func TestHTMLLarge(t *testing.T) {
	longtest.OnlyAll(t)
	b := pagetest.Open(t, page(t, result(t, 20_000)), 1300, 1000, true)
	b.Wait(
		`document.getElementById("shown").textContent === "20,009 resources" && document.querySelectorAll(".resource[open]").length === 0`)
	b.Do(pagetest.Slash(), chromedp.KeyEvent("many19999"))
	b.Wait(`document.getElementById("shown").textContent === "1 of 20,009 resources"`)
	b.Picture("diff-dark")
}
