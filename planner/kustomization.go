package planner

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/graph"
	"github.com/krmflow/krmflow/krm/yaml"
	"github.com/krmflow/krmflow/loaders"
)

const (
	kustomizationVersion = "kustomize.config.k8s.io/v1beta1"
	componentVersion     = "kustomize.config.k8s.io/v1alpha1"
	compositionKind      = "Composition"
)

// FileNames are the names of kustomization files. A directory may hold only one of them.
var FileNames = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

// MaxKustomization is the size in bytes up to which a file that makes a directory a layer is read.
const MaxKustomization = 4 << 20

// kustomizationFile is a decoded kustomization file with kustomize's fixes of deprecated fields.
type kustomizationFile struct {
	kustomization
	src *yaml.Source
	// errs are the mistakes in the file itself. What can be understood is planned all the same, to find further ones.
	errs diag.Mistakes
	// unread are the fields, or entries of lists, that could not be read as they are written.
	unread map[string]bool
	// composed is what a Composition comes to, nil for a Kustomization or Component.
	composed *composed
	// resourcePaths and imagePaths are the fields that each entry of Resources and Images was written in: deprecated
	// fields are merged into them.
	resourcePaths, imagePaths [][]any
}

// load reads the kustomization file of dir. It returns nil after recording why there is none to go on with.
func (b *build) load(dir *loaders.Dir, from *reference) *kustomizationFile {
	if k := b.c.kusts[dir.Real]; k != nil {
		b.Errs.AddOnce(k.errs)
		return k
	}
	src, composition, err := b.layerFile(dir)
	if err != nil {
		if from != nil {
			b.ErrorAt(from.src, from.path, inDirectory(dir, err))
		} else {
			b.Fail(rootError(layerName(dir, err), err))
		}
		return nil
	}
	b.progress(graph.Origin{Source: src})
	before := b.Errs.Len()
	var k *kustomizationFile
	if composition {
		k = &kustomizationFile{src: src, composed: b.compose(dir, src)}
		k.Kind = compositionKind
	} else if k = b.decode(src); k != nil && b.Errs.Len() == before && k.empty() {
		b.Fail(diag.Errorf(diag.Pos{File: src.File, Line: 1}, "", "the %s is empty", k.Kind))
	}
	if k != nil {
		k.errs = b.Errs.Since(before)
		b.c.kusts[dir.Real] = k
	}
	return k
}

// layerFile returns the file that makes dir a layer, and whether that is a Composition. There may be only one (CO-03).
func (b *build) layerFile(dir *loaders.Dir) (src *yaml.Source, composition bool, err error) {
	src, err = b.findFile(dir)
	var none *noFileError
	if err != nil && !errors.As(err, &none) {
		return nil, false, err
	}
	c, cerr := b.findComposition(dir, src != nil)
	switch {
	case cerr != nil:
		return nil, false, cerr
	case c == nil:
		return src, false, err
	case src != nil:
		return nil, false, fmt.Errorf("%s and %s are both present: a directory holds a Kustomization or a Composition, not both", src.File, c.File)
	}
	return c, true, nil
}

// findFile returns the one kustomization file of a directory.
func (b *build) findFile(dir *loaders.Dir) (*yaml.Source, error) {
	var found *yaml.Source
	for _, name := range FileNames {
		src, err := b.c.files.ReadUpTo(MaxKustomization, dir, name)
		var missing *loaders.NotFoundError
		switch {
		case errors.As(err, &missing):
		case err != nil:
			return nil, &layerFileError{name, err}
		case found != nil:
			return nil, fmt.Errorf("%s and %s are both present, only one may be", found.File, src.File)
		default:
			found = src
		}
	}
	if found == nil {
		return nil, &noFileError{dir.Name}
	}
	return found, nil
}

// noFileError says that a directory has no file that makes it a layer.
type noFileError struct{ dir string }

func (e *noFileError) Error() string {
	return fmt.Sprintf("no %s or %s in directory %q", strings.Join(FileNames, ", "), CompositionNames[0], diag.Redact(e.dir))
}

// A layerFileError says why the file that makes a directory a layer cannot be read.
type layerFileError struct {
	name string
	err  error
}

func (e *layerFileError) Error() string { return e.err.Error() }
func (e *layerFileError) Unwrap() error { return e.err }

// layerName returns what an error about a layer begins with: the path of the file that it is about, or the directory.
func layerName(dir *loaders.Dir, err error) string {
	var file *layerFileError
	if errors.As(err, &file) {
		return filepath.Join(dir.Name, file.name)
	}
	return dir.Name
}

// inDirectory adds the directory to an error about one of its files.
func inDirectory(dir *loaders.Dir, err error) error {
	var no *noFileError
	if errors.As(err, &no) {
		return err
	}
	return fmt.Errorf("%s: %w", dir.Name, err)
}

// decode decodes a kustomization file, reports deprecated fields, applies kustomize's fixes and checks what makes it one.
func (b *build) decode(src *yaml.Source) *kustomizationFile {
	v, err := src.Value()
	if err != nil {
		b.ErrorAt(src, nil, err)
		return nil
	}
	b.Warnings.Add(src.Warnings()...)
	k := &kustomizationFile{src: src}
	var errs []*yaml.DecodeError
	if early := b.c.ahead.kustomization(src); early != nil {
		k.kustomization = *early
	} else {
		errs = yaml.Decode(v, &k.kustomization)
	}
	b.FailIn(src, errs)
	for _, e := range errs {
		if k.unread == nil {
			k.unread = map[string]bool{}
		}
		k.unread[entryOf(e.Path)] = true
	}
	b.deprecations(k, v)
	k.fix()
	b.check(k, v)
	return k
}

// isUnread reports whether something in the entry of a list, or the field, that path leads to or into could not be read.
func (k *kustomizationFile) isUnread(path []any) bool {
	return k.unread != nil && (k.unread[entryOf(path)] || k.unread[diag.FieldPath(path[:1])])
}

// entryOf returns the entry of a list, or else the field, that path leads to or into.
func entryOf(path []any) string {
	if len(path) > 1 {
		if _, ok := path[1].(int); ok {
			return diag.FieldPath(path[:2])
		}
	}
	return diag.FieldPath(path[:min(1, len(path))])
}

// deprecations warns about fields that kustomize deprecates, in its words.
func (b *build) deprecations(k *kustomizationFile, v yaml.Value) {
	for _, d := range []struct {
		used              bool
		field, by, remark string
	}{
		{k.Bases != nil, "bases", "resources", ""},
		{k.CommonLabels != nil, "commonLabels", "labels", ""},
		{k.ImageTags != nil, "imageTags", "images", ""},
		{k.PatchesJSON6902 != nil, "patchesJson6902", "patches", ""},
		{k.PatchesStrategicMerge != nil, "patchesStrategicMerge", "patches", ""},
		{k.Vars != nil, "vars", "replacements", ""},
	} {
		if d.used {
			b.Warn(k.src, []any{d.field}, "deprecated, use %s instead", d.by)
		}
	}
}

// fix moves what deprecated fields say to the fields that replace them, as kustomize does.
func (k *kustomizationFile) fix() {
	if k.Kind == "" {
		k.Kind = "Kustomization"
	}
	if k.APIVersion == "" {
		k.APIVersion = k.requiredVersion()
	}
	k.resourcePaths = paths(paths(nil, "resources", len(k.Resources)), "bases", len(k.Bases))
	k.Resources = append(k.Resources, k.Bases...)
	k.imagePaths = paths(paths(nil, "images", len(k.Images)), "imageTags", len(k.ImageTags))
	k.Images = append(k.Images, k.ImageTags...)
	k.HelmCharts = append(k.HelmCharts, k.HelmChartInflationGenerator...)
}

func paths(to [][]any, field string, n int) [][]any {
	for i := range n {
		to = append(to, []any{field, i})
	}
	return to
}

func (k *kustomizationFile) requiredVersion() string {
	if k.Kind == "Component" {
		return componentVersion
	}
	return kustomizationVersion
}

// checkKind checks what the file says that it is. What it should hold is not known if that cannot be read.
func (b *build) checkKind(k *kustomizationFile, v yaml.Value) {
	if k.unread["kind"] {
		return
	}
	if k.Kind != "Kustomization" && k.Kind != "Component" {
		e := diag.Errorf(k.src.Locate(0, "kind"), k.src.Field([]any{"kind"}), "must be Kustomization or Component, not %q", k.Kind)
		e.Hints = diag.DidYouMean(k.Kind, []string{"Kustomization", "Component"})
		b.Fail(e)
		return
	}
	if k.APIVersion != k.requiredVersion() && !k.unread["apiVersion"] {
		b.Fail(diag.Errorf(k.src.Locate(0, "apiVersion"), k.src.Field([]any{"apiVersion"}), "must be %s for a %s, not %q", k.requiredVersion(), k.Kind, k.APIVersion))
	}
}

func (b *build) check(k *kustomizationFile, v yaml.Value) {
	b.checkKind(k, v)
	for i, m := range k.BuildMetadata {
		known := []string{"originAnnotations", "transformerAnnotations", "managedByLabel"}
		if !slices.Contains(known, m) {
			w := diag.Errorf(k.src.Locate(0, "buildMetadata", i), k.src.Field([]any{"buildMetadata", i}), "unknown option %q is ignored", m)
			w.Hints = diag.DidYouMean(m, known)
			b.Warnings.Add(w)
		}
	}
	if len(k.HelmCharts) > 0 {
		b.ErrorAt(k.src, []any{"helmCharts"}, errors.New("krmflow does not support helm charts yet"))
	}
}

// empty reports whether the file says nothing but what it is. kustomize counts empty lists and mappings as something.
func (k *kustomizationFile) empty() bool {
	v, _ := k.src.Value()
	for _, f := range v.Fields() {
		switch field := strings.ToLower(f.Key); {
		case field == "apiversion" || field == "kind" || f.Value.IsNull():
		case f.Value.Type() == yaml.String && f.Value.Text() == "":
		case (field == "bases" || field == "imagetags" || field == "helmchartinflationgenerator") && f.Value.IsEmpty():
			// What these lists hold is moved to other fields, and nothing of them remains.
		default:
			return false
		}
	}
	return true
}
