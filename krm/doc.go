// Package krm is krmflow's vocabulary: values, resources, lists and identities of the Kubernetes Resource Model, YAML in
// and out, and the directories that a render writes. It imports nothing else of krmflow.
package krm
