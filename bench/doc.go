// Package bench generates large kustomize trees and compares krmflow with kustomize on them.
//
// A [Tree] has a shape, such as a chain of layers or many overlays over shared bases. [Write]
// creates its files. They are deterministic for a tree and a seed, so results from different
// days are comparable. [Compare] builds each tree with both programs, alternating between them,
// requires identical output, and prints medians and ratios. It measures whole processes, because
// users wait for the start of a program as well.
//
// The package does not depend on the rest of krmflow: it writes YAML and runs programs.
package bench
