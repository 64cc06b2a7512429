package planpage_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/krmflow/krmflow/internal/dev/longtest"
	"github.com/krmflow/krmflow/internal/dev/pagetest"
	"github.com/krmflow/krmflow/internal/planview"
	"github.com/krmflow/krmflow/internal/planview/planpage"
)

// hostile is a name that does harm unless it is treated as plain text.
const hostile = "</script><script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">'\"&amp;`${1}`\n\x1b[31m\u2028\u2029\u202e<!--"

// document returns a plan of layers with this number of steps each. Each layer is used by the next,
// except for every tenth. Names start with prefix.
func document(layers, steps int, prefix string) *planview.Document {
	d := &planview.Document{APIVersion: planview.Version, Kind: "Plan", Secrets: "pbkdf2-sha256:1"}
	last := ""
	for i := range layers {
		file := fmt.Sprintf("%slayer%d/kustomization.yaml", prefix, i)
		l := planview.Layer{File: file, Kind: "Kustomization", Files: []string{file}, Roots: []string{}}
		before := ""
		if i%10 > 0 {
			l.Uses = []planview.Use{{Field: "resources[0]", Layer: d.Layers[i-1].File}}
			before = last
		}
		for k := range steps {
			n := planview.Node{ID: fmt.Sprintf("%s#patches[%d]", file, k), Verb: "transform", Summary: prefix + "Deployment web",
				Layer: file, Origin: planview.Origin{File: file, Line: k + 1, Field: fmt.Sprintf("patches[%d]", k)}}
			if before != "" {
				n.Inputs = []string{before}
			}
			before = n.ID
			source := fmt.Sprintf("%slayer%d/part%d.yaml", prefix, i, k)
			l.Files = append(l.Files, source)
			d.Files = append(d.Files, planview.File{Path: source, Digest: "sha256:1"})
			if k == 0 && i%5 == 0 {
				n.Verb = "call"
				n.Function = &planview.Function{Allowed: i%10 == 0, Runtime: "exec", Source: prefix + "fn", Digest: "sha256:2",
					Catalog: prefix + "catalog.yaml", Entry: 1, TrustedBy: "flag",
					Grants: []planview.Grant{{Capability: "network", By: "flag"}}, Cache: "cached", ConfigFile: file}
				if !n.Function.Allowed {
					n.Function.Denials, n.Function.Reason = []string{prefix + "it is in no catalog"}, "not trusted"
				}
			}
			d.Nodes = append(d.Nodes, n)
		}
		last = before
		if i%10 == 9 || i == layers-1 {
			dir := fmt.Sprintf("%slayer%d", prefix, i)
			l.Roots = []string{dir}
			d.Roots = append(d.Roots, planview.Root{Dir: dir, Node: last, Known: true,
				Objects: []string{fmt.Sprintf("Deployment shop/web%d", i)}, Resources: []planview.Count{{Name: "Deployment", Count: 1}}})
		}
		d.Layers = append(d.Layers, l)
	}
	d.Failed = []planview.Failed{{Dir: prefix + "broken",
		Errors: []planview.Message{{File: prefix + "broken/kustomization.yaml", Line: 3, Field: "resources[0]",
			Message: prefix + "does not exist", Hints: []string{prefix + "hint"}}}}}
	d.Warnings = []planview.Message{{File: prefix + "a.yaml", Line: 1, Message: prefix + "deprecated"}}
	d.Catalogs = []planview.Catalog{{Ref: prefix + "catalog.yaml", Digest: "sha256:3", TrustedBy: "flag"}}
	d.Fetched = []planview.Fetched{{Ref: prefix + "remote", Version: "v1"}}
	return d
}

func write(t *testing.T, d *planview.Document) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := planpage.Write(&b, d); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Names from the tree are plain text everywhere, both in the lists and in the data for the script.
func TestHostileNames(t *testing.T) {
	old, now := document(10, 3, hostile), document(11, 3, hostile)
	d := planview.Compare(old, now)
	d.Against = hostile
	var b bytes.Buffer
	if err := planpage.WriteDifference(&b, now, old, d); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	if n := strings.Count(text, "<script"); n != 2 { // the data, and its reader
		t.Errorf("%d scripts", n)
	}
	for _, bad := range []string{"<img", "onerror=\"", "\x1b", "\u2028", "\u2029", "\u202e", "<!--\n", "</script><script>"} {
		if strings.Contains(text, bad) {
			t.Errorf("%q is in the page", bad)
		}
	}
	from := strings.Index(text, `id="plan">`) + len(`id="plan">`)
	if data := text[from : from+strings.Index(text[from:], "</script>")]; !json.Valid([]byte(data)) {
		t.Errorf("the data is no JSON: %.200s", data)
	}
}

// The page needs no external resources.
func TestSelfContained(t *testing.T) {
	text := string(write(t, document(10, 3, "")))
	if found := regexp.MustCompile(`(?i)(src|href|action)\s*=\s*"[^#"]|url\(|@import|https?:|<link|<iframe| style=|unsafe-`).FindAllString(
		text, -1); found != nil {
		t.Errorf("the page refers to %q", found)
	}
	if !strings.HasPrefix(text, planpage.Begins) {
		t.Errorf("it begins with %.60q", text)
	}
}

func TestSameBytes(t *testing.T) {
	if !bytes.Equal(write(t, document(30, 4, "a/")), write(t, document(30, 4, "a/"))) {
		t.Error("two pages of one plan differ")
	}
}

func TestEmptyPlanHasPage(t *testing.T) {
	b := pagetest.Open(t, write(t, &planview.Document{}), 1000, 700, false)
	b.Wait(`canvas.dataset.view === "layers"`)
	b.Do(pagetest.Slash(), chromedp.KeyEvent("a"))
	b.Wait(`results.textContent === "nothing found"`)
	b.Do(chromedp.KeyEvent(kb.Escape), chromedp.KeyEvent(kb.ArrowDown+kb.Enter+kb.Escape))
}

// In a browser the graph can be moved and searched with mouse and keyboard, the selection is
// announced, and every name of the tree stays plain text.
func TestPageWorksInBrowser(t *testing.T) {
	b := pagetest.Open(t, write(t, document(24, 5, hostile)), 1400, 900, false)
	b.Wait(`canvas.dataset.boxes === "24" && canvas.dataset.shown === "24"`)
	if title := pagetest.Eval[string](b, "document.title"); !strings.HasPrefix(title, "krmflow plan: ") {
		t.Errorf("the title is %q", title)
	}

	// A drag moves the graph. After a click on the graph, the wheel enlarges it.
	x := pagetest.Eval[int](b, "+canvas.dataset.x")
	b.Do(drag(300, 700, 460, 640)...)
	b.Wait(fmt.Sprintf(`+canvas.dataset.x === %d`, x+160))
	zoom := pagetest.Eval[float64](b, "+canvas.dataset.zoom")
	b.Do(chromedp.MouseClickXY(20, 860), chromedp.Focus(chromedp.CSS("#canvas")), wheel(400, 500, -240))
	b.Wait(fmt.Sprintf("+canvas.dataset.zoom > %f * 1.2", zoom))
	b.Do(chromedp.KeyEvent("0"))
	b.Wait(fmt.Sprintf("Math.abs(canvas.dataset.zoom - %f) < 0.01", zoom))

	// The search finds functions, files, resources and steps.
	find := func(words, first string) {
		t.Helper()
		b.Do(chromedp.KeyEvent(kb.Escape), pagetest.Slash(), chromedp.KeyEvent(words))
		b.Wait(fmt.Sprintf(`search.value === %q && results.querySelector("button")?.textContent.startsWith(%q) === true`, words, first))
	}
	find("layer7/part3", "file")
	find("resource web23", "resource Deployment shop/web23 in ")
	find("function layer5/ denied", "function")
	b.Do(chromedp.KeyEvent(kb.Enter))
	b.Wait(`canvas.dataset.view === "steps" && canvas.dataset.chosen === "25"`)
	panel := pagetest.Eval[string](b, "panel.innerText")
	for _, want := range []string{"denied: not trusted", "it is in no catalog", "network, by flag", "cached", "Deployment web",
		"kustomization.yaml:1", "exec ", "used by"} {
		if !strings.Contains(panel, want) {
			t.Errorf("%q is not in the panel: %s", want, panel)
		}
	}
	b.Picture("plan-step")

	// Arrow keys follow the edges, Escape returns to the layers, and Enter opens a layer.
	b.Do(chromedp.Focus(chromedp.CSS("#canvas")), chromedp.KeyEvent(kb.ArrowRight))
	b.Wait(`canvas.dataset.chosen === "26"`)
	b.Do(chromedp.KeyEvent(kb.ArrowLeft))
	b.Wait(`canvas.dataset.chosen === "25"`)
	b.Do(chromedp.KeyEvent(kb.Escape)) // the search
	b.Do(chromedp.KeyEvent(kb.Escape))
	b.Wait(`canvas.dataset.view === "layers" && canvas.dataset.chosen === "5"`)
	b.Do(chromedp.KeyEvent(kb.ArrowRight))
	b.Wait(`canvas.dataset.chosen === "6"`)
	b.Picture("plan-layers")
	b.Do(chromedp.KeyEvent(kb.Enter))
	b.Wait(`canvas.dataset.view === "steps" && canvas.dataset.layer === "6"`)

	// The list also contains the steps and links to the graph.
	b.Do(chromedp.Focus(chromedp.CSS(`details.layer[data-layer="3"] > summary`)), chromedp.KeyEvent(kb.Enter))
	b.Picture("plan-list")
	b.Wait(`document.querySelectorAll('details.layer[data-layer="3"] li').length === 5`)
	b.Do(chromedp.Click(chromedp.CSS(`details.layer[data-layer="3"] li:nth-child(2) button`)))
	b.Wait(`canvas.dataset.layer === "3" && canvas.dataset.chosen === "16"`)

	if pagetest.Eval[bool](b,
		`document.title === "taken" || document.querySelector("img") !== null || document.querySelectorAll("script").length !== 2`) {
		t.Error("a name of the tree has become more than text")
	}
	b.Confined()
}

// fleet returns a plan of roots that use a Component and one of three environments. The
// environments use two bases.
func fleet(roots int) *planview.Document {
	d := &planview.Document{APIVersion: planview.Version, Kind: "Plan"}
	add := func(kind, dir string, uses ...string) {
		file := dir + "/kustomization.yaml"
		l := planview.Layer{File: file, Kind: kind, Files: []string{file}, Roots: []string{}}
		for i, u := range uses {
			l.Uses = append(l.Uses, planview.Use{Field: fmt.Sprintf("resources[%d]", i), Layer: u + "/kustomization.yaml"})
		}
		d.Layers = append(d.Layers, l)
		d.Nodes = append(d.Nodes, planview.Node{ID: file + "#load", Verb: "load", Layer: file,
			Origin: planview.Origin{File: file, Line: 1, Field: "resources[0]"}})
	}
	add("Kustomization", "base/web")
	add("Kustomization", "base/api")
	add("Component", "components/monitoring")
	for _, env := range []string{"dev", "staging", "prod"} {
		add("Kustomization", "envs/"+env, "base/web", "base/api")
	}
	for i := range roots {
		dir := fmt.Sprintf("clusters/region-%d/cluster-%03d/overlays/production", i%5, i)
		add("Kustomization", dir, []string{"envs/dev", "envs/staging", "envs/prod"}[i%3], "components/monitoring")
		d.Roots = append(d.Roots, planview.Root{Dir: dir, Node: dir + "/kustomization.yaml#load", Known: true})
	}
	return d
}

// Similar roots are folded into one box, as in a drawing, until a click opens it. Every box has a
// label.
func TestFoldsOpenOnClick(t *testing.T) {
	for _, size := range [][2]int{{1280, 900}, {420, 900}} {
		b := pagetest.Open(t, write(t, fleet(200)), size[0], size[1], size[0] == 420)
		b.Wait(
			`canvas.dataset.boxes === "9" && canvas.dataset.folds === "3" && canvas.dataset.labelled === canvas.dataset.shown && +canvas.dataset.shown > 5`)
		b.Picture(fmt.Sprintf("plan-folds-%d", size[0]))
		b.Do(chromedp.Click(chromedp.CSS("#fit")))
		b.Wait(`canvas.dataset.shown === "9"`)
		if size[0] == 420 {
			continue
		}
		b.Do(chromedp.Focus(chromedp.CSS("#canvas")), chromedp.KeyEvent(kb.ArrowRight+kb.ArrowRight+kb.ArrowRight))
		b.Wait(`canvas.dataset.chosen >= "206" && panel.innerText.includes("roots alike")`)
		b.Do(chromedp.KeyEvent(kb.Enter))
		b.Wait(`canvas.dataset.open === "1" && +canvas.dataset.boxes >= 8 + 66 && +canvas.dataset.labelled > 20`)
		b.Picture("plan-fold-open")
		b.Do(chromedp.KeyEvent(kb.Escape))
		b.Wait(`canvas.dataset.open === "0" && canvas.dataset.boxes === "9"`)
		b.Do(chromedp.KeyEvent(kb.Escape), chromedp.KeyEvent("0"))
		// A click opens a fold, and a button closes all.
		at := func(script string) (x, y float64) {
			p := pagetest.Eval[[]float64](b, script)
			return p[0], p[1]
		}
		x, y := at(
			`(() => { const r = canvas.getBoundingClientRect(), z = +canvas.dataset.zoom, g = JSON.parse(document.getElementById("plan").textContent).groups.find(g => g.m.length > 1); return [r.left + +canvas.dataset.x + (g.x + 100) * z, r.top + +canvas.dataset.y + (g.y + 20) * z]; })()`)
		b.Do(chromedp.MouseClickXY(x, y))
		b.Wait(`canvas.dataset.open === "1"`)
		b.Do(chromedp.Click(chromedp.CSS("#close")))
		b.Wait(`canvas.dataset.open === "0"`)
		// A search opens the fold of its hit.
		b.Do(pagetest.Slash(), chromedp.KeyEvent("layer cluster-123"), chromedp.KeyEvent(kb.Enter))
		b.Wait(`canvas.dataset.open === "1" && panel.innerText.includes("cluster-123")`)
	}
}

// Changes since a different plan are marked, including removals.
func TestChangesAreMarked(t *testing.T) {
	old, now := document(20, 3, ""), document(20, 3, "")
	now.Nodes[4].Summary = "another one"
	now.Nodes[0].Function.Grants = nil
	now.Layers[19].Files = append(now.Layers[19].Files, "new.yaml")
	gone := old.Nodes[3]
	gone.ID, gone.Inputs = "layer1/kustomization.yaml#gone", []string{old.Nodes[2].ID}
	old.Nodes = append(old.Nodes, gone)
	d := planview.Compare(old, now)
	d.Against = "old.json"
	var page bytes.Buffer
	if err := planpage.WriteDifference(&page, now, old, d); err != nil {
		t.Fatal(err)
	}
	b := pagetest.Open(t, page.Bytes(), 1400, 900, true)
	b.Wait(`canvas.dataset.boxes === "20"`)
	b.Do(pagetest.Slash(), chromedp.KeyEvent("gone"), chromedp.KeyEvent(kb.Enter))
	b.Wait(`canvas.dataset.chosen === "60" && panel.innerText.includes("removed")`)
	b.Picture("plan-diff-dark")
	b.Do(chromedp.KeyEvent(kb.Escape), chromedp.KeyEvent(kb.Escape))
	b.Wait(`canvas.dataset.view === "layers" && panel.innerText.includes("2 of 4 steps")`)
	b.Do(chromedp.Click(chromedp.CSS("#only")))
	text := pagetest.Eval[string](b, `document.getElementById("changes").innerText`)
	for _, want := range []string{"summary: Deployment web -> another one", "function.grants: - network by flag", "files: + new.yaml",
		"removed"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not among the changes: %s", want, text)
		}
	}
	b.Picture("plan-diff-layers-dark")
}

// 20,000 steps load and can be searched, whether in many layers or in one.
func TestLargePlan(t *testing.T) {
	longtest.OnlyAll(t)
	for _, c := range []struct{ layers, steps int }{{2000, 10}, {1, 20_000}, {20_000, 1}} {
		text := write(t, document(c.layers, c.steps, "long-directory-name/"))
		t.Logf("%d layers, %d steps each: %d bytes", c.layers, c.steps, len(text))
		if len(text) > 32<<20 {
			t.Errorf("%d layers: %d bytes", c.layers, len(text))
		}
		b := pagetest.Open(t, text, 1400, 900, false)
		b.Wait(`+canvas.dataset.boxes > 0 && (canvas.dataset.shown === canvas.dataset.boxes || canvas.dataset.zoom === "0.4000")`)
		b.Picture(fmt.Sprintf("plan-large-%d", c.layers))
		last := c.layers*c.steps - 1
		b.Do(pagetest.Slash(), chromedp.KeyEvent(fmt.Sprintf("step layer%d/ patches[%d]", c.layers-1, c.steps-1)))
		b.Wait(`results.dataset.hits === "1"`)
		b.Do(chromedp.KeyEvent(kb.Enter))
		b.Wait(fmt.Sprintf(`canvas.dataset.chosen === "%d" && canvas.dataset.boxes === "%d" && +canvas.dataset.shown > 0`, last, c.steps))
		b.Do(drag(300, 700, 460, 640)...)
		b.Do(chromedp.KeyEvent("0"))
		b.Wait(fmt.Sprintf(`canvas.dataset.shown === "%d"`, c.steps))
		b.Picture(fmt.Sprintf("plan-large-steps-%d", c.layers))
	}
}

func drag(x1, y1, x2, y2 float64) []chromedp.Action[chromedp.Void] {
	return []chromedp.Action[chromedp.Void]{
		chromedp.MouseEvent(input.DispatchMouseEventTypeMousePressed, x1, y1, chromedp.ButtonLeft, chromedp.ClickCount(1)),
		chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, (x1+x2)/2, (y1+y2)/2, chromedp.ButtonLeft),
		chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, x2, y2, chromedp.ButtonLeft),
		chromedp.MouseEvent(input.DispatchMouseEventTypeMouseReleased, x2, y2, chromedp.ButtonLeft, chromedp.ClickCount(1)),
	}
}

func wheel(x, y, by float64) chromedp.Action[chromedp.Void] {
	return chromedp.MouseEvent(input.DispatchMouseEventTypeMouseWheel, x,
		y, func(p *input.DispatchMouseEventParams) { p.DeltaX, p.DeltaY = 0.01, by })
}
