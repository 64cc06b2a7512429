//go:build !linux

package loaders

import "errors"

// readBeneath leaves everything to the portable way.
func (d *Dir) readBeneath(string) ([]byte, error) { return nil, errors.ErrUnsupported }
