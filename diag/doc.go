// Package diag is how krmflow speaks: errors with a place and with hints, names that are near, and texts of others made safe for a
// terminal.
package diag
