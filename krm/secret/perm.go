package secret

import "io/fs"

// PrivatePerm are the permissions of a file with Secrets: only its owner can read it.
const PrivatePerm fs.FileMode = 0o600

// Perm returns the permissions of a new file, before the umask. private means that the file
// contains a Secret or text copied from a Secret.
func Perm(private bool) fs.FileMode {
	if private {
		return PrivatePerm
	}
	return 0o666
}
