package secret

import (
	"io/fs"
	"slices"

	"github.com/krmflow/krmflow/krm/yaml"
)

// PrivatePerm are the permissions of a file with Secrets: it is for its owner alone.
const PrivatePerm fs.FileMode = 0o600

// Perm returns the permissions of a file that holds values, before the umask.
func Perm(values ...yaml.Value) fs.FileMode {
	if slices.ContainsFunc(values, In) {
		return PrivatePerm
	}
	return 0o666
}
