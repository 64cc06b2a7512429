//go:build !linux

package loaders

import "errors"

// readBeneath leaves everything to the portable way.
func (l *Local) readBeneath(*Dir, string, int64) (content, error) {
	return content{}, errors.ErrUnsupported
}
