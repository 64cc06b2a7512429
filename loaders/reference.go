package loaders

import (
	"errors"
	"strings"

	"github.com/krmflow/krmflow/reference"
)

// IsRemote reports whether an entry that may be a directory is a remote reference. As in
// kustomize, only the form of the text decides; local directories are not consulted.
func IsRemote(text string) bool { return isRemote(text, reference.Any) }

// IsRemoteFile is [IsRemote] for an entry that can only be a file.
func IsRemoteFile(text string) bool { return isRemote(text, reference.File) }

func isRemote(text string, use reference.Use) bool {
	const short = "github.com/" // the only host that may be written without a scheme
	if !strings.ContainsAny(text, ":@") && (len(text) < len(short) || !strings.EqualFold(text[:len(short)], short)) {
		return false // the common case
	}
	_, err := reference.Parse(text, use)
	return !errors.Is(err, reference.ErrNotRemote)
}
