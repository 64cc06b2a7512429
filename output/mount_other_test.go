//go:build !linux

package output

import "errors"

func mountTmpfs(dir, options string) error { return errors.ErrUnsupported }
func unmount(dir string) error             { return nil }
