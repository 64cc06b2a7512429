package sink

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/krmflow/krmflow/internal/sys/swap"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/secret"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/output"
	"github.com/krmflow/krmflow/output/names"
)

// CheckBuild returns the error of [WriteBuild] that can be known before there is anything to write.
func CheckBuild(path string) error {
	if !isFolder(path) {
		return output.CheckFile(path)
	}
	if err := swap.CheckWritable(path); err != nil {
		return &output.RefusedError{Path: path, Reason: fmt.Sprintf("cannot write to it: %v", err)}
	}
	return nil
}

// WriteBuild writes the resources of l as `kustomize build -o path` does: one file for each resource
// if path is a folder, else one file. Names that are not a single path component, and names that several
// resources share, are those of [names.Of]. Other files in the folder stay. Each file is replaced
// atomically, the folder is not. WriteBuild calls wrote with the digest of the one file, after it
// was written.
func WriteBuild(path string, l *krm.List, wrote func(file string, sum krm.Digest)) error {
	if !isFolder(path) {
		text := l.AppendYAML(nil)
		err := output.WriteFileAtomic(path, text, secret.Perm(l.HoldsSecrets()))
		if err == nil {
			wrote(path, krm.DigestOf(text))
		}
		return err
	}
	files, err := names.Of(l)
	if err != nil {
		return &output.RefusedError{Path: path, Reason: err.Error()}
	}
	var data []byte
	for i, r := range l.All() {
		data = yaml.AppendFile(data[:0], r.Value())
		if err := output.WriteFile(filepath.Join(path, files[i]), data, secret.Perm(secret.In(r.Value()))); err != nil {
			return err
		}
	}
	return nil
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
