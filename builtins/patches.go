// Follows api/internal/builtins/PatchTransformer.go,
// api/internal/builtins/PatchStrategicMergeTransformer.go,
// api/internal/builtins/PatchJson6902Transformer.go.

package builtins

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm"
	"github.com/krmflow/krmflow/krm/schema"
	"github.com/krmflow/krmflow/krm/yaml"
)

// PatchTransformer applies a strategic merge patch or a JSON patch (`patches:`).
type PatchTransformer struct {
	// Path is a file with the patch, and Patch is the inline patch. Exactly one of them must be
	// given.
	Path  string `json:"path,omitempty"`
	Patch string `json:"patch,omitempty"`
	// Target selects the resources. Without a target, a strategic merge patch applies to the
	// resource that it names.
	Target  *Selector     `json:"target,omitempty"`
	Options *PatchOptions `json:"options,omitempty"`

	kinds *schema.Schema
	merge []*smPatch
	json  jsonPatch
}

// PatchOptions allow a strategic merge patch to change fields that are otherwise preserved.
type PatchOptions struct {
	AllowNameChange bool `json:"allowNameChange,omitempty"`
	AllowKindChange bool `json:"allowKindChange,omitempty"`
}

// Configure reads the patch. It fails unless exactly one of Path and Patch is given. It also
// fails if the text is neither a strategic merge patch nor a JSON patch, or if the target is
// invalid. A text without documents is a patch that does nothing.
func (t *PatchTransformer) Configure(env Env) error {
	inline := inlineText(t.Patch, "patch").trimmed()
	t.Patch = inline.src.Text()
	t.kinds = env.Schema
	err := t.Target.compileAt("target")
	switch {
	case t.Patch == "" && t.Path == "":
		return errors.Join(advised(notGiven("one of path and patch must be given"), "use path for a file, or patch for an inline patch"),
			err)
	case t.Patch != "" && t.Path != "":
		return errors.Join(advised(diag.Exclusive.Errorf("path and patch cannot both be given"),
			"remove one, or split them into two entries"), err)
	case t.Patch != "":
		return errors.Join(t.configure(env, inline), err)
	}
	text, readErr := readPatch(env, t.Path, t.Target)
	if readErr != nil {
		return errors.Join(readErr, err)
	}
	return errors.Join(t.configure(env, text), err)
}

// readPatch reads the file of a patch. If target selects Secrets, it marks the content as secret.
func readPatch(env Env, path string, target *Selector) (patchText, error) {
	src, err := env.Read(path)
	if err == nil && target.selectsSecrets() {
		src.HoldSecret()
	}
	return patchText{src: src}, diag.In(err, "path")
}

// ForSecrets reports whether the target's kind matches Secrets. The patch may then contain their
// values.
func (t *PatchTransformer) ForSecrets() bool { return t.Target.selectsSecrets() }

// selectsSecrets reports whether the kind in s is given and matches Secrets.
func (s *Selector) selectsSecrets() bool { return s != nil && s.Kind != "" && s.kind.match("Secret") }

// configure parses the patch in text.
func (t *PatchTransformer) configure(env Env, text patchText) error {
	docs, err := krm.Patches(text.src, env.Schema)
	if err != nil {
		return t.configureJSON(env, text, err)
	}
	env.parsed(text)
	if t.Target != nil && len(docs) > 1 {
		return advised(diag.PatchForm.Errorf("a patch with a target must be one document"),
			"make a separate entry for each document, or remove the target so that each applies to the resource it names")
	}
	var options PatchOptions
	if t.Options != nil {
		options = *t.Options
	}
	for i, r := range docs {
		if err := checkMetadata(r); err != nil {
			return text.syntax(err)
		}
		p := newSMPatch(env, r, options, t.Target != nil)
		p.text, p.doc = text, i
		t.merge = append(t.merge, p)
	}
	return nil
}

// configureJSON parses a text that is not a strategic merge patch because of mergeErr.
func (t *PatchTransformer) configureJSON(env Env, text patchText, mergeErr error) error {
	if errors.Is(mergeErr, yaml.ErrConflict) {
		return mergeErr
	}
	var err error
	if t.json, err = parseJSONPatch(env, text); err != nil {
		if text := strings.TrimSpace(text.src.Text()); strings.HasPrefix(text, "[") ||
			strings.HasPrefix(text, "-") && !strings.HasPrefix(text, "---") {
			mergeErr = err
		}
		return labelled("neither a strategic merge patch nor a JSON patch", text.syntax(mergeErr))
	}
	env.parsed(text)
	if t.Target == nil {
		return advised(diag.PatchForm.Errorf("a JSON patch needs a target"), "set target to the kind and name of the resource to change")
	}
	return nil
}

// Transform applies the patch. It fails if a strategic merge patch without target matches no
// resource or several, if two resources get the same identity, or if an operation of a JSON patch
// fails. A target that selects nothing only causes a warning.
func (t *PatchTransformer) Transform(list *krm.List, warn Warn) error {
	switch {
	case t.merge == nil && t.json.ops == nil:
		return nil
	case t.merge == nil:
		return t.json.applyTo(t.Target, list, warn, true)
	case t.Target == nil:
		return applyByID(t.kinds, t.merge, list, warn, false)
	}
	found, err := t.Target.Select(list)
	if err != nil {
		return diag.In(diag.BadSelector.Errorf("target: %w", err), "target")
	}
	if len(found) == 0 {
		warnIn(warn, []any{"target"}, diag.TargetMatchesNothing, "the target (%s) matches no resource%s", t.Target, t.Target.near(list))
	}
	if err := applyToSet(t.kinds, t.merge[0], found, list, warn); err != nil {
		return err
	}
	return list.CheckUnique()
}

// Selects implements [Chooser].
func (t *PatchTransformer) Selects(Files) []*Selector { return []*Selector{t.Target} }

// PatchTexts implements [Patcher].
func (t *PatchTransformer) PatchTexts() (files []string, text string) {
	return []string{t.Path}, t.Patch
}

// FileFields implements [FileReader].
func (t *PatchTransformer) FileFields() []FileField { return []FileField{{Path: "path"}} }

// StandsFor implements [FieldForm].
func (t *PatchTransformer) StandsFor() []KustomizationField {
	return []KustomizationField{{Name: "patches", Each: true}}
}

func applyToSet(kinds *schema.Schema, p *smPatch, found []int, list *krm.List, warn Warn) error {
	anyChanged, anyDeleted := false, false
	check := p.newCheck(kinds, warn)
	for _, i := range found {
		changed, deleted, err := p.applyTo(kinds, list, i, true, check)
		if err != nil {
			return err
		}
		anyChanged, anyDeleted = anyChanged || changed, anyDeleted || deleted
	}
	if len(found) > 0 && !anyChanged {
		warn(diag.PatchChangesNothing, "the patch changes nothing%s", nothingChanged)
	}
	if anyDeleted {
		sweep(list)
	}
	return nil
}

// applyByID applies each patch to the resource that it names.
func applyByID(kinds *schema.Schema, patches []*smPatch, list *krm.List, warn Warn, toSet bool) error {
	for _, p := range patches {
		i, err := p.target(list)
		if err != nil {
			return err
		}
		changed, deleted, err := p.applyTo(kinds, list, i, toSet, p.newCheck(kinds, warn))
		if err != nil {
			return err
		}
		if !changed {
			warn(diag.PatchChangesNothing, "the patch for %s changes nothing%s", p.id, nothingChanged)
		}
		if deleted {
			sweep(list)
		}
		if toSet {
			if err := list.CheckUnique(); err != nil {
				return err
			}
		}
	}
	return nil
}

// A Merger is a transformer that may merge strategic merge patches into objects, or change the
// kind of objects. In both cases kustomize looks up a schema: for a patch of an object with an
// apiVersion, and for the scope of the kind.
type Merger interface {
	Transformer
	// AlwaysMerges reports whether the transformer always merges a patch into an object with an
	// apiVersion unless it fails.
	AlwaysMerges() bool
	// MergesInto reports whether the transformer merges a patch into an object of list with an
	// apiVersion. A nil list is unknown and may contain any objects.
	MergesInto(list *krm.List) bool
}

// AlwaysMerges implements [Merger].
func (t *PatchTransformer) AlwaysMerges() bool { return t.Target == nil && anyVersioned(t.merge) }

// MergesInto implements [Merger].
func (t *PatchTransformer) MergesInto(list *krm.List) bool {
	switch {
	case len(t.merge) == 0:
		return false
	case t.Target == nil:
		return anyVersioned(t.merge)
	case list == nil:
		return true
	}
	found, err := t.Target.Select(list)
	return err == nil && slices.ContainsFunc(found, func(i int) bool { return isVersioned(list.At(i).Value()) })
}

// AlwaysMerges implements [Merger].
func (t *PatchStrategicMergeTransformer) AlwaysMerges() bool { return anyVersioned(t.merge) }

// MergesInto implements [Merger].
func (t *PatchStrategicMergeTransformer) MergesInto(*krm.List) bool { return anyVersioned(t.merge) }

// anyVersioned reports whether one of patches has an apiVersion. Without a target, the patched
// object has the same apiVersion.
func anyVersioned(patches []*smPatch) bool {
	return slices.ContainsFunc(patches, func(p *smPatch) bool { return isVersioned(p.value) })
}

func isVersioned(object yaml.Value) bool { return object.Get("apiVersion").Text() != "" }

// nothingChanged is the hint for a patch that changes nothing.
var nothingChanged diag.Next = func() []string {
	return []string{"the target already has these values; remove the patch, or check that it targets the right field"}
}

// PatchStrategicMergeTransformer applies strategic merge patches (`patchesStrategicMerge:`).
type PatchStrategicMergeTransformer struct {
	// Paths are files with patches, or inline patches.
	Paths []string `json:"paths,omitempty"`
	// Patches is a text with further patches as documents.
	Patches string `json:"patches,omitempty"`

	kinds *schema.Schema
	merge []*smPatch
}

// ErrEmptyPatch reports a [PatchStrategicMergeTransformer] without any patch.
var ErrEmptyPatch error = notGiven("the patches are empty")

// Configure reads the patches. It fails if there are none.
func (t *PatchStrategicMergeTransformer) Configure(env Env) error {
	t.kinds = env.Schema
	if len(t.Paths) == 0 && t.Patches == "" {
		return notGiven("one of paths and patches must be given")
	}
	var errs []error
	for i, path := range t.Paths {
		patches, err := patchesOf(env, inlineText(path))
		if err != nil && !strings.Contains(path, "\n") { // not a patch, so it should be a file
			patches, err = readPatches(env, path)
		}
		label := ""
		if len(t.Paths) > 1 {
			label = fmt.Sprintf("paths[%d]", i)
		}
		errs = append(errs, labelled(label, err))
		t.merge = append(t.merge, patches...)
	}
	if t.Patches != "" {
		patches, err := patchesOf(env, inlineText(t.Patches, "patches"))
		errs = append(errs, labelled("patches", err))
		t.merge = append(t.merge, patches...)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if len(t.merge) == 0 {
		return ErrEmptyPatch
	}
	return nil
}

func readPatches(env Env, path string) ([]*smPatch, error) {
	src, err := env.Read(path)
	if err != nil {
		return nil, err
	}
	return patchesOf(env, patchText{src: src})
}

func patchesOf(env Env, text patchText) (patches []*smPatch, _ error) {
	docs, err := krm.Patches(text.src, env.Schema)
	if err == nil {
		env.parsed(text)
	}
	for i, r := range docs {
		err = errors.Join(err, checkMetadata(r))
		p := newSMPatch(env, r, PatchOptions{}, true)
		p.text, p.doc = text, i
		patches = append(patches, p)
	}
	return patches, text.syntax(err)
}

// Transform applies the patches. It fails if a patch matches no resource or several.
func (t *PatchStrategicMergeTransformer) Transform(list *krm.List, warn Warn) error {
	return applyByID(t.kinds, t.merge, list, warn, true)
}

// PatchTexts implements [Patcher].
func (t *PatchStrategicMergeTransformer) PatchTexts() (files []string, text string) {
	inline := []string{t.Patches}
	for _, path := range t.Paths {
		if strings.Contains(path, "\n") {
			inline = append(inline, path)
		} else {
			files = append(files, path)
		}
	}
	return files, strings.TrimPrefix(strings.Join(inline, "\n---\n"), "\n---\n")
}

// FileFields implements [FileReader].
func (t *PatchStrategicMergeTransformer) FileFields() []FileField {
	return []FileField{{Path: "paths", Form: PatchForm}}
}

// StandsFor implements [FieldForm].
func (t *PatchStrategicMergeTransformer) StandsFor() []KustomizationField {
	return []KustomizationField{{Name: "patchesStrategicMerge", Key: "paths", Instead: "patches"}}
}

// PatchJson6902Transformer applies a JSON patch (`patchesJson6902:`).
type PatchJson6902Transformer struct {
	Target *Selector `json:"target,omitempty"`
	// Path is a file with the patch, and JsonOp is the inline patch. Exactly one of them must be
	// given.
	Path   string `json:"path,omitempty"`
	JsonOp string `json:"jsonOp,omitempty"`

	patch jsonPatch
}

// Configure reads the patch. It fails if the target has no name, unless exactly one of Path and
// JsonOp is given, or if the patch is invalid or has no operations.
func (t *PatchJson6902Transformer) Configure(env Env) error {
	err := t.Target.compileAt("target")
	if t.Target == nil || t.Target.Name == "" {
		err = errors.Join(advised(notGiven("the target must have a name"), "use patches: its target may select by kind or labels alone"),
			err)
	}
	return errors.Join(err, t.read(env))
}

func (t *PatchJson6902Transformer) read(env Env) (err error) {
	text := inlineText(t.JsonOp, "patch")
	switch {
	case t.Path == "" && t.JsonOp == "":
		return advised(notGiven("one of path and jsonOp must be given"), "use path for a file, or jsonOp for an inline patch")
	case t.Path != "" && t.JsonOp != "":
		return advised(diag.Exclusive.Errorf("path and jsonOp cannot both be given"), "remove one, or split them into two entries")
	case t.Path != "":
		if text, err = readPatch(env, t.Path, t.Target); err != nil {
			return err
		}
	}
	if t.patch, err = parseJSONPatch(env, text); err != nil {
		return text.syntax(err)
	}
	env.parsed(text)
	if len(t.patch.ops) == 0 {
		return advised(diag.PatchForm.Errorf("the patch is empty"),
			"write operations, for example - {op: add, path: /spec/x, value: 1}, or remove the entry")
	}
	return nil
}

// Transform applies the patch to all resources selected by the target.
func (t *PatchJson6902Transformer) Transform(list *krm.List, warn Warn) error {
	return t.patch.applyTo(t.Target, list, warn, false)
}

// Selects implements [Chooser].
func (t *PatchJson6902Transformer) Selects(Files) []*Selector { return []*Selector{t.Target} }

// PatchTexts implements [Patcher].
func (t *PatchJson6902Transformer) PatchTexts() (files []string, text string) {
	return []string{t.Path}, t.JsonOp
}

// AlwaysMerges implements [Merger]: a JSON patch may set the kind.
func (t *PatchJson6902Transformer) AlwaysMerges() bool { return false }

// MergesInto implements [Merger].
func (t *PatchJson6902Transformer) MergesInto(*krm.List) bool { return false }

// FileFields implements [FileReader].
func (t *PatchJson6902Transformer) FileFields() []FileField { return []FileField{{Path: "path"}} }

// StandsFor implements [FieldForm].
func (t *PatchJson6902Transformer) StandsFor() []KustomizationField {
	renamed := map[string]string{"patch": "jsonOp", "options": ""}
	return []KustomizationField{{Name: "patchesJson6902", Each: true, Renamed: renamed, Instead: "patches"}}
}
