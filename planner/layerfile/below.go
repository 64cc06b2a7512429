package layerfile

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxBelow bounds how many directories are looked into for a hint.
const maxBelow = 500

// below returns the path, from the directory real, of the nearest directory below that has a file which makes it a layer: "" if none is
// found soon.
func below(real string) string {
	dirs := []string{"."}
	for i := 0; i < len(dirs) && i < maxBelow; i++ {
		entries, err := os.ReadDir(filepath.Join(real, dirs[i]))
		if err != nil {
			continue
		}
		for _, e := range entries {
			switch name := e.Name(); {
			case e.IsDir() && !strings.HasPrefix(name, "."):
				dirs = append(dirs, filepath.Join(dirs[i], name))
			case i > 0 && e.Type().IsRegular() && (slices.Contains(Names, name) || slices.Contains(CompositionNames, name)):
				return dirs[i]
			}
		}
	}
	return ""
}
