//go:build !unix

package settings

import "io/fs"

// others returns "": without permission bits, the user's profile protects the file.
func others(fs.FileInfo) string { return "" }
