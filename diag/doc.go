// Package diag formats krmflow's messages: errors with positions and hints, suggestions for
// misspelled names, and foreign text that is safe to print on a terminal.
package diag
