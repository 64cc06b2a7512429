// Package krm is krmflow's vocabulary: resources, their identities, and lists of them, with what a build remembers about each. The
// values that resources hold, and their text, are those of package [yaml].
package krm
