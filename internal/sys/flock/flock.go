// Package flock has the system calls that lock a file until its process ends.
package flock

import "errors"

// ErrBusy is what [Try] returns while another process holds the lock.
var ErrBusy = errors.New("locked")
