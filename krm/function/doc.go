// Package function represents KRM functions as data: the function that a configuration names, the
// ResourceList and results that are exchanged with it, and the errors of executors.
package function
