//go:build !unix

package main

import "io/fs"

// others says nothing: where there are no permission bits, the user's profile is what protects the file.
func others(fs.FileInfo) string { return "" }
