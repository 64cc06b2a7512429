//go:build !linux

package sealed

import "os"

func create() (*os.File, error) { return nil, nil }
func seal(*os.File) error       { return nil }
