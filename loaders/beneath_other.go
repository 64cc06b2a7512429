//go:build !linux

package loaders

import "errors"

// readBeneath is not supported; the caller falls back to the portable implementation.
func (l *Local) readBeneath(*Dir, string, int64) (content, error) {
	return content{}, errors.ErrUnsupported
}
