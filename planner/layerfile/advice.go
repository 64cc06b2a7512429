package layerfile

import (
	"errors"
	"path"
	"slices"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
)

// ResourceError improves the error about a file in resources: it explains the file's actual type
// and the field where it belongs. src is the file, nil if it could not be read.
func ResourceError(text string, src *yaml.Source, err error) error {
	var restricted *loaders.RestrictedError
	var e *diag.Error
	switch dir, name := path.Split(text); {
	case slices.Contains(Names, name) && (src != nil || errors.As(err, &restricted)):
		return diag.Errorf(diag.Pos{}, "", "%q is a kustomization file", text).With(diag.NotAFile).Hint("name its directory: %s",
			path.Clean(dir))
	case errors.As(err, &restricted):
		return diag.Errorf(diag.Pos{}, "", "%w", err).
			Hint("put it in a directory with a kustomization file that lists it, and name that directory here")
	case src == nil || !errors.As(err, &e) || errors.Is(err, yaml.ErrConflict):
		return err
	}
	if hint := loaders.PageHint(text); hint != "" {
		e.Hint("%s", hint)
		return err
	}
	if v, _ := src.Value(); v.Type() == yaml.Seq && v.Len() > 0 && v.Items()[0].Get("op").Exists() {
		e.Hint("this is a JSON patch: list it under patches, as {path: %s, target: {kind: ...}}", text)
	} else if v.Type() == yaml.Map && !v.Get("kind").Exists() && !v.Get("apiVersion").Exists() {
		e.Hint("list chart values under helmCharts[].valuesFile, settings under configMapGenerator[].files or envs, patches under patches")
	} else if v.Type() == yaml.String {
		e.Hint("if it is content for a ConfigMap or Secret, list it under configMapGenerator[].files")
	}
	return err
}
