// Package krm defines the vocabulary of krmflow: resources, their identities and lists of
// resources, with the state that a build keeps for each resource. The values in a resource, and
// their text form, are defined by package [yaml].
package krm
