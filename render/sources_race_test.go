package render

import (
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/krmflow/krmflow/internal/sys/filestat"
	"github.com/krmflow/krmflow/loaders/remote"
	"github.com/krmflow/krmflow/reference"
)

// TestConcurrentCatalogs is for the race detector: catalogs are fetched concurrently, and each
// fetch looks up the cache directory.
func TestConcurrentCatalogs(t *testing.T) {
	dir := t.TempDir()
	s := Sources{
		CacheDir: filepath.Join(dir, "cache"), Rendered: []string{filepath.Join(dir, "root")}, Places: &filestat.Dirs{},
		Options: remote.Options{Offline: true},
	}
	fetch, end := s.Fetching(t.Context())
	defer end()
	var wg sync.WaitGroup
	begin := make(chan struct{})
	for i := range 8 {
		wg.Go(func() {
			<-begin
			text := "https://h.invalid/" + strconv.Itoa(i) + ".yaml#sha256=" + strings.Repeat("1", 64)
			if _, err := fetch(text, reference.Published, remote.FromUser); !remote.IsUnproven(err) {
				t.Errorf("%s: %v", text, err)
			}
		})
	}
	close(begin)
	wg.Wait()
}
