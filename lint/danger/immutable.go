package danger

import (
	"fmt"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
)

// immutable adds a finding for each field that the API server refuses to change.
func (c *change) immutable() {
	group, kind, _, _ := identity(c.now)
	for i := range rules {
		if r := &rules[i]; r.Group == group && r.Kind == kind {
			c.rule(r)
		}
	}
}

// rule applies a row of the table.
func (c *change) rule(r *Rule) {
	field, each := strings.CutSuffix(r.Field, ".*")
	path := fields(field)
	old, now := get(c.old, path), get(c.now, path)
	if !each {
		c.field(r, path, old, now)
		return
	}
	seen := map[string]bool{}
	for _, f := range slices.Concat(old.Fields(), now.Fields()) {
		if !seen[f.Key] && !slices.Contains(r.Except, f.Key) {
			c.field(r, join(path, f.Key), old.Get(f.Key), now.Get(f.Key))
		}
		seen[f.Key] = true
	}
}

// field adds a finding if a field of a rule differs.
func (c *change) field(r *Rule, path []any, old, now yaml.Value) {
	isDefault := func(v yaml.Value) bool { return r.Default != "" && (v.IsNull() || v.Text() == r.Default) }
	last, _ := path[len(path)-1].(string)
	switch {
	case equalField(last, old, now), isDefault(old) && isDefault(now):
		return
	case r.allows != nil && r.allows(c, old, now):
		return
	}
	f := Finding{Code: diag.Immutable, Path: path, InOld: !now.Exists(), Old: old, New: now,
		Msg: "cannot be changed in place: the API server refuses the update"}
	if last == "immutable" || isData(last) {
		f.Msg = "cannot be changed: the old object is immutable, and the API server refuses the update"
	}
	if r.Kind == "CustomResourceDefinition" && last == "versions" {
		f.Msg = fmt.Sprintf("version %s cannot be removed while objects may be stored in it: the API server refuses the update",
			removedStorage(old, now))
	}
	if old.IsEmpty() && slices.Contains([]string{"storageClassName", "clusterIP", "clusterIPs", "loadBalancerClass"}, last) {
		f.Msg += ", unless the cluster has already given the field this value"
	}
	f.Hints = c.waysOut(path, old, now)
	c.add(f)
}

// isData reports whether a field has the content of a ConfigMap or Secret.
func isData(field string) bool {
	return slices.Contains([]string{"data", "stringData", "binaryData"}, field)
}

// waysOut returns hints for an immutable field: how to avoid the change, and how to replace the
// object.
func (c *change) waysOut(path []any, old, now yaml.Value) (hints []string) {
	_, kind, _, _ := identity(c.now)
	last := path[len(path)-1]
	if hint := labelHint(last, old, now); kind != "Job" && hint != "" {
		hints = append(hints, hint)
	}
	replace := func(flags, effect string) {
		hints = append(hints, fmt.Sprintf("to replace the object: %s, then apply (%s)", command(c.old, flags), effect))
	}
	switch kind {
	case "Deployment", "DaemonSet", "ReplicaSet", "Pod":
		replace("", "its pods stop until the new ones are ready")
	case "StatefulSet":
		effect := "pods and volumes remain, and the new StatefulSet adopts them"
		if last == "selector" {
			effect = "pods and volumes remain; delete the pods that the new selector does not match"
		} else if last == "volumeClaimTemplates" {
			effect = "pods and volumes remain; existing volumes keep their size and class"
		}
		replace(" --cascade=orphan", effect)
	case "Job":
		hints = append(hints,
			"give the new version a different name, or let the Job be deleted first, for example with ttlSecondsAfterFinished")
		replace("", "it runs again")
	case "RoleBinding", "ClusterRoleBinding":
		hints = append(hints, "add a binding with a new name, and remove this one later")
		replace("", "the subjects lose their rights in between")
	case "StorageClass":
		replace("", "existing volumes do not change")
	case "PersistentVolumeClaim":
		hints = append(hints, "add a claim with a new name and copy the data: deleting this claim can delete its volume")
	case "PersistentVolume":
		hints = append(hints, "add a PersistentVolume with a new name")
	case "Service":
		replace("", "its addresses change")
	case "ConfigMap", "Secret":
		if last != "type" {
			hints = append(hints, "give it a new name and update its references; a generator does both with its content hash")
		}
		replace("", "pods read the new content after a restart")
	case "CustomResourceDefinition":
		if last == "versions" {
			hints = append(hints,
				"keep the version with `served: false` until all objects are migrated and status.storedVersions does not list it")
		} else {
			hints = append(hints, "add a CustomResourceDefinition with a new name and migrate: deleting this one deletes all its objects")
		}
	default:
		replace("", "check what uses it first")
	}
	return hints
}

// labelHint returns the entry of a kustomization that changes labels without the field, "" if the
// labels of a selector or of volume claim templates do not differ.
func labelHint(field any, old, now yaml.Value) string {
	switch field {
	case "selector":
		old, now = old.Get("matchLabels"), now.Get("matchLabels")
	case "volumeClaimTemplates":
		pairs := claimPairs(old, now)
		if len(pairs) == 0 {
			return ""
		}
		old, now = item(old, pairs[0][0]).At("metadata", "labels"), item(now, pairs[0][1]).At("metadata", "labels")
	default:
		return ""
	}
	added := yaml.MapOf()
	for _, f := range now.Fields() {
		if !old.Get(f.Key).Exists() {
			added = added.With(f.Key, f.Value)
		}
	}
	switch {
	case equal(old, now):
		return ""
	case added.IsEmpty():
		return "to keep it, keep these labels: `labels` without `includeSelectors` changes the others only"
	}
	return fmt.Sprintf("to keep it, add the labels elsewhere only: `labels: [{pairs: %s, includeTemplates: true}]`",
		yaml.AppendJSON(nil, added))
}

// claimPairs returns the indexes of the volume claim templates that two lists have in common.
func claimPairs(old, now yaml.Value) (pairs [][2]int) {
	for i, x := range old.Items() {
		for k, y := range now.Items() {
			if x.At("metadata", "name").Text() == y.At("metadata", "name").Text() {
				pairs = append(pairs, [2]int{i, k})
			}
		}
	}
	return pairs
}

// onlyShrinksClaims reports whether volume claim templates differ only in smaller sizes, which have
// a finding of their own, or in fields that are not compared.
func onlyShrinksClaims(_ *change, old, now yaml.Value) bool {
	plain := func(v yaml.Value, size func(i int) yaml.Value) yaml.Value {
		var list []yaml.Value
		for i, x := range v.Items() {
			if s := size(i); s.Exists() {
				x = x.WithAt(s, "spec", "resources", "requests", "storage")
			}
			list = append(list, x.Without("status").Without("apiVersion").Without("kind"))
		}
		return yaml.SeqOf(list...)
	}
	smaller := map[int]yaml.Value{}
	for _, p := range claimPairs(old, now) {
		if x, y := sizeOf(item(old, p[0])), sizeOf(item(now, p[1])); isSmaller(x, y) {
			smaller[p[1]] = x
		}
	}
	return equal(plain(old, func(int) yaml.Value { return yaml.Value{} }), plain(now, func(i int) yaml.Value { return smaller[i] }))
}

// sizeOf returns the requested size of a claim.
func sizeOf(claim yaml.Value) yaml.Value { return claim.At("spec", "resources", "requests", "storage") }

// isSmaller reports whether now is a smaller quantity than old.
func isSmaller(old, now yaml.Value) bool {
	x, y := quantity(old), quantity(now)
	return x != nil && y != nil && y.Cmp(x) < 0
}

// shrunk adds a finding for each volume that becomes smaller.
func (c *change) shrunk() {
	size := []any{"spec", "resources", "requests", "storage"}
	add := func(path []any, old, now yaml.Value, hints ...string) {
		if isSmaller(old, now) {
			c.add(Finding{Code: diag.Shrunk, Path: path, Old: old, New: now, Hints: hints,
				Msg: "a volume cannot become smaller: the API server refuses the update"})
		}
	}
	switch group, kind, _, _ := identity(c.now); {
	case group == "" && kind == "PersistentVolumeClaim":
		// ValidatePersistentVolumeClaimUpdate
		add(size, sizeOf(c.old), sizeOf(c.now), "keep the size, or add a smaller claim with a new name and copy the data")
	case group == apps && kind == "StatefulSet":
		// ValidateStatefulSetUpdate
		path := []any{"spec", "volumeClaimTemplates"}
		old, now := get(c.old, path), get(c.now, path)
		for _, p := range claimPairs(old, now) {
			add(append(join(path, p[1]), size...), sizeOf(item(old, p[0])), sizeOf(item(now, p[1])),
				fmt.Sprintf("keep the size; for smaller volumes of new pods: %s, then apply (existing volumes keep their size)",
					command(c.old, " --cascade=orphan")))
		}
	}
}

// deletion adds a finding if the old object holds data that its deletion loses.
func (c *change) deletion() {
	group, kind, _, _ := identity(c.old)
	if isKept(c.old) {
		return
	}
	lost := map[[2]string]string{
		{"", "Namespace"}:                  "deleting a Namespace deletes every object in it",
		{crds, "CustomResourceDefinition"}: "deleting a CustomResourceDefinition deletes all objects of its kind in the cluster",
		{"", "PersistentVolumeClaim"}:      "deleting a claim deletes its volume, unless the reclaim policy is Retain",
		{"", "PersistentVolume"}:           "deleting a PersistentVolume can make its data unreachable",
		{apps, "StatefulSet"}: "deleting a StatefulSet stops its pods, " +
			"and deletes their volumes if persistentVolumeClaimRetentionPolicy.whenDeleted is Delete",
	}[[2]string{group, kind}]
	if lost == "" {
		return
	}
	f := Finding{Code: diag.LosesData, InOld: true, Msg: lost}
	if c.now.Exists() {
		f.Msg = "a new name or namespace makes a new object, and the old one is deleted: " + lost
	}
	f.Hints = []string{"back up the data first, or keep the object: for example with the annotation argocd.argoproj.io/sync-options: Prune=false"}
	c.add(f)
}

// versions adds a finding for each version of a CustomResourceDefinition that was served and is
// not anymore. A removed storage version is a finding of its own.
func (c *change) versions() {
	if group, kind, _, _ := identity(c.now); group != crds || kind != "CustomResourceDefinition" || !sameObject(c.old, c.now) {
		return
	}
	path := []any{"spec", "versions"}
	old, now := get(c.old, path), get(c.now, path)
	for i, v := range old.Items() {
		if v.Get("served").Text() == "true" && v.Get("storage").Text() != "true" && !hasVersion(now, v.Get("name")) {
			name := diag.OneLine(v.Get("name").Text())
			c.add(Finding{Code: diag.LosesData, Path: join(path, i), InOld: true, Old: v.Get("name"),
				Msg: fmt.Sprintf(
					"manifests and clients that use version %s fail, and the API server refuses the update if objects were ever stored in it",
					name),
				Hints: []string{"keep the version with `served: false` until nothing uses it and status.storedVersions does not list it"}})
		}
	}
}
