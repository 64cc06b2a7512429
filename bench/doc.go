// Package bench makes large kustomize trees and compares krmflow with kustomize on them.
//
// A [Tree] is a shape, such as a chain of layers or many overlays over shared bases. [Write] turns it into files; the same tree
// and seed give the same bytes on every machine, so figures taken on different days can be set side by side. [Compare] builds
// each tree with both programs as whole processes, alternating between them, demands that the outputs are equal byte for
// byte, and prints medians and ratios.
//
// The package knows nothing of the rest of krmflow: it writes YAML and runs programs.
package bench
