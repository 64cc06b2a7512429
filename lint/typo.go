package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
)

// isTypo reports whether name is probably a misspelling of known: two adjacent letters are swapped,
// or one letter is missing, additional or wrong. Names that differ in this way on purpose are
// excluded: numbers (web1, web2), plurals (cert, certs), first letters of words (NODE_NAME,
// CODE_NAME), and short words (app, api).
func isTypo(name, known string) bool {
	if name == known || len(name) < minTypo || len(known) < minTypo || strings.EqualFold(name, known) || !diag.Near(name, known, 1) {
		return false
	}
	start := 0
	for start < len(name) && start < len(known) && name[start] == known[start] {
		start++
	}
	a, b := name[start:], known[start:]
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	if diff := a + b; len(diff) == 1 && isSeparator(diff[0]) {
		return true
	}
	if word(name, start) < 4 || word(known, start) < 4 || strings.ContainsAny(a+b, "0123456789") {
		return false
	}
	if len(a) == 2 { // swapped
		return true
	}
	end := start + len(a)
	if plural := a + b; plural == "s" || plural == "S" {
		longer := name
		if len(b) == 1 {
			longer, end = known, start+1
		}
		if end == len(longer) || isSeparator(longer[end]) || strings.ContainsAny(longer[end:end+1], "ABCDEFGHIJKLMNOPQRSTUVWXYZ") {
			return false
		}
	}
	return start > 0 && !isSeparator(name[start-1])
}

// minTypo is the minimum length in bytes of names that are compared for typos.
const minTypo = 4

func isSeparator(c byte) bool { return strings.IndexByte("-_./", c) >= 0 }

// word returns the length of the word in s around index i.
func word(s string, i int) int {
	from, to := min(i, len(s)), min(i, len(s))
	for from > 0 && !isSeparator(s[from-1]) {
		from--
	}
	for to < len(s) && !isSeparator(s[to]) {
		to++
	}
	return to - from
}

// misspelt returns the name in known that name is probably a misspelling of, "" if there is none.
func misspelt(name string, known []string) string {
	for _, k := range known {
		if isTypo(name, k) {
			return k
		}
	}
	return ""
}

// addedContainer examines a container of the patch that matches no existing one.
func (w *walk) addedContainer(item yaml.Value, before list, patch yaml.Value, at *step) {
	name := item.Get("name").Text()
	if !item.Get("image").Exists() {
		w.report(Finding{diag.PatchTypes, append(at.path(), "name"), fmt.Sprintf("the patch adds a container %q without an image", name),
			func() []string {
				known := itemNames(before.Value)
				if near := diag.DidYouMean(name, known); near != nil {
					return near
				}
				return []string{"containers are matched by name; the containers are: " + diag.Some(known)}
			}})
		return
	}
	w.addedNear("container", name, before, patch, at)
}

// addedNear reports an item of the patch whose name is a misspelling of an existing one.
func (w *walk) addedNear(noun, name string, before list, patch yaml.Value, at *step) {
	near := before.misspelt(name)
	if near == "" || slices.Contains(itemNames(patch), near) {
		return
	}
	w.report(Finding{diag.PatchTypes, append(at.path(), "name"),
		fmt.Sprintf("the patch adds a %s %q beside the existing %q", noun, name, near),
		func() []string { return []string{fmt.Sprintf("did you mean %q?", near)} }})
}

// addedPort reports a port with the name of an existing port that has a different number: it was
// probably meant to change the number, but ports are matched by number.
func (w *walk) addedPort(item, before, patch yaml.Value, key string, at *step) {
	name := item.Get("name").Text()
	if name == "" {
		return
	}
	for _, old := range before.Items() {
		if old.Get("name").Text() != name {
			continue
		}
		number := old.Get(key).Text()
		if number == item.Get(key).Text() || slices.ContainsFunc(patch.Items(),
			func(v yaml.Value) bool { return v.Get(key).Text() == number }) {
			continue
		}
		w.report(Finding{diag.PatchTypes, append(at.path(), key),
			fmt.Sprintf("the patch adds a second port %q beside the port with %s %s", name, key, number),
			func() []string {
				return []string{fmt.Sprintf("ports are matched by %s: to change the number, add the item {%s: %s, $patch: delete}",
					key, key, number)}
			}})
		return
	}
}

// added examines an item of a merged list of the patch that matches no item of before.
func (w *walk) added(item yaml.Value, before list, patch yaml.Value, p place, at *step) {
	if !w.after.Exists() || before.Len() == 0 || directive(item) != "" {
		return
	}
	name := item.Get("name").Text()
	switch key := p.merge.MergeKeys()[0]; at.up.field {
	case "containers", "initContainers":
		w.addedContainer(item, before, patch, at)
	case "env":
		w.addedNear("variable", name, before, patch, at)
	case "volumes":
		if before.misspelt(name) != "" && !mounts(w.pod(at.up.up), name) {
			w.addedNear("volume", name, before, patch, at)
		}
	case "ports":
		if key == "containerPort" || key == "port" {
			w.addedPort(item, before.Value, patch, key, at)
		}
	}
}

// pod returns the part of the result at a path of fields, None if the path has items.
func (w *walk) pod(at *step) yaml.Value {
	var fields []string
	for _, f := range at.path() {
		field, ok := f.(string)
		if !ok {
			return yaml.Value{}
		}
		fields = append(fields, field)
	}
	return w.after.At(fields...)
}

// mounts reports whether a container of a pod specification mounts a volume.
func mounts(pod yaml.Value, volume string) bool {
	for _, list := range []string{"containers", "initContainers", "ephemeralContainers"} {
		for _, c := range pod.Get(list).Items() {
			for _, field := range []string{"volumeMounts", "volumeDevices"} {
				if slices.Contains(itemNames(c.Get(field)), volume) {
					return true
				}
			}
		}
	}
	return false
}

// mounted reports a mount in the patch whose volume does not exist in the result, although one with
// a similar name does. at is the path to the mount.
func (w *walk) mounted(item yaml.Value, at *step) {
	if !w.after.Exists() || at.up.field != "volumeMounts" || at.up.up == nil || at.up.up.up == nil {
		return
	}
	spec := at.up.up.up.up // the path ends in containers, an item, volumeMounts, an item
	name, volumes := item.Get("name").Text(), w.pod(spec).Get("volumes")
	if slices.ContainsFunc(volumes.Items(), func(v yaml.Value) bool { return v.Get("name").Text() == name }) {
		return // without a list of all names, since many patches may each add a volume
	}
	known := itemNames(volumes)
	for _, claim := range w.after.At("spec", "volumeClaimTemplates").Items() {
		known = append(known, claim.At("metadata", "name").Text())
	}
	if near := misspelt(name, known); near != "" && !slices.Contains(known, name) {
		w.report(Finding{diag.PatchTypes, append(at.path(), "name"), fmt.Sprintf("the patch mounts a volume %q that does not exist", name),
			func() []string { return []string{fmt.Sprintf("did you mean %q?", near)} }})
	}
}
