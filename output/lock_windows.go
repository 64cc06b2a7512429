package output

import (
	"io/fs"
	"os"
)

// GiveTo does nothing on Windows.
func GiveTo(*os.File, fs.FileInfo) {}
