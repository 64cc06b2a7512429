package edit

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/krmflow/krmflow/diag"
	"github.com/krmflow/krmflow/krm/yaml"
)

// SetText returns an edit that sets namespace, namePrefix or nameSuffix. An empty value removes
// the field.
func SetText(field string, args []string) (Edit, error) {
	if len(args) != 1 {
		return nil, fmt.Errorf("one argument is needed: the %s", field)
	}
	return func(k *Kustomization) error {
		k.set(field, yaml.Str(args[0]))
		return nil
	}, nil
}

// metadataOptions lists the options of buildMetadata.
var metadataOptions = []string{"originAnnotations", "transformerAnnotations", "managedByLabel"}

// BuildMetadata returns an edit that changes the options in buildMetadata. verb is add, set or
// remove. The single argument is a comma-separated list of options.
func BuildMetadata(verb string, args []string) (Edit, error) {
	if len(args) != 1 {
		return nil, errors.New("one argument is needed: the options, separated by commas")
	}
	options := strings.Split(args[0], ",")
	for _, o := range options {
		if !slices.Contains(metadataOptions, o) {
			e := diag.Errorf(diag.Pos{}, "", "unknown option %q of buildMetadata", o).Hint("the options are %s",
				strings.Join(metadataOptions, ", "))
			e.Hints = append(diag.DidYouMean(o, metadataOptions), e.Hints...)
			return nil, e
		}
	}
	return func(k *Kustomization) error {
		there := k.texts("buildMetadata")
		switch verb {
		case "set":
			there = options
		case "remove":
			there = slices.DeleteFunc(there, func(o string) bool { return slices.Contains(options, o) })
		default:
			for _, o := range options {
				if slices.Contains(there, o) {
					return mistake("buildMetadata", "already has %s", o)
				}
				there = append(there, o)
			}
		}
		k.set("buildMetadata", seq(there))
		return nil
	}, nil
}
