package bench

import (
	"fmt"
	"strings"
)

// CRDs is a tree of CustomResourceDefinitions of about the given total size, in the format of
// controller-gen, with one kustomization that adds labels. It resembles the release of an
// operator.
func CRDs(bytes int) Tree {
	const each = 200 << 10
	return Tree{
		Name: fmt.Sprintf("crds-%dmb", bytes>>20), Title: fmt.Sprintf("%d MB of CRDs", bytes>>20), Roots: []string{"."},
		fill: func(w *treeWriter) {
			var files []string
			for i := range max(1, bytes/each) {
				name := fmt.Sprintf("crds/kind%02d.yaml", i)
				files = append(files, name)
				w.file(name, func(out printf) { definition(w, i, each, out) })
			}
			w.kustomization(".", files,
				"labels:\n- pairs:\n    app.kubernetes.io/part-of: operator\ncommonAnnotations:\n  example.com/release: v1.4.0\n")
		},
	}
}

func definition(w *treeWriter, i, size int, out printf) {
	written := 0
	count := func(format string, args ...any) {
		s := fmt.Sprintf(format, args...)
		written += len(s)
		out("%s", s)
	}
	out("---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  annotations:\n")
	out("    controller-gen.kubebuilder.io/version: v0.16.4\n  name: kind%02ds.operator.example.com\nspec:\n", i)
	out(
		"  group: operator.example.com\n  names:\n    kind: Kind%02d\n    listKind: Kind%02dList\n    plural: kind%02ds\n    singular: kind%02d\n  scope: Namespaced\n", i, i, i, i)
	out(
		"  versions:\n  - additionalPrinterColumns:\n    - jsonPath: .status.phase\n      name: Phase\n      type: string\n    name: v1\n    schema:\n      openAPIV3Schema:\n")
	out("        description: Kind%02d is the schema of one of the operator's resources.\n        properties:\n", i)
	out(
		"          apiVersion:\n            type: string\n          kind:\n            type: string\n          metadata:\n            type: object\n          spec:\n            properties:\n")
	for n := 0; written < size; n++ {
		property(w, fmt.Sprintf("field%04d", n), "              ", 3, count)
	}
	out("            type: object\n        type: object\n    served: true\n    storage: true\n    subresources:\n      status: {}\n")
}

// property writes the schema of one field. depth limits the nesting of objects and lists.
func property(w *treeWriter, name, indent string, depth int, out printf) {
	out("%s%s:\n", indent, name)
	in := indent + "  "
	describe(w, in, out)
	choice := w.rnd.IntN(8)
	if depth == 0 {
		choice %= 4
	}
	switch choice {
	case 0:
		out("%stype: string\n", in)
	case 1:
		out("%sformat: int32\n%smaximum: 65535\n%sminimum: 1\n%stype: integer\n", in, in, in, in)
	case 2:
		out(
			"%sanyOf:\n%s- type: integer\n%s- type: string\n%spattern: ^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))$\n%sx-kubernetes-int-or-string: true\n", in, in, in, in, in)
	case 3:
		out("%sdefault: %s\n%senum:\n%s- Always\n%s- \"\"\n%s- Never\n%stype: string\n", in, w.pick("Always", "\"\"", "Never"), in, in,
			in, in, in)
	case 4:
		out("%sitems:\n%s  properties:\n", in, in)
		property(w, "name", in+"    ", 0, out)
		property(w, "value", in+"    ", depth-1, out)
		out(
			"%s  required:\n%s  - name\n%s  type: object\n%stype: array\n%sx-kubernetes-list-map-keys:\n%s- name\n%sx-kubernetes-list-type: map\n", in, in, in, in, in, in, in)
	default:
		out("%sproperties:\n", in)
		for i := range 2 + w.rnd.IntN(4) {
			property(w, fmt.Sprintf("%s%d", w.pick("min", "max", "ref", "selector", "policy"), i), in+"  ", depth-1, out)
		}
		out("%stype: object\n", in)
	}
}

// describe writes a description in one of the usual forms: on one line, folded over several
// lines, or as a block of paragraphs.
func describe(w *treeWriter, in string, out printf) {
	switch w.rnd.IntN(4) {
	case 0:
		out("%sdescription: %s\n", in, w.sentence(6))
	case 1:
		out("%sdescription: %s\n%s  %s\n", in, w.sentence(9), in, w.sentence(8))
	case 2:
		out("%sdescription: |-\n%s  %s\n%s  %s\n\n%s  More info: https://example.com/docs#%s\n", in, in, w.sentence(9), in, w.sentence(7), in, w.pick("spec", "status", "fields"))
	case 3:
		out("%sdescription: '%s: must be one of \"%s\" or empty.'\n", in, w.sentence(3), w.pick("Always", "Never"))
	}
}

func (w *treeWriter) sentence(words int) string {
	s := []string{w.pick("Specifies", "The", "Optional", "If", "Defines", "A")}
	for range words {
		s = append(s, w.pick("name", "of", "the", "object", "resource", "which", "pods", "is", "set", "by", "controller", "when", "value",
			"policy", "applies", "reference", "namespace"))
	}
	return strings.Join(s, " ")
}
