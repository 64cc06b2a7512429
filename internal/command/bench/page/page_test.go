package page_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/krmflow/krmflow/executors/executortest"
	"github.com/krmflow/krmflow/internal/command/bench/page"
	"github.com/krmflow/krmflow/internal/engine/profile"
)

// hostile is a name that does harm unless it is treated as plain text.
const hostile = `<script>document.title="taken"</script><img src=x onerror="document.title='taken'">'"&amp;` + "\n\x1b[31m"

// report returns a report with this number of steps, named after prefix, on this number of workers.
func report(steps, workers int, prefix string) *profile.Report {
	r := rand.New(rand.NewPCG(1, 2))
	const each = 50 * time.Microsecond
	all := each * time.Duration(steps/workers+1)
	p := &profile.Profile{Version: prefix + "v1", OS: "linux", Arch: "amd64", CPUs: 4, Jobs: workers, Roots: []string{prefix + "k"},
		Stages: []profile.Stage{{Name: profile.Planning, Wall: all / 4}, {Name: profile.Running, Start: all / 4, Wall: all}}}
	for i := range steps {
		start := all/4 + each*time.Duration(i/workers)
		s := profile.Step{ID: fmt.Sprintf("%slayer%d/kustomization.yaml#patches[%d]", prefix, i%300, i), Verb: "transform",
			Layer: fmt.Sprintf("%slayer%d/kustomization.yaml", prefix, i%300),
			File:  fmt.Sprintf("%sfile%d.yaml", prefix, i%700), Start: start, End: start + each - time.Duration(r.IntN(1000)),
			Runs: &profile.Spread{Median: 1, Max: 2}}
		s.Self = s.End - s.Start
		if i%10 == 0 {
			s.Function, s.Called, s.Answered = prefix+"fn", s.Start, s.End
		}
		if i >= workers {
			s.Before = []int{i - workers}
		}
		p.Steps = append(p.Steps, s)
		p.Planned = append(p.Planned, profile.Planned{File: s.File, Start: time.Duration(i) * all / 4 / time.Duration(steps),
			Wall: all / 4 / time.Duration(steps), Steps: 1})
	}
	spread := profile.Spread{Median: int64(all), Min: int64(all) - 10, Max: int64(all) + 10}
	series := profile.Series{Runs: 3, Wall: spread, CPU: spread,
		Stages: []profile.Phase{{Name: profile.Planning, Wall: spread}, {Name: profile.Running, Wall: spread}}}
	out := &profile.Report{Dirs: []string{prefix + "k"}, Cold: series, Warm: series, Profile: p, Analysis: profile.Analyse(p)}
	out.Changes = profile.Compare(out, out)
	return out
}

func write(t *testing.T, r *profile.Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := page.Write(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Names from the tree are plain text everywhere on the page.
func TestHostileNames(t *testing.T) {
	text := write(t, report(60, 2, hostile))
	if n := strings.Count(text, "<script"); n != 1 {
		t.Errorf("%d scripts", n)
	}
	for _, bad := range []string{"<img", "onerror=\"", "\x1b"} {
		if strings.Contains(text, bad) {
			t.Errorf("%q is in the page", bad)
		}
	}
	if !strings.Contains(text, "&lt;script&gt;") {
		t.Error("the names are not shown")
	}
}

// The page needs no external resources.
func TestSelfContained(t *testing.T) {
	text := write(t, report(60, 2, ""))
	if found := regexp.MustCompile(`(?i)(src|href|url|@import)\s*[=(]|https?:|<link|<iframe`).FindAllString(text, -1); found != nil {
		t.Errorf("the page refers to %q", found)
	}
	if strings.Contains(text, "script-src 'unsafe-inline'") {
		t.Error("every script may run")
	}
	if !strings.HasPrefix(text, page.Begins) {
		t.Errorf("it begins with %.60q", text)
	}
}

// The page for a large tree is small enough to open at once and has the bars of all steps that took
// time.
func TestLargeTree(t *testing.T) {
	for _, workers := range []int{1, 64} {
		text := write(t, report(20_000, workers, strings.Repeat("long-directory-name/", 4)))
		if n := len(text); n > 5<<20 {
			t.Errorf("%d workers: %d bytes", workers, n)
		}
		if n := strings.Count(text, "<rect"); n > 8000 || n < 100 {
			t.Errorf("%d workers: %d bars and boxes", workers, n)
		}
	}
}

// A run without any steps also has a page.
func TestNothingRan(t *testing.T) {
	p := &profile.Profile{Jobs: 1}
	if text := write(t, &profile.Report{Dirs: []string{"k"}, Profile: p, Analysis: profile.Analyse(p)}); !strings.Contains(text,
		"0 steps") {
		t.Error(text)
	}
}

// In a real browser the page shows its main facts without scripts, scripts sort its tables, and
// every name stays plain text.
func TestPageWorksInBrowser(t *testing.T) {
	browser := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			browser = path
			break
		}
	}
	if browser == "" {
		executortest.Missing(t, "no chromium on PATH shows the page")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "report.html")
	r := report(400, 4, hostile)
	text := write(t, r)
	show := func(args ...string) string {
		t.Helper()
		args = append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
			"--user-data-dir=" + filepath.Join(dir, "profile")}, args...)
		out, err := exec.Command(browser, append(args, "file://"+file)...).Output()
		if err != nil {
			t.Fatalf("%s: %v", browser, err)
		}
		return string(out)
	}
	for _, scripts := range []bool{true, false} {
		text := text
		if !scripts {
			text = regexp.MustCompile("script-src '[^']+'").ReplaceAllString(text, "script-src 'none'")
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		dom := show("--dump-dom")
		if sorted := strings.Contains(dom, `<body class="sort">`); sorted != scripts {
			t.Errorf("scripts %t: tables can be sorted: %t", scripts, sorted)
		}
		if strings.Contains(dom, "<title>taken") || strings.Contains(dom, "<img") || strings.Count(dom, "<script") != 1 {
			t.Errorf("a name of the tree has become more than text: %q",
				regexp.MustCompile("(?s).{80}(<title>taken|<img|<script).{80}").FindAllString(dom, -1))
		}
		for _, want := range []string{`<div class="tile" id="cold"><b>` + profile.Brief(time.Duration(r.Cold.Wall.Median)),
			`<section id="timeline">`, `<rect class="on"`, `<g class="box on">`,
			`<path class="edge on"`, `<section id="gains">`, `<section id="functions">`, `<section id="changes">`,
			profile.Brief(r.Analysis.Length)} {
			if !strings.Contains(dom, want) {
				t.Errorf("scripts %t: no %s in the page", scripts, want)
			}
		}
	}
	picture := filepath.Join(dir, "report.png")
	show("--window-size=1240,2400", "--hide-scrollbars", "--screenshot="+picture)
	if info, err := os.Stat(picture); err != nil || info.Size() < 10_000 {
		t.Errorf("the picture of the page: %v, %v", info, err)
	}
}
