package main

import (
	"bytes"
	"fmt"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/krmflow/krmflow/executors/executortest"
	"github.com/krmflow/krmflow/internal/dev/pagetest"
	"github.com/krmflow/krmflow/krm"
)

// pictures are the pictures of docs/review.md: pages of the change described there, and the
// condition for each page to be complete.
var pictures = []struct{ name, command, ready string }{
	{"review-plan", "krmflow plan -R overlays --diff git:HEAD -o html", `canvas.dataset.shown > 0`},
	{"review-diff", "krmflow diff -R overlays --against git:HEAD -o html",
		`document.getElementById("shown").textContent.includes("resources")`},
}

const picturesDir = "../../docs/pictures"

// TestPicturesAreUpToDate generates the pages shown in the pictures of docs/review.md. With -update
// it takes the pictures in a browser. Otherwise it reports a picture that is missing or shows an
// old page. Pages are the same on every machine, but pixels are not. The file pages.txt therefore
// has the digest of the page of each picture.
func TestPicturesAreUpToDate(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		executortest.Missing(t, "no git")
	}
	review, err := os.ReadFile("../../docs/review.md")
	if err != nil {
		t.Fatal(err)
	}
	known, err := os.ReadFile(filepath.Join(picturesDir, "pages.txt"))
	if err != nil && !*update {
		t.Error(err)
	}
	shop := changedShop(t)
	var pages strings.Builder
	for _, p := range pictures {
		html := pageOf(t, shop, p.command)
		line := fmt.Sprintf("%s  %s\n", krm.DigestOf(html), p.name)
		pages.WriteString(line)
		file := filepath.Join(picturesDir, p.name+".png")
		if *update {
			b := pagetest.Open(t, html, 1100, 640, false)
			b.Wait(p.ready)
			if err := os.MkdirAll(picturesDir, 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, b.Picture(p.name), 0o666); err != nil {
				t.Fatal(err)
			}
		} else if !strings.Contains(string(known), line) {
			t.Errorf(
				"docs/pictures/%s.png shows a page that is another one now: go test ./cmd/krmflow -run TestPicturesAreUpToDate -update takes it again; then look at it", p.name)
		}
		if !strings.Contains(string(review), "(pictures/"+p.name+".png)") {
			t.Errorf("docs/review.md does not show %s", p.name)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Error(err)
			continue
		}
		if c, err := png.DecodeConfig(bytes.NewReader(data)); err != nil || c.Width != 1100 || len(data) > 200_000 {
			t.Errorf("%s: %d bytes, %d wide: %v", file, len(data), c.Width, err)
		}
	}
	if *update {
		if err := os.WriteFile(filepath.Join(picturesDir, "pages.txt"), []byte(pages.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// changedShop returns a repository with the change of docs/review.md. Its commit is deterministic.
func changedShop(t *testing.T) string {
	dir := filepath.Join(t.TempDir(), "shop")
	if err := os.CopyFS(dir, os.DirFS("../../testdata/kustomize/shop")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-ec", `find . -type f -exec chmod 644 {} +
git init -q --object-format=sha1 && git add . && git commit -qm before
sed -i.x 's/count: 5/count: 6/' overlays/prod/kustomization.yaml && sed -i.x 's/memory: 64Mi/memory: 128Mi/' base/frontend/deployment.yaml && find . -name '*.x' -delete`)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b",
		"GIT_AUTHOR_DATE=2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE=2026-01-01T00:00:00Z")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}

func pageOf(t *testing.T, dir, command string) []byte {
	t.Helper()
	words := strings.Fields(command)
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "XDG_CACHE_HOME="+filepath.Join(t.TempDir(), "cache"))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	html, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", command, err, &stderr)
	}
	return html
}
