// Package flock locks files with system calls whose locks end with the process.
package flock

import "errors"

// ErrBusy is the error of [Try] while another process holds the lock.
var ErrBusy = errors.New("locked")
