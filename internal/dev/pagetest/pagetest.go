// Package pagetest controls HTML pages in a real browser for tests.
package pagetest

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/krmflow/krmflow/executors/executortest"
	"github.com/krmflow/krmflow/internal/dev/longtest"
)

// A Browser shows one page. At its end, the test fails if the page threw an error, violated its
// content security policy or requested a URL other than its own.
type Browser struct {
	t   testing.TB
	ctx context.Context
	url string

	mu       sync.Mutex
	requests []string
	errors   []string
}

// patience is the timeout for reactions of the page.
const patience = time.Minute

// limit is the timeout for the whole test of a page, so that a page that hangs cannot block the
// tests.
const limit = 3 * time.Minute

// Open shows a page in a window of the given size, in dark mode if dark is set. It
// skips the test unless long tests are enabled, and if there is no browser. In CI a missing browser
// fails the test.
func Open(t testing.TB, html []byte, width, height int, dark bool) *Browser {
	t.Helper()
	longtest.Only(t)
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			program = path
			break
		}
	}
	if program == "" {
		executortest.Missing(t, "no chromium on PATH shows the page")
	}
	file := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(file, html, 0o666); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(context.Background(), limit)
	ctx, end := chromedp.NewExecAllocator(ctx, append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program),
		chromedp.NoSandbox,
		chromedp.WSURLReadTimeout(limit), chromedp.Flag("disable-dev-shm-usage", true), chromedp.WindowSize(width, height))...)
	ctx, leave := chromedp.NewContext(ctx)
	t.Cleanup(func() { leave(); end(); stop() })
	b := &Browser{t: t, ctx: ctx, url: "file://" + filepath.ToSlash(file)}
	if err := chromedp.Listen(ctx, b.event); err != nil {
		t.Fatal(err)
	}
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	call(b, network.Enable, network.EnableParams{})
	call(b, log.Enable, cdp.Empty{})
	call(b, emulation.SetEmulatedMedia,
		emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	b.Do(chromedp.EmulateViewport(int64(width), int64(height)), chromedp.Navigate(b.url))
	t.Cleanup(b.check)
	return b
}

func (b *Browser) event(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, e.Request.URL)
	case *runtime.EventExceptionThrown:
		b.errors = append(b.errors, fmt.Sprint(e.ExceptionDetails.Text, " ", e.ExceptionDetails.Exception))
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			b.errors = append(b.errors, e.Entry.Text)
		}
	}
}

func call[P, R any](b *Browser, command cdp.Command[P, R], params P) {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, command, params); err != nil {
		b.t.Fatal(err)
	}
}

// check reports errors and forbidden requests of the page.
func (b *Browser) check() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, url := range b.requests {
		if url != b.url && !strings.HasPrefix(url, b.url+"#") {
			b.t.Errorf("the page asks for %s", url)
		}
	}
	if len(b.requests) == 0 {
		b.t.Error("nothing was opened")
	}
	for _, text := range b.errors {
		b.t.Errorf("in the page: %s", text)
	}
}

// Do runs actions in order.
func (b *Browser) Do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// Eval returns the value of an expression in the page.
func Eval[T any](b *Browser, expression string) T {
	b.t.Helper()
	value, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return value
}

// Wait waits until an expression in the page is true.
func (b *Browser) Wait(expression string) {
	b.t.Helper()
	for end := time.Now().Add(patience); !Eval[bool](b, expression); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			b.t.Fatalf("not true: %s", expression)
		}
	}
}

// Slash presses the slash key, which starts a search, in the same way as a keyboard, so that the
// page can prevent the character from being typed.
func Slash() chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyDown, Key: "/",
			Text: "/", Code: "Slash", WindowsVirtualKeyCode: 191})
		return err
	})
}

// Picture returns a PNG screenshot of the window. If KRMFLOW_PICTURES is set, it also writes the
// screenshot to that folder under the given name, for inspection.
func (b *Browser) Picture(name string) []byte {
	b.t.Helper()
	png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.t.Fatal(err)
	}
	if dir := os.Getenv("KRMFLOW_PICTURES"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o666); err != nil {
			b.t.Fatal(err)
		}
	}
	return png
}

// Confined fails the test if a script in the page can reach a server or add another script or
// style, using all techniques that the content security policy must block. Errors that the
// browser reports for blocked attempts are ignored.
func (b *Browser) Confined() {
	b.t.Helper()
	var mu sync.Mutex
	reached := []string{}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		reached = append(reached, r.URL.Path)
	}))
	defer server.Close()
	Eval[bool](b, `(async () => {
const to = `+"`"+server.URL+"`"+`, wait = e => new Promise(done => { e.onload = e.onerror = done; setTimeout(done, 500); });
await fetch(to + "/fetch").catch(() => 0);
try { navigator.sendBeacon(to + "/beacon"); } catch {}
try { new WebSocket(to.replace("http", "ws") + "/socket"); } catch {}
for (const [name, at] of [["img", "src"], ["script", "src"], ["iframe", "src"], ["link", "href"]]) {
  const e = document.createElement(name); if (name === "link") e.rel = "stylesheet"; e[at] = to + "/" + name;
  const done = wait(e); document.head.append(e); await done;
}
const s = document.createElement("script"); s.textContent = "document.body.dataset.taken = 1"; document.body.append(s);
const f = document.createElement("form"); f.action = to + "/form"; f.target = "x"; document.body.append(f); f.submit();
await new Promise(done => setTimeout(done, 200));
return true;
})()`)
	if Eval[bool](b, `document.body.dataset.taken === "1"`) {
		b.t.Error("a script that was added to the page runs")
	}
	mu.Lock()
	defer mu.Unlock()
	if len(reached) > 0 {
		b.t.Errorf("the page reaches a server: %q", reached)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.errors, b.requests = nil, b.requests[:1] // drop blocked attempts
}
