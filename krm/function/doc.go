// Package function is about KRM functions as data: which one a configuration names, the list and the results that cross the wire, and
// the errors of those who run it.
package function
