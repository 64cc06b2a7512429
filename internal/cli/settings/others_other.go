//go:build !unix

package settings

import "io/fs"

// others says nothing: where there are no permission bits, the user's profile is what protects the file.
func others(fs.FileInfo) string { return "" }
