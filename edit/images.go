package edit

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
)

// keep is the placeholder for the existing name, tag or digest of an image.
const keep = "*"

// imageParts lists the fields of an images entry in the order in which they are written.
var imageParts = []string{"newName", "newTag", "digest", "tagSuffix"}

// SetImages returns an edit that sets images. The forms of an argument are NAME=NEWNAME with
// optional :TAG and @DIGEST, NAME:TAG, NAME@DIGEST and NAME:TAG@DIGEST.
func SetImages(args []string) (Edit, error) {
	if len(args) == 0 {
		return nil, errors.New("no image is given")
	}
	var set []yaml.Value
	for _, arg := range args {
		image, err := parseImage(arg)
		if err != nil {
			return nil, err
		}
		set = slices.DeleteFunc(set, func(o yaml.Value) bool { return nameOf(o) == nameOf(image) })
		set = append(set, image)
	}
	return func(k *Kustomization) error {
		k.absorb("imageTags", "images")
		k.setItems("images", withImages(k.items("images"), set))
		return nil
	}, nil
}

// parseImage parses an argument into an images entry.
func parseImage(arg string) (yaml.Value, error) {
	key, rest, found := strings.Cut(arg, "=")
	if !found {
		key, rest = "", arg
	}
	name, tag, digest := splitImage(rest)
	if name == arg {
		return yaml.Value{}, diag.Errorf(diag.Pos{}, "", "image %q has neither a new name nor a tag nor a digest", arg).
			Hint(
				"the forms are NAME=NEWNAME, NAME=NEWNAME:TAG, NAME=NEWNAME@DIGEST, NAME=NEWNAME:TAG@DIGEST, NAME:TAG, NAME@DIGEST and NAME:TAG@DIGEST")
	}
	if key == "" {
		key, name = name, ""
	}
	return imageOf(key, name, tag, digest, ""), nil
}

// imageOf returns an images entry.
func imageOf(name string, parts ...string) yaml.Value {
	fields := []yaml.Field{{Key: "name", Value: yaml.Str(name)}}
	for i, part := range parts {
		if part != "" {
			fields = append(fields, yaml.Field{Key: imageParts[i], Value: yaml.Str(part)})
		}
	}
	return yaml.MapOf(fields...)
}

// splitImage splits an image into name, tag and digest in the same way as kustomize: a colon
// before the first slash belongs to a port.
func splitImage(image string) (name, tag, digest string) {
	slash := max(strings.Index(image, "/"), 0)
	at := strings.Index(image[slash:], "@")
	colon := strings.Index(image[slash:], ":")
	switch {
	case at < 0 && colon < 0:
		return image, "", ""
	case colon < 0 || at >= 0 && at < colon:
		return image[:slash+at], "", image[slash+at+1:]
	case at >= 0:
		return image[:slash+colon], image[slash+colon+1 : slash+at], image[slash+at+1:]
	}
	return image[:slash+colon], image[slash+colon+1:], ""
}

// withImages merges set into the images entries. An entry of set replaces the entry with the
// same name. Of several entries with the same name, the first one is kept.
func withImages(images, set []yaml.Value) []yaml.Value {
	var list []yaml.Value
	for _, image := range images {
		if i := slices.IndexFunc(set, func(o yaml.Value) bool { return nameOf(o) == nameOf(image) }); i >= 0 {
			set[i] = keepParts(set[i], image)
		}
	}
	for _, image := range images {
		if slices.ContainsFunc(list, func(o yaml.Value) bool { return nameOf(o) == nameOf(image) }) {
			continue
		}
		if i := slices.IndexFunc(set, func(o yaml.Value) bool { return nameOf(o) == nameOf(image) }); i >= 0 {
			image = takeParts(image, set[i])
		}
		list = append(list, image)
	}
	for _, image := range set {
		if !slices.ContainsFunc(list, func(o yaml.Value) bool { return nameOf(o) == nameOf(image) }) {
			list = append(list, keepParts(image, yaml.MapOf()))
		}
	}
	return inOrder(list, len(images))
}

func nameOf(v yaml.Value) string { return get(v, "name").Text() }

// keepParts returns image with each [keep] placeholder replaced by the part of old.
func keepParts(image, old yaml.Value) yaml.Value {
	for _, part := range imageParts {
		if image.Get(part).Text() == keep {
			image = put(image, part, present(get(old, part)))
			image = put(image, "tagSuffix", yaml.Value{})
		}
	}
	return image
}

// present returns v, or None if it is an empty string.
func present(v yaml.Value) yaml.Value {
	if v.Text() == "" {
		return yaml.Value{}
	}
	return v
}

// takeParts returns old with exactly the parts of image.
func takeParts(old, image yaml.Value) yaml.Value {
	for _, part := range imageParts {
		if was, is := get(old, part), image.Get(part); was.Text() != is.Text() || was.Exists() && !is.Exists() {
			old = put(old, part, is)
		}
	}
	return old
}

// inOrder sorts images entries by name, as kustomize does. If the existing entries, the first n,
// are not sorted and no two entries can affect the same image, the order has no effect and is
// kept.
func inOrder(list []yaml.Value, n int) []yaml.Value {
	byName := func(a, b yaml.Value) int { return cmp.Compare(nameOf(a), nameOf(b)) }
	if slices.IsSortedFunc(list[:min(n, len(list))], byName) || meet(list) {
		slices.SortStableFunc(list, byName)
	}
	return list
}

// meet reports whether two of the entries could affect the same image. Names are regular
// expressions.
func meet(list []yaml.Value) bool {
	for i, a := range list {
		if strings.ContainsAny(nameOf(a), `\+*?()|[]{}^$`) {
			return true
		}
		for _, b := range list[i+1:] {
			if mayFit(nameOf(a), nameOf(b)) || mayFit(nameOf(a), get(b, "newName").Text()) || mayFit(nameOf(b), get(a, "newName").Text()) {
				return true
			}
		}
	}
	return false
}

// mayFit reports whether two patterns of letters and dots can match the same text.
func mayFit(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if a[i] != b[i] && a[i] != '.' && b[i] != '.' {
			return false
		}
	}
	return true
}
