// Package output writes what a render makes: a folder that changes in one step and keeps what it did not write, or a file.
package output
