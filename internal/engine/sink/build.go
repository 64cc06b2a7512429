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

// CheckBuild returns the errors of [WriteBuild] that can be detected before there is output.
func CheckBuild(path string) error {
	if !isFolder(path) {
		return output.CheckFile(path)
	}
	if err := swap.CheckWritable(path); err != nil {
		return &output.RefusedError{Path: path, Reason: fmt.Sprintf("cannot write to it: %v", err)}
	}
	return nil
}

// WriteBuild writes the resources of l as `kustomize build -o path` does: one file for each
// resource if path is a folder, otherwise a single file. Names that are not a single path
// component, and names that several resources share, come from [names.Of]. Other files in the
// folder are kept. Each file is replaced atomically, the folder is not. After writing a single
// file, WriteBuild calls wrote with its digest.
func WriteBuild(path string, l *krm.List, wrote func(krm.Digest)) error {
	if !isFolder(path) {
		text := l.AppendYAML(nil)
		err := output.WriteFileAtomic(path, text, secret.Perm(l.HoldsSecrets()))
		if err == nil {
			wrote(krm.DigestOf(text))
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
		if err := output.WriteFile(filepath.Join(path, files[i]), data, secret.Perm(r.HoldsSecret())); err != nil {
			return err
		}
	}
	return nil
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
