package loaders

import (
	"errors"
	"strings"

	"github.com/krmflow/krmflow/reference"
)

// IsRemote reports whether an entry that may be a directory names something remote. The form of the text alone decides, as in kustomize,
// before anybody looks at local directories.
func IsRemote(text string) bool { return isRemote(text, reference.Any) }

// IsRemoteFile is [IsRemote] for an entry that can only be a file.
func IsRemoteFile(text string) bool { return isRemote(text, reference.File) }

func isRemote(text string, use reference.Use) bool {
	const short = "github.com/" // the one host that needs no scheme
	if !strings.ContainsAny(text, ":@") && (len(text) < len(short) || !strings.EqualFold(text[:len(short)], short)) {
		return false // nearly all
	}
	_, err := reference.Parse(text, use)
	return !errors.Is(err, reference.ErrNotRemote)
}
